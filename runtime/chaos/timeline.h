#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/time.h"
#include "runtime/chaos/run_record.h"
#include "runtime/chaos/samples.h"

namespace freshet::chaos {

/// A fault as it happened, for the timeline to find what followed from it.
struct FiredFault {
  uint32_t number = 0;
  EpochMillis at = 0;
  std::vector<std::string> processes;  // Names of who may be lost by it, or lose tasks; empty: any.
  std::optional<SubtaskId> task;       // Only this one; its TaskManager may be lost, too.
};

/// What followed from one fault. Times are milliseconds since it.
struct FaultOutcome {
  FaultEnd end = FaultEnd::kHarmless;
  uint32_t merged_with = 0;
  RecoveryTimes times;
  std::string job_state;  // When it fired.
  std::string why;        // Of kNotRecovered.
  uint32_t tasks_restarted = 0;
  uint64_t records_reprocessed = 0;
  std::vector<std::string> restarted;  // New attempts, as `1/0#1`.
};

/// Milliseconds of local time since midnight: what a line of a log begins with.
int64_t millis_of_day(EpochMillis);

/// Tells from the log of a JobManager (env.log.level=debug) and from samples what followed from
/// each fault. Pure: no clock, no I/O.
///
/// Lines carry no date: they must come in order, the first within twelve hours of `start`, and no
/// twelve hours between two. What happened at the same millisecond as a fault may follow from it.
/// Restarts that began before those of an earlier fault were deployed again are merged with it.
class Timeline {
 public:
  /// Of one job, by the id of its log lines.
  Timeline(std::string job, EpochMillis start);

  /// One line, or what came of one; others than events of this job are skipped.
  void read(std::string_view line);
  void read_all(std::string_view lines);

  /// Of each fault, in the order given, by what was read so far.
  std::vector<FaultOutcome> outcomes(std::vector<FiredFault>, const Samples&) const;
  /// Every restart of the job, whatever the reason.
  std::vector<RestartRecord> restarts() const;

  /// The state of the job after the last line; of the time `at`.
  const std::string& job_state() const;
  std::string job_state_at(EpochMillis at) const;
  /// Where an attempt runs that is the latest of its subtask: name of its process; empty: nowhere.
  std::string process_of(SubtaskId) const;

 private:
  enum class EventKind {
    kTaskManagerLost,
    kTaskFailed,
    kOutputLost,
    kJobRestarts,
    kTaskRestarts,
    kTaskState,
    kTaskDeployed,
    kJobState,
    kFailure,  // With its cause.
  };
  struct Event {
    EpochMillis at = 0;
    EventKind kind = EventKind::kJobState;
    SubtaskId subtask;
    uint32_t attempt = 0;
    std::string text;  // Name of a process, a state, a cause.
  };
  struct Round;

  std::vector<Round> rounds() const;
  std::optional<EpochMillis> detected(const FiredFault&) const;

  std::string job_;
  EpochMillis start_;
  int64_t day_start_;  // start_, as a time of its day.
  EpochMillis last_;
  std::map<std::string, std::string> names_;  // Of TaskManagers, by id.
  std::vector<Event> events_;
  std::string job_state_ = "CREATED";
  std::map<SubtaskId, std::string> places_;
};

}  // namespace freshet::chaos
