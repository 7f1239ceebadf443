#include "runtime/app/job_manager_process.h"

#include "network/asio_transport.h"
#include "runtime/app/fault_gate.h"
#include "runtime/app/security.h"
#include "runtime/base/log.h"

namespace freshet {

JobManagerProcess::JobManagerProcess()
    : clock_(make_system_clock()), files_(make_local_file_system()) {}

JobManagerProcess::~JobManagerProcess() = default;

Status JobManagerProcess::check(const Options& options) {
  RETURN_IF_ERROR(
      check_bind({options.configuration.text(config::kBindHost), 0}, options.configuration));
  return faults_of(options.configuration, options.allow_faults).status();
}

Result<std::unique_ptr<JobManagerProcess>> JobManagerProcess::start(const Options& options) {
  RETURN_IF_ERROR(check(options));
  ASSIGN_OR_RETURN(const int64_t port, options.configuration.integer(config::kRpcPort));
  JobManagerRunner::Options runner;
  runner.configuration = options.configuration;
  runner.bind = {options.configuration.text(config::kBindHost), static_cast<uint16_t>(port)};
  runner.state_directory = options.state_directory;
  std::unique_ptr<JobManagerProcess> process(new JobManagerProcess());
  ASSIGN_OR_RETURN(process->faults_, faults_of(options.configuration, options.allow_faults));
  process->transport_ = make_asio_transport({});
  process->runner_ = std::make_unique<JobManagerRunner>(
      runner, *process->transport_, *process->clock_, *process->files_, process->faults_.get());
  ASSIGN_OR_RETURN(process->control_address_, process->runner_->start());
  LOG_INFO("job_manager_started", {{"address", process->control_address_.to_string()}});
  return process;
}

void JobManagerProcess::stop() {
  runner_->stop();
  LOG_INFO("job_manager_stopped");
}

}  // namespace freshet
