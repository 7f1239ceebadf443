#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace freshet::rest {

/// Threads for requests: made when all are busy, up to a number, and kept. Some more wait for
/// their turn. Thread-safe.
class RequestThreads {
 public:
  RequestThreads(size_t threads_max, size_t waiting_max)
      : threads_max_(threads_max), waiting_max_(waiting_max) {}
  /// Only after shut_down().
  ~RequestThreads() = default;

  /// Waits while there is too much.
  void enqueue(std::function<void()> function);

  /// Runs what was enqueued, and joins.
  void shut_down();

  size_t threads();
  /// Those that no thread is free for, nor can be made for.
  size_t waiting();

 private:
  void work();

  const size_t threads_max_;
  const size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable room_;  // In the queue.
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool shut_down_ = false;
};

}  // namespace freshet::rest
