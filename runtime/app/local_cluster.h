#pragma once

#include <functional>
#include <memory>
#include <string>

#include "network/local_transport.h"
#include "runtime/app/control_client.h"
#include "runtime/app/job_manager_runner.h"
#include "runtime/app/task_manager_runner.h"

namespace freshet {

/// A JobManager and one TaskManager in this process, over the in-process transport: the same code
/// as in a cluster.
class LocalCluster {
 public:
  struct Options {
    Configuration configuration;
    uint32_t slots = 1;
    std::string state_directory;  // Must not be there; removed in the end.
    bool allow_faults = false;
    /// Of a thread of the cluster: a task does not return, so that the destructor would wait for
    /// ever. Ends the process.
    std::function<void(const Status&)> on_fatal;
  };

  static Result<std::unique_ptr<LocalCluster>> start(const Options&);
  ~LocalCluster();

  ControlClient& client() { return *client_; }
  const Clock& clock() const { return *clock_; }

 private:
  LocalCluster(std::string state_directory, std::unique_ptr<FileSystem> files);

  const std::string state_directory_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<ModuleLoader> modules_;
  std::unique_ptr<Faults> faults_;
  ThreadExecutor network_;
  LocalTransport transport_;
  std::unique_ptr<JobManagerRunner> job_manager_;
  std::unique_ptr<TaskManagerRunner> task_manager_;
  std::unique_ptr<ControlClient> client_;  // The last three end in reverse order.
};

}  // namespace freshet
