#pragma once

#include <optional>
#include <string>

#include "runtime/app/control_client.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/clock.h"

namespace freshet::cli {

/// How the showing of a job ended.
struct JobEnd {
  std::optional<JobReport> job;  // As it was seen last.
  Duration took{};
  Status status;      // Ok only when the job finished; what was said already.
  bool left = false;  // It goes on.
};

/// Shows a job until it has ended; an interrupt cancels it, a second one leaves it, and says
/// `left`.
JobEnd follow_job(ControlClient&, const JobId&, TimePoint submitted, const Clock&, SignalWaiter&,
                  const std::string& left);

}  // namespace freshet::cli
