#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobmanager/clean_up_ledger.h"
#include "jobmanager/deployment_encoder.h"
#include "jobmanager/encoded_groups.h"
#include "jobmanager/job_master.h"
#include "jobmanager/resource_manager.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/faults.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/random.h"
#include "runtime/base/unique_function.h"

namespace freshet {

/// A job with what its JobMaster must not know: wall-clock times and timers.
struct JobRecord {
  std::unique_ptr<JobMaster> master;
  std::shared_ptr<const std::string> information;  // Encoded, for all messages.
  std::shared_ptr<const JobGraph> graph;           // A copy, for those who show it elsewhere.
  EpochMillis submitted = 0;
  TimePoint submitted_at;
  EpochMillis ended = 0;  // 0: not yet. `submitted` and how long it took: the wall clock may jump.
  std::set<TaskManagerId> users;   // They got work of the job and have not released it.
  bool user_lost = false;          // One of them, before the job has ended.
  JobMaster::Failovers failovers;  // Whose marks were passed.
  TimerId timer;
  std::optional<TimePoint> timer_due;
};

/// Brings events to the JobMasters and the ResourceManager and carries out what they decide.
/// Belongs to the main thread.
class JobDispatcher : public std::enable_shared_from_this<JobDispatcher> {
 public:
  static constexpr size_t kRunningJobsMax = 1000;
  static constexpr size_t kInformationBytesMax = 16u << 20;  // It is a part of larger messages.
  static constexpr size_t kEndedJobsMax = 100;  // Kept for those who ask; the oldest go first.

  struct Options {
    Duration slot_timeout;
    Configuration configuration;  // Of the JobManager; a job's own settings go before it.
    uint64_t offload_min_bytes = UINT64_MAX;  // Of what goes through the BlobServer.
    bool share_groups = true;  // False, to show what that costs: each deployment is made anew.
    Faults* faults = nullptr;
  };
  class Outlet {
   public:
    virtual ~Outlet() = default;
    /// Nothing happens when the TaskManager has gone meanwhile: that is an event of its own.
    virtual void send_to_task_manager(TaskManagerId, std::string message) = 0;
    /// The same, for a message that takes its time: `make` owns what it needs and runs elsewhere.
    /// What is sent to that TaskManager later comes after it.
    virtual void make_and_send_to_task_manager(TaskManagerId,
                                               UniqueFunction<std::string()> make) = 0;
    virtual void send_to_all_task_managers(const std::string& message) = 0;
    /// After each event of a job, with all its commands carried out: for those who watch
    /// invariants.
    virtual void on_job_event(const JobMaster&) = 0;
  };

  JobDispatcher(Options options, Outlet& outlet, Mailbox& mailbox, Clock& clock, Random& random);

  /// Ends all timers. No event afterwards.
  void stop();

  /// Refused with kInvalidArgument when the job's restart settings make no sense.
  Result<JobId> submit(JobSubmission);
  Status cancel(JobId);
  struct ProvokedTask {
    AttemptId attempt;
    std::string text;  // For people.
  };
  /// See JobMaster::find_subtask() and JobMaster::provoke().
  Result<ProvokedTask> provoke(JobId, const std::string& vertex, uint32_t subtask, ProvokedFailure);

  void on_task_manager_registered(const TaskManagerInfo&);
  void on_task_manager_lost(TaskManagerId, const TaskManagerLoss&);
  void on_task_state(TaskManagerId from, TaskStateReport);
  /// All attempts that a TaskManager runs, of all jobs.
  void on_hosted(TaskManagerId from, const std::vector<AttemptId>& hosted);
  void on_progress(TaskManagerId from, const AttemptId&, const ExecutionProgress&);
  void on_channels_lost(TaskManagerId from, const ChannelsLostReport&);
  void on_commit_done(TaskManagerId from, JobId, uint64_t commit_id, const Status&);
  void on_job_released(TaskManagerId from, JobId, bool cleaned_up);

  /// In the order of submission.
  const std::vector<std::unique_ptr<JobRecord>>& jobs() const { return jobs_; }
  const JobRecord* find(JobId) const;
  const ResourceManager& resources() const { return resources_; }
  /// What deployments share.
  const std::shared_ptr<EncodedGroups>& encoded_groups() const { return encoded_groups_; }
  /// The job has ended, and TaskManagers still remove what it left.
  bool is_tidying(const JobRecord&) const;

 private:
  JobRecord* running(JobId);
  void apply(JobRecord&, JobCommands);
  /// What was decided is not carried out yet.
  void pass_marks(JobRecord&);
  void carry_out(JobRecord&, const JobCommand&);
  void release(const JobRecord&);
  /// Gives away the clean-ups that wait. Who got one is offered to no job before it is done.
  void order_clean_ups();
  std::shared_ptr<const DeploymentEncoder> make_encoder(const JobRecord&);
  void deploy(JobRecord&, job_commands::DeployTasks, std::shared_ptr<const DeploymentEncoder>);
  /// Gives out slots until nothing changes any more.
  void settle();
  void after_event(JobRecord&);
  void set_timer(JobRecord&);
  void on_timer(JobId);
  void drop_oldest_ended();

  const Options options_;
  Outlet& outlet_;
  Mailbox& mailbox_;
  Clock& clock_;
  Random& random_;
  ResourceManager resources_;
  CleanUpLedger clean_ups_;
  const std::shared_ptr<EncodedGroups> encoded_groups_ =
      std::make_shared<EncodedGroups>(options_.share_groups);
  std::shared_ptr<const TaskManagerTable> task_managers_;  // Null: made when it is needed.
  std::vector<std::unique_ptr<JobRecord>> jobs_;
};

}  // namespace freshet
