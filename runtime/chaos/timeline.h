#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/time.h"
#include "runtime/chaos/job_log.h"
#include "runtime/chaos/recovery_rounds.h"
#include "runtime/chaos/run_record.h"
#include "runtime/chaos/samples.h"

namespace freshet::chaos {

/// A fault as it happened, for the timeline to find what followed from it.
struct TimedFault {
  uint32_t number = 0;
  EpochMillis at = 0;
  std::optional<EpochMillis> lifted;   // It can have done nothing long after that.
  std::vector<std::string> processes;  // Names of who may be lost by it, or lose tasks; empty: any.
  std::optional<SubtaskId> task;       // Only this one; its process may be lost, too.
};

/// What followed from one fault. Times are milliseconds since it.
struct FaultOutcome {
  FaultEnd end = FaultEnd::kHarmless;
  uint32_t merged_with = 0;  // Number of a fault; 0: of something that was not planned.
  RecoveryTimes times;
  std::string job_state;  // When it fired.
  std::string why;        // Of kNotRecovered.
  uint32_t tasks_restarted = 0;
  uint64_t records_reprocessed = 0;
  std::vector<std::string> restarted;  // New attempts, as `1/0#1`: the first 100.
};

/// Tells from the log of a JobManager and from samples what followed from each fault. Pure: no
/// clock, no I/O.
///
/// What happened at the same millisecond as a fault may follow from it. A fault whose tasks restart
/// together with those of an earlier one is merged with that; one whose tasks had to restart once
/// more before they ran, with the one that had them do so.
class Timeline {
 public:
  /// Of one job, by the id of its log lines. `start_of_day`: millis_of_day(start).
  Timeline(std::string job, EpochMillis start, int64_t start_of_day);
  Timeline(std::string job, EpochMillis start)
      : Timeline(std::move(job), start, millis_of_day(start)) {}

  /// One line of the log; others than events of this job are skipped.
  void read(std::string_view line) { log_.read(line); }
  /// Whole lines.
  void read_all(std::string_view lines);

  /// Of each fault, in the order given, by what was read so far.
  std::vector<FaultOutcome> outcomes(const std::vector<TimedFault>&, const Samples&) const;
  /// Every restart of the job, whatever the reason.
  std::vector<RestartRecord> restarts() const;

  /// The state of the job at that time; empty before it was submitted.
  std::string job_state_at(EpochMillis at) const;
  /// Where the latest attempt of a subtask was deployed: name of its process; empty: nowhere.
  std::string process_of(SubtaskId subtask) const { return log_.process_of(subtask); }

 private:
  const EpochMillis start_;
  JobLog log_;
};

}  // namespace freshet::chaos
