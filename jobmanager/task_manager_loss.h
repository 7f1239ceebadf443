#pragma once

#include <optional>
#include <utility>

#include "runtime/base/crash_report.h"
#include "runtime/base/status.h"

namespace freshet {

/// Why a TaskManager is gone.
struct TaskManagerLoss {
  TaskManagerLoss(Status cause) : why(std::move(cause)) {}  // NOLINT: a loss is its cause.
  TaskManagerLoss(CrashReport report)
      : why(unavailable("it crashed: " + report.summary())), crash(std::move(report)) {}

  Status why;
  std::optional<CrashReport> crash;  // What it said before its end.
};

}  // namespace freshet
