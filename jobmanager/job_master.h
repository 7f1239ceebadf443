#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobmanager/commit_ledger.h"
#include "jobmanager/crash_limit.h"
#include "jobmanager/deployment.h"
#include "jobmanager/execution_graph.h"
#include "jobmanager/failover.h"
#include "jobmanager/job_commands.h"
#include "jobmanager/job_history.h"
#include "jobmanager/region_schedule.h"
#include "jobmanager/resource_manager.h"
#include "jobmanager/restart_backoff.h"
#include "jobmanager/task_manager_loss.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"
#include "runtime/graph/job_module.h"

namespace freshet {

/// What a client asks to run.
struct JobSubmission {
  std::string name;
  std::string module_hash;
  BuildOptions build;
  uint64_t fingerprint = 0;
  JobGraph graph;
};

/// Of what an attempt made of a blocking edge: equal for two attempts when their consumers get the
/// same. 0: not known.
struct OutputHash {
  DatasetId dataset;
  uint64_t hash = 0;
};

/// A state that a TaskManager reports of an attempt.
struct TaskStateReport {
  AttemptId attempt;
  TaskState state = TaskState::kCreated;
  Status cause;                              // Of kFailed.
  std::string operator_name;                 // Where user code failed, if it did.
  std::vector<JobCommittable> committables;  // Of kEndOfData.
  std::vector<OutputHash> outputs;           // Of kEndOfData.
  std::optional<ExecutionProgress> progress;
};

/// Channels of one gate that lost their connection.
struct ChannelsLostReport {
  AttemptId consumer;
  DatasetId dataset;
  IndexRange producers;
  TaskManagerId producer_task_manager;
  Status cause;

  /// What its producers made is not there any more, or damaged.
  bool output_gone() const {
    return cause.code() == StatusCode::kNotFound || cause.code() == StatusCode::kDataLoss;
  }
  bool wrong_bytes() const { return cause.code() == StatusCode::kDataLoss; }
};

/// Makes all decisions of one job: when it has its slots and is deployed, what a failure means,
/// when its results are published, when it has ended. Pure: no I/O, no clock, no threads. Events
/// are functions with the present time, which never goes back; commands come out. What is late,
/// doubled or of an older attempt is ignored.
///
/// See "Slots", "Restart of a job" and "Commit of results" in DESIGN_NOTES.md.
class JobMaster {
 public:
  struct Options {
    JobId id;
    JobSubmission submission;
    Duration slot_timeout;  // From needing slots to having them; then the job fails.
    FailoverStrategy failover = FailoverStrategy::kRegion;
    bool share_groups = true;  // False: where producers are is found anew for each deployment.
    RegionCycles cycles = RegionCycles::kMerged;  // kLeft: for tests.
  };
  static constexpr Duration kLossPatience = 1s;

  /// The graph is one that from_proto() or build_job_graph() gave.
  JobMaster(Options options, std::unique_ptr<RestartBackoff> backoff);

  /// Once, before every other event.
  JobCommands start(TimePoint now);

  JobCommands on_task_manager_registered(TimePoint now, const TaskManagerInfo&);
  /// Closed connection, silence or a crash: all that it ran is gone, as one failure.
  JobCommands on_task_manager_lost(TimePoint now, TaskManagerId, const TaskManagerLoss&);
  /// All slots of the job, absolute.
  JobCommands on_slots(TimePoint now, const SlotReport&);

  JobCommands on_task_state(TimePoint now, TaskManagerId from, TaskStateReport);
  /// The attempts of this job that a TaskManager runs, as its heartbeat says.
  JobCommands on_hosted(TimePoint now, TaskManagerId from, std::span<const AttemptId> hosted);
  void on_progress(TimePoint now, TaskManagerId from, const AttemptId&, const ExecutionProgress&);
  /// Often the trace of a failure whose report is still under way: the consumer fails only when
  /// none came within kLossPatience, at once when the producers' TaskManager is gone or bytes were
  /// wrong. Those fail it even at the end of its data.
  JobCommands on_channels_lost(TimePoint now, TaskManagerId from, const ChannelsLostReport&);
  JobCommands on_commit_done(TimePoint now, TaskManagerId from, uint64_t commit_id, const Status&);

  /// Refused while results are being published and after the end.
  Result<JobCommands> cancel(TimePoint now);

  /// The subtask's present attempt fails in this way. Refused when it does not run.
  Result<JobCommands> provoke(TimePoint now, SubtaskId, ProvokedFailure) const;
  /// `vertex`: its number or its name. kNotFound when there is none such, or several.
  Result<SubtaskId> find_subtask(const std::string& vertex, uint32_t index) const;
  /// `sink (2/4) on taskmanager-2`
  std::string describe(SubtaskId) const;

  /// Call when deadline() has come; earlier or later calls are harmless.
  JobCommands on_time(TimePoint now);
  std::optional<TimePoint> deadline() const;

  JobId id() const { return options_.id; }
  const JobSubmission& submission() const { return options_.submission; }
  JobState state() const { return state_; }
  const ExecutionGraph& graph() const { return graph_; }
  /// Those that it holds.
  std::vector<Slot> slots() const { return schedule_.slots().held(); }
  /// Failovers that were decided, and those after which tasks were deployed again.
  struct Failovers {
    uint64_t decided = 0;
    uint64_t done = 0;
  };
  const Failovers& failovers() const { return failovers_; }
  uint32_t restarts() const { return restarts_; }
  const CommitLedger& commits() const { return commits_; }
  /// Of the latest failure; ok when there was none.
  const Status& cause() const { return cause_; }
  const JobHistory& history() const { return history_; }
  /// Why a job does not run, for people: `4 slots, the cluster has 2`. Empty when it waits for
  /// nothing.
  std::string waiting_for() const;
  /// Records that the sources of the present execution have emitted.
  uint64_t source_records() const;

