#pragma once

#include <string_view>
#include <utility>

#include "runtime/base/executor.h"
#include "runtime/base/thread_annotations.h"

namespace freshet {

/// How threads talk to the owner of some state: named functions, run in order on the owner's
/// executor.
///
/// A clang capability: members are GUARDED_BY(mailbox), functions REQUIRES(mailbox), and a posted
/// lambda starts with `mailbox.assert_on_thread()`. Thread-safe.
class CAPABILITY("mailbox") Mailbox {
 public:
  explicit Mailbox(Executor& executor) : executor_(executor) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  void post(std::string_view name, UniqueFunction<void()> function) {
    executor_.post(name, std::move(function));
  }
  TimerId schedule(Duration delay, std::string_view name, UniqueFunction<void()> function) {
    return executor_.schedule(delay, name, std::move(function));
  }
  void cancel(TimerId timer) { executor_.cancel(timer); }

  /// Aborts when called on another thread.
  void assert_on_thread() const ASSERT_CAPABILITY(this);

  TimePoint now() const { return executor_.now(); }
  Executor& executor() { return executor_; }

 private:
  Executor& executor_;
};

}  // namespace freshet
