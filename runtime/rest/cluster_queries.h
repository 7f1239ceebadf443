#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobmanager/cluster_view.h"
#include "runtime/base/status.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

/// What the REST API asks a JobManager. Thread-safe; each function waits for the answer, for a
/// bounded time: kDeadlineExceeded when none came, kUnavailable when the JobManager ends.
class ClusterQueries {
 public:
  virtual ~ClusterQueries() = default;

  /// Wall-clock time.
  virtual EpochMillis now() const = 0;

  /// In the order of submission.
  virtual Result<std::vector<JobSummaryView>> jobs() = 0;
  /// kNotFound when there is none.
  virtual Result<JobView> job(JobId) = 0;
  virtual Status cancel(JobId) = 0;
  /// In the order of registration.
  virtual Result<std::vector<TaskManagerView>> task_managers() = 0;
  /// Of the JobManager's process.
  virtual ProcessNumbers process() = 0;
  /// Those that were given, without secrets.
  virtual std::vector<std::pair<std::string, std::string>> job_manager_settings() const = 0;
};

}  // namespace freshet
