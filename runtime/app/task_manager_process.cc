#include "runtime/app/task_manager_process.h"

#include <fmt/format.h>

#include <cstdlib>

#include "network/asio_transport.h"
#include "network/unix_socket.h"
#include "runtime/api/dl_module_loader.h"
#include "runtime/app/fault_gate.h"
#include "runtime/app/metrics_endpoint.h"
#include "runtime/app/network_memory.h"
#include "runtime/app/security.h"
#include "runtime/base/crash_handler.h"
#include "runtime/base/log.h"
#include "runtime/base/random.h"

namespace freshet {

namespace {

constexpr std::string_view kSocketBegin = "/data-";
constexpr std::string_view kSocketEnd = ".socket";

/// Of TaskManagers that were killed and had the same directory.
void remove_stale_sockets(const std::string& directory, FileSystem& files) {
  const auto entries = files.list(directory);
  if (!entries.ok()) return;
  for (const FileInfo& entry : *entries) {
    const bool ours = entry.is_special && entry.path.ends_with(kSocketEnd) &&
                      entry.path.starts_with(directory + std::string(kSocketBegin));
    const Result<Address> address = Address::parse("unix:" + entry.path);
    if (ours && address.ok() && address->is_unix()) (void)remove_stale_unix_socket(*address);
  }
}

/// A socket in the TaskManager's own directory, which nobody else can enter; without a file when
/// that path is too long or relative. Then others of this machine can see it, but the transport
/// refuses them. Its name is its own: elsewhere, as in another container, the path leads nowhere.
Address new_unix_address(const std::string& directory) {
  const auto random = make_system_random();
  const std::string id = fmt::format("{:016x}", random->next());
  const Result<Address> in_directory =
      Address::parse(fmt::format("unix:{}{}{}{}", directory, kSocketBegin, id, kSocketEnd));
  if (in_directory.ok() && in_directory->is_unix()) return *in_directory;
  Address address;
  address.unix_socket = "@freshet-data-" + id;
  return address;
}

struct DataPorts {
  PortRange bound;        // The first of them that is free.
  uint16_t external = 0;  // That others are told; 0: the one that is bound.
};

Result<DataPorts> data_ports(const Configuration& configuration) {
  ASSIGN_OR_RETURN(const int64_t port, configuration.integer(config::kDataPort));
  ASSIGN_OR_RETURN(const auto bound, configuration.ports(config::kDataBindPort));
  const auto told = static_cast<uint16_t>(port);
  if (!bound) return DataPorts{{told, told}, 0};
  return DataPorts{*bound, told};
}

/// Its connections are among what was closed: only another process can go on.
void end_unless_intact(const DescriptorWatch& watch) {
  if (watch.intact()) return;
  DescriptorWatch::occupy_free_numbers();
  note_abort_reason("code of a job closed file descriptors of this process");
  std::abort();
}

}  // namespace

TaskManagerProcess::TaskManagerProcess(std::unique_ptr<FileSystem> files)
    : clock_(make_system_clock()),
      files_(std::move(files)),
      modules_(std::make_unique<DlModuleLoader>(*files_)) {}

TaskManagerProcess::~TaskManagerProcess() { set_crash_listener(nullptr); }

Status TaskManagerProcess::check(const Options& options) {
  RETURN_IF_ERROR(
      check_bind({options.configuration.text(config::kBindHost), 0}, options.configuration));
  RETURN_IF_ERROR(options.configuration.ports(config::kPrometheusPort).status());
  RETURN_IF_ERROR(network_memory(options.configuration, *make_local_file_system()).status());
  return check_faults(options.configuration, options.allow_faults);
}

Result<std::unique_ptr<TaskManagerProcess>> TaskManagerProcess::start(const Options& options) {
  RETURN_IF_ERROR(check(options));
  ASSIGN_OR_RETURN(const DataPorts ports, data_ports(options.configuration));
  ASSIGN_OR_RETURN(const int64_t slots, options.configuration.integer(config::kTaskSlots));
  TaskManagerRunner::Options runner;
  runner.configuration = options.configuration;
  runner.job_manager = options.job_manager;
  runner.bind = {options.configuration.text(config::kBindHost), ports.bound.first};
  runner.bind_port_last = ports.bound.last;
  runner.external_data_port = ports.external;
  ASSIGN_OR_RETURN(bool unix_sockets, options.configuration.boolean(config::kUnixSockets));
  if (ports.external != 0) unix_sockets = false;
  runner.name = options.name;
  runner.state_directory = options.state_directory;
  runner.log_path = options.log_path;
  runner.slots = static_cast<uint32_t>(slots);
  ASSIGN_OR_RETURN(auto files,
                   files_of(options.configuration, options.allow_faults, options.state_directory));
  std::unique_ptr<TaskManagerProcess> process(new TaskManagerProcess(std::move(files)));
  runner.check_process = [&watch = process->descriptors_] { end_unless_intact(watch); };
  if (unix_sockets) {
    remove_stale_sockets(options.state_directory, *process->files_);
    runner.unix_bind = new_unix_address(options.state_directory);
  }
  ASSIGN_OR_RETURN(process->faults_, faults_of(options.configuration, options.allow_faults,
                                               options.name, FaultSide::kTaskManager));
  process->transport_ = make_asio_transport({});
  ASSIGN_OR_RETURN(
      process->runner_,
      TaskManagerRunner::start(runner, *process->transport_, *process->clock_, *process->files_,
                               *process->modules_, process->faults_.get()));
  ASSIGN_OR_RETURN(process->metrics_,
                   start_metrics_server(options.configuration, MetricScope::kTaskManager,
                                        process->runner_->metric_labels(),
                                        process->runner_->metrics(), *process->clock_));
  set_crash_listener([runner = process->runner_.get()](const CrashReport& crash) {
    if (runner->report_crash(crash)) return;
    Transport* const transport = make_asio_transport({}).release();  // This is the end.
    runner->say_last_words(crash, *transport);
  });
  LOG_INFO(
      "task_manager_started",
      {{"name", options.name}, {"address", process->data_address().to_string()}, {"slots", slots}});
  return process;
}

void TaskManagerProcess::stop() {
  metrics_.reset();
  set_crash_listener(nullptr);
  runner_->stop();
  LOG_INFO("task_manager_stopped");
}

}  // namespace freshet
