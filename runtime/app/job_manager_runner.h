#pragma once

#include <memory>
#include <string>

#include "jobmanager/job_manager.h"
#include "network/transport.h"
#include "runtime/app/job_manager_queries.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"

namespace freshet {

/// A JobManager on threads of its own, over any transport.
class JobManagerRunner {
 public:
  struct Options {
    Configuration configuration;
    Address bind;
    std::string state_directory;
    JobManagerQueries::Process process;
    Duration explanation_patience{};  // See JobManager::Options.
  };

  /// `faults` may be null.
  JobManagerRunner(const Options&, Transport&, Clock&, FileSystem&, Faults* faults);
  ~JobManagerRunner();

  /// Opens the control port.
  Result<Address> start();

  /// For the REST API; until stop().
  ClusterQueries& queries() { return queries_; }

  /// Waits until all connections are closed and the threads have ended. Once or not at all.
  void stop();

 private:
  const std::unique_ptr<Random> random_;
  const std::unique_ptr<Faults> no_faults_;
  ThreadExecutor main_;
  ThreadExecutor io_;
  JobManager job_manager_;
  JobManagerQueries queries_;
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace freshet