 private:
  struct PendingRestart {
    TimePoint due;
    std::vector<std::pair<uint32_t, uint32_t>>
        versions;  // Execution, and its version when decided.
  };

  struct PendingLoss {
    TimePoint due;
    TaskManagerId from;
    ChannelsLostReport report;
  };

  /// At the begin of each event.
  void set_now(TimePoint now);
  void move(JobState to);
  void move_task(uint32_t index, TaskState to);
  void reset(uint32_t index);
  void log_state(uint32_t index) const;
  void note_inputs_read(uint32_t index, uint64_t inputs);
  bool waits_for_slots() const;
  const Execution* current(TaskManagerId from, const AttemptId&) const;
  AttemptId attempt_at(uint32_t index) const;
  /// `taskmanager-2 (tm-00000000000000a1, 10.0.0.7:41689)`; only the id of one that is unknown.
  std::string describe(TaskManagerId) const;
  /// Empty when it is not there any more.
  std::string endpoint_of(TaskManagerId) const;
  /// `sink (2/4)`
  std::string name_of(SubtaskId) const;
  std::string describe_slots() const;
  std::optional<std::pair<SubtaskId, SubtaskId>> missing_input(uint32_t region) const;
  std::string describe_cycle() const;

  bool accepts_tasks() const;
  job_commands::RequireSlots slots_required() const;
  /// Deploys all that can run now.
  void start_regions(TimePoint now, JobCommands&);
  void deploy(const std::vector<RegionSchedule::Placement>&, JobCommands&);
  void note_slot_wait(TimePoint now, JobCommands&);
  void return_surplus(JobCommands&);
  bool all_have_run() const;
  /// It has nothing left to do, nor has its region: all that was to come of it is here.
  bool is_done(uint32_t index) const;
  /// The same, and its TaskManager was told.
  bool is_finishing(uint32_t index) const;
  void finish_region(uint32_t region, JobCommands&);
  void on_finished(TimePoint now, uint32_t index, JobCommands&);
  void move_to_finished(uint32_t index);
  /// What all have read.
  void release_partitions(JobCommands&);
  /// What attempts made that have ended and are to run again.
  void release_outputs(const std::vector<uint32_t>& executions, JobCommands&);

  /// What a TaskManager that is gone had.
  struct Loss {
    std::vector<SubtaskId> failed;  // Those that ran.
    std::vector<uint32_t> outputs;  // Executions whose output is gone.
  };
  Loss take_away(TaskManagerId lost);
  /// Who brought it down, as far as it is known.
  void blame(const TaskManagerLoss&, TaskFailure*);

  bool matters(const PendingLoss&) const;
  void fail_for_losses(TimePoint now, JobCommands&);
  /// What a consumer did not find; they are executions.
  std::vector<uint32_t> lose_outputs(const ChannelsLostReport&);
  void fail(TimePoint now, const TaskFailure&, JobCommands&,
            const std::vector<uint32_t>& lost_outputs = {});
  /// `cause`: as users see it.
  void note_failure(const TaskFailure&, const Status& cause);
  void begin_restart(TimePoint now, const FailoverPlan&, Duration delay, JobCommands&);
  void begin_failing(TimePoint now, const Status& cause, JobCommands&);
  void cancel_live(const std::vector<uint32_t>& executions, JobCommands&);
  void cancel_all(JobCommands&);
  void add_to_restart(const FailoverPlan&, JobCommands&);
  /// Goes on when the last cancelled attempt has ended, or the time of a restart has come.
  void advance(TimePoint now, JobCommands&);
  void restart(TimePoint now, JobCommands&);
  void end(JobState, JobCommands&);

  void on_end_of_data(TimePoint now, uint32_t index, TaskStateReport, JobCommands&);
  void note_outputs(TimePoint now, uint32_t index, const std::vector<OutputHash>&, JobCommands&);
  void begin_commit(TimePoint now, JobCommands&);
  void pursue_commit(TimePoint now, JobCommands&);
  void finish(JobCommands&);

  const Options options_;
  const std::unique_ptr<RestartBackoff> backoff_;
  ExecutionGraph graph_;
  TimePoint now_{};
  JobState state_ = JobState::kCreated;
  Status cause_;
  JobHistory history_;
  Failovers failovers_;
  uint32_t restarts_ = 0;
  bool deployed_once_ = false;  // All tasks of one deployment have run.

  RegionSchedule schedule_;
  uint32_t cluster_slots_ = 0;
  uint32_t cluster_slots_free_ = 0;
  std::optional<TimePoint> slot_deadline_;  // While nothing can go on for want of slots.
  // Regions all of whose tasks have ended and were told to finish: how many have not said that they
  // have.
  std::map<uint32_t, uint32_t> finishing_;

  std::vector<TaskManagerId> task_managers_;                 // Registered ones, in that order.
  std::map<TaskManagerId, TaskManagerInfo> known_;           // The same ones.
  std::map<TaskManagerId, std::vector<uint32_t>> deployed_;  // Of the present attempts.

  LocatedGroups located_;
  std::optional<PendingRestart> pending_restart_;
  std::vector<PendingLoss> losses_;  // In the order of their times, at most one per consumer.
  std::map<uint32_t, std::vector<JobCommittable>> committables_;  // By execution.
  CommitLedger commits_;
  CrashLimit crash_limit_;
};

}  // namespace freshet
