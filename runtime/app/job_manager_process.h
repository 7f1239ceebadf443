#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/app/job_manager_runner.h"
#include "runtime/app/module_uploads.h"
#include "runtime/base/configuration.h"
#include "runtime/rest/job_manager_metrics.h"
#include "runtime/rest/metrics_server.h"
#include "runtime/rest/rest_server.h"

namespace freshet {

/// A JobManager as a process has it: over TCP, with the machine's clock and files.
class JobManagerProcess {
 public:
  struct Options {
    Configuration configuration;
    std::string state_directory;
    std::string log_path;
    std::function<void()> shut_down;  // See JobManagerQueries::Process.
    std::string program;              // `freshet`, for jobs that are uploaded; empty: none can be.
    bool allow_faults = false;
    bool supervised = false;  // Whoever started this process tells it how TaskManagers end.
  };

  /// What can be refused before anything is made: a bind beyond loopback, a fault. start() does it,
  /// too.
  static Status check(const Options&);
  /// The part of it that settings alone decide, wherever its ports are.
  static Status check_settings(const Configuration&);
  static Result<std::unique_ptr<JobManagerProcess>> start(const Options&);
  ~JobManagerProcess();

  Address control_address() const { return control_address_; }
  /// Where the REST API is; nullopt before it has started.
  std::optional<Address> rest_address() const {
    return rest_ ? std::optional(rest_->address()) : std::nullopt;
  }

  /// Where its metrics are for Prometheus; nullopt when nobody wants them.
  std::optional<Address> metrics_address() const {
    return metrics_ ? std::optional(metrics_->address()) : std::nullopt;
  }

  /// Closes the port and all connections, and waits for the threads.
  void stop();

 private:
  JobManagerProcess();

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<Faults> faults_;
  std::unique_ptr<Transport> transport_;
  /// Without it there is a JobManager all the same, unless its port was asked for.
  Status start_rest(const Options&);
  Status open_uploads(const Options&);
  Status start_metrics(const Configuration&);

  std::unique_ptr<JobManagerRunner> runner_;  // Ends before what it uses.
  std::unique_ptr<ModuleUploads> uploads_;
  std::unique_ptr<rest::RestServer> rest_;  // And this and all below before that.
  const std::shared_ptr<MetricRegistry> registry_ = std::make_shared<MetricRegistry>();
  std::shared_ptr<rest::JobManagerMetrics> own_metrics_;
  std::unique_ptr<rest::MetricsServer> metrics_;
  Address control_address_;
};

}  // namespace freshet
