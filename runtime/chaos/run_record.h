#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::chaos {

/// Milliseconds from the start of a run: when its cluster was there and its job was submitted.
using RunMillis = int64_t;

/// What a job did since the sample before. Rates are of all tasks together.
struct SeriesPoint {
  RunMillis at = 0;
  double source_per_second = 0;
  double sink_per_second = 0;
  uint64_t source_records = 0;  // Of the present attempts: less again when they start anew.
  uint64_t sink_records = 0;
  uint32_t tasks_running = 0;
  /// From scheduled time to the sink, of records that came there since the sample before. None when
  /// none came, or the job has no schedule.
  struct Latency {
    double p50_ms = 0;
    double p95_ms = 0;
    double max_ms = 0;
    bool operator==(const Latency&) const = default;
  };
  std::optional<Latency> latency;
  bool operator==(const SeriesPoint&) const = default;
};

/// What has to happen between a fault and its being made good, in this order.
enum class Phase { kDetect, kCancel, kRedeploy, kRestore, kFirstRecord, kCaughtUp };
inline constexpr size_t kPhases = 6;
/// `detect`, `cancel`, `redeploy`, `restore`, `first_record`, `caught_up`.
std::string_view to_string(Phase);

/// When each phase of one recovery was over, in milliseconds since the fault: they never go back.
/// None: not reached, or nothing had to happen.
struct RecoveryTimes {
  std::optional<int64_t> detect;        // The JobManager knows: the first event that follows.
  std::optional<int64_t> cancel;        // No attempt that has to go runs any more.
  std::optional<int64_t> redeploy;      // All that can start again are deployed.
  std::optional<int64_t> restore;       // And all of them run.
  std::optional<int64_t> first_record;  // A replacement has taken or made a record.
  std::optional<int64_t> caught_up;     // As far as at the fault, and as fast as before.

  const std::optional<int64_t>& of(Phase) const;
  std::optional<int64_t>& of(Phase);
  bool operator==(const RecoveryTimes&) const = default;
};

enum class FaultEnd {
  kNotFired,      // See FaultRecord::why.
  kHarmless,      // Fired, and no task had to restart.
  kRecovered,     // Everything that had to restart runs again.
  kMerged,        // Its tasks restarted together with those of FaultRecord::merged_with.
  kNotRecovered,  // The job failed, or was not back when the run ended.
};
/// `not fired`, `harmless`, `recovered`, `merged`, `not recovered`.
std::string_view to_string(FaultEnd);

/// One fault of the plan, and what became of it.
struct FaultRecord {
  uint32_t number = 0;               // Of PlannedFault.
  std::string kind;                  // `kill`.
  std::string target;                // `taskmanager-2`, after what the plan left open was decided.
  std::string text;                  // The planned fault, as a sentence.
  std::optional<RunMillis> planned;  // None: at a mark.
  std::optional<RunMillis> fired;
  std::optional<RunMillis> lifted;  // When it was taken back, if it lasts.
  std::string why;                  // Not fired, or not recovered; for people.
  std::string job_state;            // When it fired: `RUNNING`.
  FaultEnd end = FaultEnd::kNotFired;
  uint32_t merged_with = 0;  // Number of that fault.
  RecoveryTimes times;
  uint32_t tasks_restarted = 0;  // Of RunRecord::tasks.
  uint64_t records_reprocessed =
      0;  // That restarted tasks had taken or made, and do again from the beginning.
  std::vector<std::string> restarted;  // `1/0#1`: the first 100 new attempts.
};

/// A restart of the job, whatever it was for.
struct RestartRecord {
  RunMillis begun = 0;
  std::optional<RunMillis> ended;  // All run again.
  uint32_t tasks = 0;
  std::string cause;  // As the JobManager tells it.
};

/// Of output against reference.
struct VerdictRecord {
  bool known = false;  // False: there was nothing to compare; see `summary`.
  bool exact = false;
  uint64_t expected = 0;  // Records of the reference.
  uint64_t seen = 0;
  uint64_t lost = 0;
  uint64_t doubled = 0;
  uint64_t altered = 0;
  uint64_t invented = 0;
  std::string method;   // `compared with an undisturbed run`.
  std::string summary;  // One sentence for people.
  struct Example {
    std::string what;  // `lost`, `doubled`, `altered`, `invented`.
    std::string record;
    std::string instead;  // Of an altered one.
  };
  std::vector<Example> examples;  // The first hundred.
};

/// Over all faults that were recovered, or over all samples.
struct Spread {
  uint64_t count = 0;
  double p50 = 0;
  double p95 = 0;
  double max = 0;
};
/// Nearest rank; all zeros of nothing.
Spread spread_of(std::vector<double> values);

/// Of each phase, of records_reprocessed and of latency; computed from the rest by summarize().
struct RunSummary {
  Spread phases[kPhases];
  Spread records_reprocessed;
  Spread tasks_restarted;
  Spread latency_p95_ms;         // Of samples.
  double latency_max_ms = 0;     // Of all records; 0 without schedule.
  double source_per_second = 0;  // Of the whole run.
  uint64_t fired = 0;
  uint64_t recovered = 0;  // Harmless and merged ones too.
};

/// One job, broken with one strategy.
struct RunRecord {
  std::string strategy;   // `region`, `full`.
  std::string job_state;  // At the end: `FINISHED`.
  RunMillis length = 0;
  RunMillis reference_length = 0;  // Of the undisturbed run; 0: there was none.
  uint32_t tasks = 0;
  uint32_t restarts = 0;   // As the JobManager counts them.
  bool scheduled = false;  // Latency is measured.
  std::vector<SeriesPoint> series;
  std::vector<FaultRecord> faults;  // In the order of the plan.
  std::vector<RestartRecord> restarted;
  VerdictRecord verdict;
  int exit_code = 0;
  std::string problem;  // Why it is not 0, for people.
};

RunSummary summarize(const RunRecord&);

/// All that a report shows: of one command, one or several runs side by side.
struct ChaosRecord {
  std::string command;  // As it was typed.
  uint64_t seed = 0;
  std::string plan;  // Its text, as it can be given again.
  std::string job;   // Name.
  std::string module;
  std::string mode;  // `streaming`, `batch`.
  std::vector<std::string> arguments;
  uint32_t parallelism = 0;
  uint32_t task_managers = 0;
  uint32_t slots = 0;                 // Of each TaskManager.
  std::vector<std::string> settings;  // `heartbeat.interval: 100 ms`, those that differ.
  std::string version;                // Of freshet.
  std::string started;                // `2026-11-30 23:40:12`.
  bool interrupted = false;           // By Ctrl-C: partial.
  std::vector<RunRecord> runs;
  int exit_code = 0;
};

}  // namespace freshet::chaos
