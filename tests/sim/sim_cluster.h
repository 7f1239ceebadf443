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
#include "tests/sim/sim_world.h"

namespace freshet::sim {

/// A cluster of the real JobManager and TaskExecutors in a simulated world, on one machine: all its
/// processes see the same files. A supervisor restarts what dies.
///
/// After every event of every job its JobMaster's invariants are checked; what does not hold is in
/// problems().
class SimCluster {
 public:
  struct Options {
    uint64_t seed = 1;
    uint32_t task_managers = 2;
    uint32_t slots = 2;
    Duration restart_delay = 300ms;  // Of a dead process by the supervisor.
    /// Puts something between tasks and the log of their decisions: mutants.
    std::function<std::unique_ptr<DecisionLog>(DecisionLog&)> wrap_log = {};
  };

  explicit SimCluster(const Options& options);
  ~SimCluster();

  SimWorld& world() { return world_; }
  MemoryFileSystem& files() { return machine_.files; }

  /// Puts the job's input files there and submits it; its name decides its module. Once.
  void submit(const SimJob& job);

  /// Runs until the job has ended. False when it has not within `limit` of virtual time.
  bool run_until_ended(Duration limit);

  /// Runs until all slots are registered.
  bool run_until_ready(Duration limit);

  /// kCreated before the JobManager knows the job.
  JobState job_state() const;
  Status job_cause() const;
  uint32_t restarts() const;

  /// Lets `count` things go wrong at random moments of the next `span`: crashes, pauses, resets,
  /// clogs and splits that heal.
  void break_things(uint32_t count, Duration span);
  uint32_t faults_injected() const { return faults_injected_; }

  /// Tasks that live TaskManagers have.
  size_t hosted_tasks() const;
  /// How often the job was taken: more than once after the JobManager was lost.
  uint32_t submissions() const;
  /// Resets the client's connection to the JobManager.
  void reset_client();

  /// Live TaskManagers.
  std::vector<SimProcess*> task_managers() const;
  SimProcess* job_manager() const { return job_manager_process_; }

  /// Executes every attempt of every task again, alone, from its recorded decisions and inputs,
  /// also those that were cancelled or killed in the middle; see repeat_all().
  Result<size_t> replay_tasks();

  /// Sentences for people: broken invariants, unexpected errors.
  std::vector<std::string> problems() const;

 private:
  struct JobManagerProgram;
  struct TaskManagerProgram;
  class Recorder;

  void start_job_manager();
  void start_task_manager(uint32_t index);
  void supervise();
  void break_one_thing();
  const JobMaster* job_master() const;
  void observe(const JobMaster& job);

  const Options options_;
  SimWorld world_;
  SimHost& machine_;
  const std::unique_ptr<Random> chaos_;
  const Address job_manager_address_{"127.0.0.1", 6123};
  InProcessModuleLoader modules_;
  std::vector<std::unique_ptr<Recorder>> recorders_;  // Of each TaskManager that was.
  std::shared_ptr<JobManagerProgram> job_manager_;
  SimProcess* job_manager_process_ = nullptr;
  std::map<uint32_t, SimProcess*> task_manager_processes_;  // By index; replaced after a death.
  std::map<uint32_t, std::weak_ptr<TaskManagerProgram>> task_manager_programs_;  // Likewise.
  SimProcess* client_process_ = nullptr;
  std::unique_ptr<SimClient> client_;
  std::shared_ptr<const BuiltJob> built_;
  JobGraph graph_;
  std::map<JobId, JobMasterInvariants> invariants_;
  std::vector<std::string> problems_;
  uint32_t faults_injected_ = 0;
};

}  // namespace freshet::sim
