#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/time.h"

namespace freshet::chaos {

/// What a line of a JobManager's log tells of a job.
struct JobEvent {
  enum class Kind {
    kTaskManagerLost,    // text: its name.
    kJobManagerStarted,  // Whatever ran before is gone.
    kTaskFailed,         // text: the name of the process where it ran.
    kOutputLost,         // The same.
    kTasksFailed,        // text: the cause.
    kJobRestarts,
    kTaskRestarts,
    kTaskState,     // text: the state.
    kTaskDeployed,  // text: the name of the process.
    kJobState,      // text: the new state.
  };
  EpochMillis at = 0;
  Kind kind = Kind::kJobState;
  SubtaskId subtask;     // Of the kinds about one task.
  uint32_t attempt = 0;  // The same.
  std::string text;
};

/// Milliseconds of local time since midnight: what a line of a log begins with.
int64_t millis_of_day(EpochMillis);

/// Reads the log of a JobManager (env.log.level=debug) for what happened to one job. Pure.
///
/// Lines carry no date: each comes less than 23 hours after the one before, the first after
/// `start`; or up to one hour before it.
class JobLog {
 public:
  /// `job` as log lines have it. `start_of_day`: millis_of_day(start).
  JobLog(std::string job, EpochMillis start, int64_t start_of_day);

  /// Other lines than those of this job and of its TaskManagers are skipped.
  void read(std::string_view line);

  /// In the order of the log.
  const std::vector<JobEvent>& events() const { return events_; }
  /// Where the latest attempt of a subtask was deployed: name of its process; empty: nowhere.
  std::string process_of(SubtaskId) const;

 private:
  void read_task(JobEvent event, std::string_view name, std::string_view line);
  std::string name_of(const std::string& task_manager) const;

  const std::string job_;
  EpochMillis last_;
  int64_t last_of_day_;
  std::map<std::string, std::string> names_;  // Of TaskManagers, by id.
  std::map<SubtaskId, std::string> places_;
  std::vector<JobEvent> events_;
};

}  // namespace freshet::chaos
