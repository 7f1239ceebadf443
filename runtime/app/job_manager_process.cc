#include "runtime/app/job_manager_process.h"

#include "jobmanager/job_manager.h"
#include "network/asio_transport.h"
#include "runtime/app/fault_gate.h"
#include "runtime/app/metrics_endpoint.h"
#include "runtime/app/security.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {
/// A supervisor tells of a process that ended in milliseconds. Longer waits only who lost its
/// connection and lives: one that sees that its descriptors are gone, and describes its crash, on a
/// machine that is busy.
constexpr Duration kExplanationPatience = 3s;
}  // namespace

JobManagerProcess::JobManagerProcess()
    : clock_(make_system_clock()), files_(make_local_file_system()) {}

JobManagerProcess::~JobManagerProcess() = default;

Status JobManagerProcess::check(const Options& options) {
  RETURN_IF_ERROR(
      check_bind({options.configuration.text(config::kBindHost), 0}, options.configuration));
  RETURN_IF_ERROR(options.configuration.ports(config::kPrometheusPort).status());
  RETURN_IF_ERROR(check_settings(options.configuration));
  return check_faults(options.configuration, options.allow_faults);
}

Status JobManagerProcess::check_settings(const Configuration& configuration) {
  return JobManager::check(configuration);
}

Result<std::unique_ptr<JobManagerProcess>> JobManagerProcess::start(const Options& options) {
  RETURN_IF_ERROR(check(options));
  ASSIGN_OR_RETURN(const int64_t port, options.configuration.integer(config::kRpcPort));
  JobManagerRunner::Options runner;
  runner.configuration = options.configuration;
  runner.bind = {options.configuration.text(config::kBindHost), static_cast<uint16_t>(port)};
  runner.state_directory = options.state_directory;
  runner.process = {options.log_path, options.shut_down};
  if (options.supervised) runner.explanation_patience = kExplanationPatience;
  std::unique_ptr<JobManagerProcess> process(new JobManagerProcess());
  ASSIGN_OR_RETURN(process->faults_, faults_of(options.configuration, options.allow_faults,
                                               "jobmanager", FaultSide::kJobManager));
  process->transport_ = make_asio_transport({});
  process->runner_ = std::make_unique<JobManagerRunner>(
      runner, *process->transport_, *process->clock_, *process->files_, process->faults_.get());
  ASSIGN_OR_RETURN(process->control_address_, process->runner_->start());
  LOG_INFO("job_manager_started", {{"address", process->control_address_.to_string()}});
  RETURN_IF_ERROR(process->start_rest(options));
  RETURN_IF_ERROR(process->start_metrics(options.configuration));
  return process;
}

Status JobManagerProcess::open_uploads(const Options& options) {
  if (options.program.empty()) return Status();
  ASSIGN_OR_RETURN(auto uploads, ModuleUploads::options_of(options.configuration));
  uploads.directory = options.state_directory + "/uploads";
  uploads.program = options.program;
  uploads.job_manager = control_address_;
  if (control_address_.is_wildcard())
    uploads.job_manager.host =
        control_address_.host.find(':') == std::string::npos ? "127.0.0.1" : "::1";
  ASSIGN_OR_RETURN(uploads_, ModuleUploads::open(std::move(uploads), *files_, *clock_));
  return Status();
}

Status JobManagerProcess::start_rest(const Options& options) {
  const Configuration& configuration = options.configuration;
  const std::string& host = configuration.text(config::kBindHost);
  ASSIGN_OR_RETURN(const int64_t port, configuration.integer(config::kRestPort));
  RETURN_IF_ERROR(open_uploads(options));
  const Address wanted{host, static_cast<uint16_t>(port)};
  const rest::RestServer::Options access{uploads_.get(), configuration.text(config::kSecret)};
  auto rest = rest::RestServer::start(wanted, runner_->queries(), access);
  if (!rest.ok() && !configuration.has(config::kRestPort)) {
    LOG_WARN("rest_port_in_use", {{"address", wanted.to_string()}});
    rest = rest::RestServer::start({host, 0}, runner_->queries(), access);
  }
  if (!rest.ok()) return rest.status().with_context(std::string(config::kRestPort.name));
  rest_ = *std::move(rest);
  LOG_INFO("rest_started", {{"address", rest_->address().to_string()}});
  return Status();
}

Status JobManagerProcess::start_metrics(const Configuration& configuration) {
  const MetricLabels labels = {{"host", host_label(control_address_)}};
  own_metrics_ = std::make_shared<rest::JobManagerMetrics>(labels, runner_->queries());
  registry_->add(own_metrics_);
  ASSIGN_OR_RETURN(metrics_, start_metrics_server(configuration, MetricScope::kJobManager, labels,
                                                  registry_, *clock_));
  return Status();
}

void JobManagerProcess::stop() {
  metrics_.reset();
  own_metrics_.reset();
  if (uploads_) uploads_->stop();
  rest_.reset();
  uploads_.reset();
  runner_->stop();
  LOG_INFO("job_manager_stopped");
}

}  // namespace freshet
