#pragma once

#include <atomic>
#include <memory>

#include "runtime/base/executor.h"

namespace freshet {

/// A task of its own thread, run again after each wake-up.
class Task : public std::enable_shared_from_this<Task> {
 public:
  virtual ~Task() = default;
  explicit Task(Executor& executor) : executor_(executor) {}

  /// From any thread.
  void wake() {
    if (scheduled_.exchange(true)) return;
    executor_.post("step", [self = shared_from_this()] {
      self->scheduled_.store(false);
      self->step();
    });
  }
  /// Once everything it uses is set; wake-ups before do nothing.
  void start() {
    scheduled_.store(false);
    wake();
  }
  bool done() const { return done_.load(); }

 protected:
  virtual void step() = 0;
  std::atomic<bool> done_{false};

 private:
  Executor& executor_;
  std::atomic<bool> scheduled_{true};
};

}  // namespace freshet
