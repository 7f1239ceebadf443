#pragma once

#include <algorithm>

#include "runtime/base/time.h"

namespace freshet {

/// How long to wait before a process that ended is started again: at once the first time, then
/// longer and longer while it does not live long, never longer than `longest`. Pure.
class ProcessRestartBackoff {
 public:
  static constexpr Duration kFirst = 250ms;
  static constexpr Duration kLongest = 10s;
  static constexpr Duration kCalm = 30s;  // A life after which the wait starts anew.

  explicit ProcessRestartBackoff(Duration longest = kLongest) : longest_(longest) {}

  /// The wait after a process that lived for `lifetime`.
  Duration next(Duration lifetime) {
    if (lifetime >= kCalm) wait_ = Duration(0);
    const Duration now = wait_;
    wait_ = std::min(wait_ == Duration(0) ? kFirst : 2 * wait_, longest_);
    return now;
  }

 private:
  Duration longest_;
  Duration wait_{0};
};

}  // namespace freshet
