#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobmanager/cluster_view.h"
#include "runtime/base/status.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

struct LogFileView {
  std::string name;
  uint64_t size_bytes = 0;
  EpochMillis modified = kNever;
};

/// One of a process, as the kernel sees it now.
struct ThreadView {
  std::string name;
  std::string text;  // A line: what it does, and where it waits.
};

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
  /// Logs of a TaskManager's process, or of the JobManager's when there is none. kNotFound when it
  /// has no such file, or none that can be read from here.
  virtual Result<std::vector<LogFileView>> logs(std::optional<TaskManagerId>) = 0;
  /// The end of one of them. `log` and `stdout` are the present ones.
  virtual Result<std::string> log_text(std::optional<TaskManagerId>, const std::string& name) = 0;
  /// Of the same process, in the order in which they began. kNotFound when it is not on this
  /// machine.
  virtual Result<std::vector<ThreadView>> threads(std::optional<TaskManagerId>) = 0;
  /// The cluster is to end: kFailedPrecondition when it cannot be told to.
  virtual Status shut_down() = 0;
  /// Of the JobManager's process.
  virtual ProcessNumbers process() = 0;
  /// Of the JobManager's machine: `x86_64`.
  virtual std::string architecture() const = 0;
  /// Those that were given, without secrets.
  virtual std::vector<std::pair<std::string, std::string>> job_manager_settings() const = 0;
};

}  // namespace freshet
