#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "network/local_transport.h"
#include "runtime/api/environment.h"
#include "runtime/api/in_process_module.h"
#include "runtime/app/control_client.h"
#include "runtime/app/job_manager_runner.h"
#include "runtime/app/task_manager_runner.h"
#include "runtime/base/thread_executor.h"

namespace freshet::testing {

inline constexpr uint32_t kParallelism = 4;

/// A JobManager and TaskManagers with two workers each, on all the threads that they have, in this
/// process and without sockets.
class ThreadCluster {
 public:
  struct Options {
    std::vector<std::string> task_managers = {"first", "second"};
    uint32_t jobs_max = 1;  // That there are slots for.
    std::map<std::string, std::string> configuration = {};
    std::shared_ptr<FileSystem> files = make_local_file_system();
  };

  ThreadCluster(std::shared_ptr<JobModule> module, Options options);
  explicit ThreadCluster(std::shared_ptr<JobModule> module)
      : ThreadCluster(std::move(module), Options()) {}
  ~ThreadCluster();

  ControlClient& client() { return *client_; }
  FileSystem& files() { return *files_; }
  const std::string& directory() const { return directory_; }

  /// Waits for the threads that remove spill files; false when that never comes.
  bool nothing_is_spilled();

  /// Of all TaskManagers, on the calling thread.
  std::vector<MetricGroupReading> read_metrics();

  JobId submit(const Submission& submission);
  /// Waits until the job has ended.
  JobReport wait_for(const JobId& job);
  JobReport run(const Submission& submission) { return wait_for(submit(submission)); }

 private:
  void add_task_manager(const std::string& name);

  const Address kAnyPort{"127.0.0.1", 0};
  const std::string directory_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  const std::shared_ptr<FileSystem> files_;
  const std::vector<std::string> names_;
  const uint32_t slots_;
  InProcessModuleLoader modules_;
  Configuration configuration_;
  ThreadExecutor network_{"network", *clock_};
  LocalTransport transport_;
  Address control_;
  std::unique_ptr<JobManagerRunner> job_manager_;
  std::vector<std::unique_ptr<TaskManagerRunner>> task_managers_;
  std::unique_ptr<ControlClient> client_;
};

Submission submission_of(JobModule& module, std::vector<std::string> arguments = {});

}  // namespace freshet::testing
