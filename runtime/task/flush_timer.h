#pragma once

#include "runtime/base/clock.h"

namespace freshet {

/// When one output of a task is to be flushed by time. All outputs of a task are asked together, at
/// the least of their timeouts; one with a longer timeout is not flushed each time.
///
/// Belongs to the task's thread.
class FlushTimer {
 public:
  /// True when the next time that it is asked, `interval` after `now`, would be more than `timeout`
  /// after the last time that it was true.
  bool is_due(TimePoint now, Duration interval, Duration timeout) {
    if (flushed_at_ && now + interval <= *flushed_at_ + timeout) return false;
    flushed_at_ = now;
    return true;
  }

 private:
  std::optional<TimePoint> flushed_at_;
};

}  // namespace freshet
