#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobmanager/job_manager.h"
#include "runtime/app/process_status.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/executor.h"
#include "runtime/rest/cluster_queries.h"

namespace freshet {

/// Asks a JobManager on its main thread and waits there. Thread-safe; not for the main thread
/// itself. What is asked when the executor has stopped is kUnavailable.
class JobManagerQueries final : public ClusterQueries {
 public:
  struct Process {
    std::string log_path;             // Empty: standard error.
    std::function<void()> shut_down;  // Has the whole cluster end; empty: it cannot be told to.
  };

  JobManagerQueries(JobManager& job_manager, Executor& main, const Clock& clock,
                    const Configuration& configuration, FileSystem& files, Process process);

  EpochMillis now() const override { return clock_.epoch_millis(); }
  Result<std::vector<JobSummaryView>> jobs() override;
  Result<JobView> job(JobId) override;
  Status cancel(JobId) override;
  Result<std::vector<TaskManagerView>> task_managers() override;
  Result<std::vector<LogFileView>> logs(std::optional<TaskManagerId>) override;
  Result<std::string> log_text(std::optional<TaskManagerId>, const std::string& name) override;
  Result<std::vector<ThreadView>> threads(std::optional<TaskManagerId>) override;
  std::string architecture() const override;
  Status shut_down() override;
  ProcessNumbers process() override { return process_.read(); }
  std::vector<std::pair<std::string, std::string>> job_manager_settings() const override {
    return settings_;
  }

 private:
  template <class Answer, class Ask>
  Answer ask(Ask ask);
  /// kNotFound when it is not there; `what` of it is on its own machine when that is another one.
  Result<TaskManagerView> on_this_machine(TaskManagerId, const std::string& what);
  Result<std::string> log_path(std::optional<TaskManagerId>);

  JobManager& job_manager_;
  Executor& main_;
  const Clock& clock_;
  FileSystem& files_;
  const Process own_;
  ProcessStatus process_;
  std::vector<std::pair<std::string, std::string>> settings_;
};

}  // namespace freshet
