#include "runtime/app/task_manager_process.h"

#include "network/asio_transport.h"
#include "runtime/api/dl_module_loader.h"
#include "runtime/app/fault_gate.h"
#include "runtime/app/network_memory.h"
#include "runtime/app/security.h"
#include "runtime/base/log.h"

namespace freshet {

TaskManagerProcess::TaskManagerProcess()
    : clock_(make_system_clock()),
      files_(make_local_file_system()),
      modules_(std::make_unique<DlModuleLoader>(*files_)) {}

TaskManagerProcess::~TaskManagerProcess() = default;

Status TaskManagerProcess::check(const Options& options) {
  RETURN_IF_ERROR(
      check_bind({options.configuration.text(config::kBindHost), 0}, options.configuration));
  RETURN_IF_ERROR(network_memory(options.configuration, *make_local_file_system()).status());
  return faults_of(options.configuration, options.allow_faults).status();
}

Result<std::unique_ptr<TaskManagerProcess>> TaskManagerProcess::start(const Options& options) {
  RETURN_IF_ERROR(check(options));
  ASSIGN_OR_RETURN(const int64_t port, options.configuration.integer(config::kDataPort));
  ASSIGN_OR_RETURN(const int64_t slots, options.configuration.integer(config::kTaskSlots));
  TaskManagerRunner::Options runner;
  runner.configuration = options.configuration;
  runner.job_manager = options.job_manager;
  runner.bind = {options.configuration.text(config::kBindHost), static_cast<uint16_t>(port)};
  runner.name = options.name;
  runner.state_directory = options.state_directory;
  runner.log_path = options.log_path;
  runner.slots = static_cast<uint32_t>(slots);
  std::unique_ptr<TaskManagerProcess> process(new TaskManagerProcess());
  ASSIGN_OR_RETURN(process->faults_, faults_of(options.configuration, options.allow_faults));
  process->transport_ = make_asio_transport({});
  ASSIGN_OR_RETURN(
      process->runner_,
      TaskManagerRunner::start(runner, *process->transport_, *process->clock_, *process->files_,
                               *process->modules_, process->faults_.get()));
  LOG_INFO(
      "task_manager_started",
      {{"name", options.name}, {"address", process->data_address().to_string()}, {"slots", slots}});
  return process;
}

void TaskManagerProcess::stop() {
  runner_->stop();
  LOG_INFO("task_manager_stopped");
}

}  // namespace freshet
