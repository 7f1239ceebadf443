#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

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
  /// Operators of one name are told apart by where they are in the graph.
  using Code = std::pair<std::optional<std::pair<VertexId, uint32_t>>, std::string>;

  std::map<Code, std::deque<TimePoint>> crashes_;  // Within kWindow.
};

/// As users of job `job` read it. `task`: `count (2/4)`, or empty; `task_manager`: as JobMaster
/// describes it.
std::string describe_crash(const CrashReport&, const JobId& job, const std::string& task,
                           const std::string& task_manager);

/// The frames, a line each; empty when there are none.
std::string crash_frames_text(const CrashReport&);

}  // namespace freshet
