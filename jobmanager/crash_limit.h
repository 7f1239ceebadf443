#pragma once

#include <deque>
#include <map>
#include <string>

#include "runtime/base/crash_report.h"
#include "runtime/base/time.h"

namespace freshet {

/// How often each part of a job's code has brought down a TaskManager. Another restart would bring
/// down the next one, with whatever other jobs run there. Pure.
class CrashLimit {
 public:
  static constexpr size_t kCrashesMax = 3;
  static constexpr Duration kWindow = 1h;

  /// True when the job must not be restarted. What was provoked does not count.
  bool on_crash(TimePoint now, const CrashReport&);

 private:
  std::map<std::string, std::deque<TimePoint>> crashes_;  // By name of the code; within kWindow.
};

/// As users of job `job` read it. `task`: `count (2/4)`, or empty; `task_manager`: as JobMaster
/// describes it.
std::string describe_crash(const CrashReport&, const JobId& job, const std::string& task,
                           const std::string& task_manager);

/// The frames, a line each; empty when there are none.
std::string crash_frames_text(const CrashReport&);

}  // namespace freshet
