#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace freshet::rest {

/// Threads for requests: made when all are busy, up to a number, and kept. What comes beyond waits
/// for its turn. Thread-safe.
class RequestThreads {
 public:
  explicit RequestThreads(size_t threads_max) : threads_max_(threads_max) {}
  /// Only after shut_down().
  ~RequestThreads() = default;

  void enqueue(std::function<void()> function);

  /// Runs what was enqueued, and joins.
  void shut_down();

  size_t threads();

 private:
  void work();

  const size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool shut_down_ = false;
};

}  // namespace freshet::rest
