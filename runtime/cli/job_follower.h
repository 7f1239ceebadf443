#pragma once

#include "runtime/app/control_client.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/clock.h"

namespace freshet::cli {

/// Shows a job until it has ended; an interrupt cancels it, a second one leaves it. Gives the exit
/// code: kExitOk only when the job finished.
int follow_job(ControlClient&, const JobId&, TimePoint submitted, const Clock&, SignalWaiter&);

}  // namespace freshet::cli
