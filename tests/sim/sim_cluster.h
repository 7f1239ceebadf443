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
  };

  explicit SimCluster(const Options& options);
  ~SimCluster();

  SimWorld& world() { return world_; }
  MemoryFileSystem& files() { return machine_.files; }

  /// Submits the job that `builder` makes; the job's name decides its module. Once.
  void submit(const std::string& name, std::function<void(Environment&)> builder,
              BuildOptions build);

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

  /// Live TaskManagers.
  std::vector<SimProcess*> task_managers() const;
  SimProcess* job_manager() const { return job_manager_process_; }

  /// Executes every task of the execution that ended, alone, from its recorded decisions and
  /// inputs. How many there were, or the first difference. What died with its process is not there.
  Result<size_t> replay_tasks();

  /// Sentences for people: broken invariants, unexpected errors.
  std::vector<std::string> problems() const;

 private:
  struct JobManagerProgram;
  struct TaskManagerProgram;

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
  std::vector<std::pair<SimProcess*, std::unique_ptr<MemoryTaskRecorder>>> recorders_;
  std::shared_ptr<JobManagerProgram> job_manager_;
  SimProcess* job_manager_process_ = nullptr;
  std::map<uint32_t, SimProcess*> task_manager_processes_;  // By index; replaced after a death.
  std::unique_ptr<SimClient> client_;
  std::shared_ptr<const BuiltJob> built_;
  JobGraph graph_;
  std::map<JobId, JobMasterInvariants> invariants_;
  std::vector<std::string> problems_;
  uint32_t faults_injected_ = 0;
};

}  // namespace freshet::sim
