#pragma once

#include <optional>
#include <string>

#include "runtime/app/control_client.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/clock.h"

namespace freshet::cli {

/// Shows a job until it has ended; an interrupt cancels it, a second one leaves it, and says
/// `left`. Gives the exit code: kExitOk only when the job finished; nullopt: it was left.
std::optional<int> follow_job(ControlClient&, const JobId&, TimePoint submitted, const Clock&,
                              SignalWaiter&, const std::string& left);

}  // namespace freshet::cli
