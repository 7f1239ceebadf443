#pragma once

#include "runtime/base/status.h"

namespace freshet::bench {

/// From now on SIGINT, SIGTERM and SIGHUP do not end this process at once, so that it ends the
/// processes that it started. Nothing is restarted after a signal: waits end early.
void end_on_signals();

/// kAborted after such a signal.
Status check_interrupted();

}  // namespace freshet::bench
