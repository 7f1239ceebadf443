#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "jobmanager/job_manager.h"
#include "jobmanager/job_master_invariants.h"
#include "runtime/api/environment.h"
#include "runtime/api/in_process_module.h"
#include "runtime/task/task_recorder.h"
#include "tests/sim/sim_client.h"
#include "tests/sim/sim_job.h"
#include "tests/sim/sim_replay.h"
#include "tests/sim/sim_world.h"

namespace freshet::sim {

/// A cluster of the real JobManager and TaskExecutors in a simulated world, each on a host of its
/// own; inputs and outputs of jobs are on the file server. A supervisor restarts what dies.
///
/// Jobs are numbered in the order of their submission. After every event of every job its
/// JobMaster's invariants are checked; what does not hold is in problems().
class SimCluster {
 public:
  struct Options {
    uint64_t seed = 1;
    uint32_t task_managers = 2;
    uint32_t slots = 2;
    bool recorded = true;      // Tasks are; others run as in production, and pass no fault marks.
    bool same_ports = false;   // A TaskManager has the data port of the one that it replaces.
    bool wide = false;         // Gates and datasets behave as if they had thousands of channels.
    bool one_machine = false;  // All but the clients are on it, and outputs are on its disk.
    Duration restart_delay = 300ms;                         // Of a dead process or host.
    Duration step_time{0};                                  // Of each step of a task.
    std::map<std::string, std::string> configuration = {};  // Of the JobManager.
    /// Puts something between tasks and the log of their decisions: mutants.
    std::function<std::unique_ptr<DecisionLog>(DecisionLog&)> wrap_log = {};
  };
  enum class Disk { kComesBack, kIsLost };

  explicit SimCluster(const Options& options);
  ~SimCluster();

  SimWorld& world() { return world_; }
  /// Of the file server.
  MemoryFileSystem& files() { return world_.shared().files(); }

  /// Puts the job's input files there and has a client of its own submit it. Its name decides its
  /// module, and no other job has it. Returns its number.
  size_t submit(const SimJob& job);

  /// Runs until all jobs have ended. False when they have not within `limit` of virtual time.
  bool run_until_ended(Duration limit);

  /// Runs until all slots are registered.
  bool run_until_ready(Duration limit);

  /// kCreated before the JobManager knows the job.
  JobState job_state(size_t job = 0) const;
  Status job_cause(size_t job = 0) const;
  uint32_t restarts(size_t job = 0) const;
  const JobGraph& graph(size_t job = 0) const { return jobs_.at(job)->graph; }
  bool has_ended(size_t job) const;
  /// As its last submission was taken.
  std::optional<JobId> job_id(size_t job = 0) const { return jobs_.at(job)->client->job(); }
  /// Its state, what it waits for, and its tasks that have not ended; empty once it has ended.
  std::string describe_unended(size_t job = 0) const;

  /// Tasks that live TaskManagers have.
  size_t hosted_tasks() const;
  /// Of the segment pools of live TaskManagers; 0 when no buffer is left anywhere.
  uint64_t segment_bytes_in_use() const;
  /// How often a job was taken: more than once after the JobManager was lost.
  uint32_t submissions(size_t job = 0) const;
  /// Its client asks for its end.
  void cancel(size_t job = 0) { jobs_.at(job)->client->cancel(); }
  /// Resets a client's connection to the JobManager.
  void reset_client(size_t job = 0);

  /// A client asks that this task fails as if its operator had thrown. Lost with the connection,
  /// and for nothing when the task does not run.
  void fail_task(size_t job, const SubtaskId& task) { jobs_.at(job)->client->fail_task(task); }
  struct RunningTask {
    SubtaskId task;
    std::string task_manager;  // Its name.
  };
  /// Tasks of a job that are running, as its JobManager knows them.
  std::vector<RunningTask> running_tasks(size_t job) const;

  /// `jobmanager`, `taskmanager-2`; null when it is not alive.
  SimProcess* process_named(const std::string& name) const;
  /// Called with every process of the cluster that starts from now on.
  void on_start(std::function<void(SimProcess&)> observer) { on_start_ = std::move(observer); }

  /// Live TaskManagers.
  std::vector<SimProcess*> task_managers() const;
  SimProcess* job_manager() const { return job_manager_process_; }

  /// The host of this TaskManager crashes; see SimWorld::crash_host(). The next one begins on it,
  /// or, when its disk is lost, on a new host.
  void crash_host(SimProcess& task_manager, Disk disk);

  /// The only machine loses its power, boots again, and starts everything anew.
  void crash_machine();

  /// For so long every file operation of this TaskManager waits, and its thread with it; its main
  /// thread goes on.
  void stall_files(SimProcess& task_manager, Duration duration);

  /// For so long nothing that it spilled is written or read, but for what its tasks do themselves.
  void stall_spilling(SimProcess& task_manager, Duration duration);

  /// For so long each operation on what it spilled takes `each`.
  void slow_spilling(SimProcess& task_manager, Duration each, Duration duration);

  /// Executes every attempt of every task of a job again, alone, from its recorded decisions and
  /// inputs, also those that were cancelled or killed in the middle; see repeat_all().
  Result<ReplayCounts> replay_tasks(size_t job = 0);

  /// Sentences for people: broken invariants, unexpected errors.
  std::vector<std::string> problems() const;

 private:
  struct JobManagerProgram;
  struct TaskManagerProgram;
  class Recorder;

  struct Submitted {
    std::string name;
    SimProcess* client_process = nullptr;
    std::unique_ptr<SimClient> client;
    std::shared_ptr<const BuiltJob> built;
    JobGraph graph;
  };
  /// What stands for one TaskManager of the cluster; replaced after a death.
  struct Place {
    SimHost* host = nullptr;
    uint32_t hosts_lost = 0;
    SimProcess* process = nullptr;
    std::weak_ptr<TaskManagerProgram> program;
  };

  void start_job_manager();
  void start_task_manager(uint32_t index);
  void supervise();
  SimHost& add_task_manager_host(uint32_t index);
  Place& place_of(const SimProcess& task_manager);
  const JobMaster* job_master(size_t job) const;
  void observe(const JobMaster& job);

  const Options options_;
  SimWorld world_;
  SimHost& job_manager_host_;
  SimHost& client_host_;
  const Address job_manager_address_{"127.0.0.1", 6123};
  InProcessModuleLoader modules_;
  std::vector<std::unique_ptr<Recorder>> recorders_;  // Of each TaskManager that was.
  std::shared_ptr<JobManagerProgram> job_manager_;
  SimProcess* job_manager_process_ = nullptr;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<Submitted>> jobs_;
  std::map<JobId, std::string> names_;  // Of every job that a JobManager took.
  std::map<JobId, JobMasterInvariants> invariants_;
  std::vector<std::string> problems_;
  std::function<void(SimProcess&)> on_start_;
};

}  // namespace freshet::sim
