#pragma once

#include <map>
#include <memory>
#include <string>
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

/// A JobManager and TaskManagers, two by default, with two workers each and the slots for one job,
/// on all the threads that they have, in this process and without sockets.
class ThreadCluster {
 public:
  explicit ThreadCluster(std::shared_ptr<JobModule> module,
                         std::vector<std::string> names = {"first", "second"},
                         const std::map<std::string, std::string>& configuration = {});
  ~ThreadCluster();

  ControlClient& client() { return *client_; }
  FileSystem& files() { return *files_; }
  const std::string& directory() const { return directory_; }

  /// Waits until the job has ended.
  JobReport run(const Submission& submission);

 private:
  void add_task_manager(const std::string& name);

  const Address kAnyPort{"127.0.0.1", 0};
  const uint32_t slots_;
  const std::string directory_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  InProcessModuleLoader modules_;
  Configuration configuration_;
  ThreadExecutor network_{"network", *clock_};
  LocalTransport transport_;
  Address control_;
  std::unique_ptr<JobManagerRunner> job_manager_;
  std::vector<std::unique_ptr<TaskManagerRunner>> task_managers_;
  std::unique_ptr<ControlClient> client_;
};

Submission submission_of(JobModule& module);

}  // namespace freshet::testing
