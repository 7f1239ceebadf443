#pragma once

#include <optional>

#include "runtime/base/time.h"

namespace freshet {

/// Signals as values instead of interruptions. Made before any other thread, once per process: from
/// then on SIGINT, SIGTERM, SIGHUP and SIGCHLD stay pending until wait() takes them, and SIGPIPE is
/// ignored.
class SignalWaiter {
 public:
  enum class Signal { kStop, kInterrupt, kChild };

  SignalWaiter();
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  /// The next signal; nullopt when none came within `timeout`.
  std::optional<Signal> wait(Duration timeout);

  /// Returns when somebody asks this process to end.
  void wait_for_stop();
};

}  // namespace freshet
