#pragma once

#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_function.h"

namespace freshet {

/// Names a timer of one executor. Zero names none.
struct TimerId {
  uint64_t value = 0;
  bool operator==(const TimerId&) const = default;
};

/// Runs functions one after the other, in the order in which they were posted. A thread, an I/O
/// loop, or the event queue of a simulation. All functions are thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs `function` later on this executor, never inside this call. After the executor was stopped
  /// the function is destroyed unrun. `name` must be a literal: traces show it.
  virtual void post(std::string_view name, UniqueFunction<void()> function) = 0;

  /// Runs `function` once, not before `delay` has passed.
  virtual TimerId schedule(Duration delay, std::string_view name,
                           UniqueFunction<void()> function) = 0;

  /// On the executor's own thread a cancelled timer does not run any more; from elsewhere it may be
  /// running.
  virtual void cancel(TimerId) = 0;

  /// True while one of its functions runs on the calling thread.
  virtual bool on_thread() const = 0;

  virtual TimePoint now() const = 0;
};

}  // namespace freshet
