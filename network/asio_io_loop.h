#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/unique_function.h"

namespace asio {
class io_context;
}

namespace freshet {

/// Something on a loop that has to end before the loop can.
class LoopMember {
 public:
  virtual ~LoopMember() = default;
  virtual void on_loop_shutdown() = 0;
};

/// One I/O thread. Shared by everything that has sockets of its io_context, so that the context
/// outlives them; members without a lock belong to the thread.
class IoLoop {
 public:
  explicit IoLoop(size_t index);
  ~IoLoop();

  bool on_thread() const { return std::this_thread::get_id() == thread_id_.load(); }
  asio::io_context& context();

  /// Runs `function` on the thread, never inside this call. After shutdown it is destroyed unrun
  /// and false comes back. Thread-safe.
  bool post(UniqueFunction<void()> function);

  /// On the thread. The member hears of a shutdown until it is removed.
  uint64_t add(std::weak_ptr<LoopMember> member);
  void remove(uint64_t member) { members_.erase(member); }

  /// On the thread. Whatever starts now must end at once.
  bool shutting_down() const { return shutting_down_; }

  void begin_shutdown();
  /// After begin_shutdown(): waits until nothing is left to do.
  void finish_shutdown();

 private:
  struct Context;

  void run(size_t index);

  const std::unique_ptr<Context> context_;
  std::mutex mutex_;  // Orders post() from outside and the end: a function left in the queue would
                      // keep itself alive.
  bool stopped_ = false;
  bool shutting_down_ = false;
  std::map<uint64_t, std::weak_ptr<LoopMember>> members_;
  uint64_t next_member_ = 1;
  std::atomic<std::thread::id> thread_id_{};
  std::thread thread_;
};

/// Shares out loops to connections. Thread-safe.
class LoopChooser {
 public:
  explicit LoopChooser(size_t threads);

  const std::shared_ptr<IoLoop>& next() { return loops_[next_.fetch_add(1) % loops_.size()]; }
  /// The loop of the calling thread, which lasts at least until the present call is over, or
  /// next().
  const std::shared_ptr<IoLoop>& present_or_next();
  const std::vector<std::shared_ptr<IoLoop>>& all() const { return loops_; }

 private:
  std::vector<std::shared_ptr<IoLoop>> loops_;
  std::atomic<size_t> next_{0};
};

}  // namespace freshet
