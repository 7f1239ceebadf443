#include <fmt/format.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "runtime/app/job_manager_process.h"
#include "runtime/app/local_state.h"
#include "runtime/app/port_file.h"
#include "runtime/app/process_host.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/app/task_manager_process.h"
#include "runtime/base/file_system.h"
#include "runtime/base/log.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

struct ProcessOptions {
  std::string job_manager = "127.0.0.1:6123";  // Of a TaskManager.
  std::string name;
  std::string slots;
  std::string host;
  std::string port;
  std::string state_directory;
  std::string log_file;
  std::string port_file;
  SettingsOptions settings;
  bool allow_faults = false;
  int parent = 0;
  Answer answer;
};

/// Options win over settings.
Result<Configuration> configuration_of(const ProcessOptions& options, const ConfigKey& port) {
  ASSIGN_OR_RETURN(const GivenSettings given,
                   read_settings(options.settings, is_read_by_processes));
  Configuration configuration = given.configuration;
  RETURN_IF_ERROR(refuse_settings_of_jobs(configuration));
  if (!options.host.empty()) {
    RETURN_IF_ERROR(configuration.set(std::string(config::kBindHost.name), options.host));
  }
  if (!options.port.empty()) {
    RETURN_IF_ERROR(parse_number("--port", options.port, port).status());
    RETURN_IF_ERROR(configuration.set(std::string(port.name), options.port));
  }
  if (!options.slots.empty()) {
    RETURN_IF_ERROR(parse_number("--slots", options.slots, config::kTaskSlots).status());
    RETURN_IF_ERROR(configuration.set(std::string(config::kTaskSlots.name), options.slots));
  }
  return configuration;
}

Status prepare_process(const ProcessOptions& options, const Configuration& configuration) {
  if (options.parent != 0) RETURN_IF_ERROR(end_with_parent(options.parent));
  ASSIGN_OR_RETURN(const LogLevel level, parse_log_level(configuration.text(config::kLogLevel)));
  if (options.log_file.empty()) {
    log_to_stderr(level);
    return Status();
  }
  return log_to_file(options.log_file, level);
}

Result<std::unique_ptr<ForegroundState>> state_of(const ProcessOptions& options,
                                                  std::string_view kind, FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string base, state_directory_or_default(options.state_directory));
  if (!options.state_directory.empty()) return ForegroundState::of_user(base, files);
  return ForegroundState::own(base + "/.foreground", kind, files);
}

Status say(const ProcessOptions& options, const char* what, const PortFile& ports) {
  const std::string address = ports.address.to_string();
  const std::string rest = ports.rest ? "http://" + ports.rest->to_string() : "";
  const std::string metrics = ports.metrics ? metrics_url(*ports.metrics) : "";
  if (options.answer.json()) {
    nlohmann::ordered_json json = {{"process", what}, {"address", address}};
    if (ports.rest) json["rest"] = rest;
    if (ports.metrics) json["metrics"] = metrics;
    return options.answer.give(json);
  }
  fmt::print("{} at {}\n", what, address);
  if (ports.rest) fmt::print("REST API at {}\n", rest);
  if (ports.metrics) fmt::print("Metrics at {}\n", metrics);
  std::fflush(stdout);
  return Status();
}

Status announce(const ProcessOptions& options, const char* what, const PortFile& ports) {
  RETURN_IF_ERROR(say(options, what, ports));
  if (options.port_file.empty()) return Status();
  return make_local_file_system()->write_atomically(options.port_file, to_text(ports));
}

/// Adds what to do when the port is taken. Names the setting: whoever wrote it into `cluster start`
/// cannot give this process its --port.
Status explain_start(const Status& why, const ConfigKey& port, const char* with_option) {
  if (why.code() != StatusCode::kAlreadyExists) return why;
  return already_exists(
      fmt::format("{}; choose another one with -D {}=PORT{}, or 0 for any free one", why.message(),
                  port.name, with_option));
}

Status run_job_manager(const ProcessOptions& options) {
  ASSIGN_OR_RETURN(const Configuration configuration, configuration_of(options, config::kRpcPort));
  SignalWaiter signals;
  RETURN_IF_ERROR(prepare_process(options, configuration));
  JobManagerProcess::Options process_options;
  process_options.configuration = configuration;
  process_options.log_path = options.log_file;
  // Under a supervisor it is that which ends the cluster; it would start this process again.
  process_options.shut_down = [whom = options.parent != 0 ? options.parent : own_process().pid] {
    static_cast<void>(::kill(whom, SIGTERM));
  };
  process_options.allow_faults = options.allow_faults;
  process_options.supervised = options.parent != 0;
  ASSIGN_OR_RETURN(process_options.program, own_program_path());
  RETURN_IF_ERROR(JobManagerProcess::check(process_options));
  const auto files = make_local_file_system();
  ASSIGN_OR_RETURN(const auto state, state_of(options, "jobmanager", *files));
  process_options.state_directory = state->path();
  const auto started = JobManagerProcess::start(process_options);
  if (!started.ok()) return explain_start(started.status(), config::kRpcPort, " or --port");
  const auto& process = *started;
  RETURN_IF_ERROR(
      announce(options, "JobManager",
               {process->control_address(), process->rest_address(), process->metrics_address()}));
  signals.wait_for_stop();
  process->stop();
  return Status();
}

Status run_task_manager(const ProcessOptions& options) {
  ASSIGN_OR_RETURN(const Configuration configuration, configuration_of(options, config::kDataPort));
  ASSIGN_OR_RETURN(const Address job_manager, Address::parse(options.job_manager));
  SignalWaiter signals;
  RETURN_IF_ERROR(prepare_process(options, configuration));
  TaskManagerProcess::Options process_options;
  process_options.configuration = configuration;
  process_options.job_manager = job_manager;
  process_options.name =
      options.name.empty() ? fmt::format("taskmanager-{}", own_process().pid) : options.name;
  process_options.log_path = options.log_file;
  process_options.allow_faults = options.allow_faults;
  RETURN_IF_ERROR(TaskManagerProcess::check(process_options));
  const auto files = make_local_file_system();
  ASSIGN_OR_RETURN(const auto state, state_of(options, "taskmanager", *files));
  process_options.state_directory = state->path();
  const auto started = TaskManagerProcess::start(process_options);
  if (!started.ok()) {
    const bool apart = !configuration.text(config::kDataBindPort).empty();
    return explain_start(started.status(), apart ? config::kDataBindPort : config::kDataPort,
                         apart ? "" : " (or --port of 'freshet taskmanager')");
  }
  const auto& process = *started;
  RETURN_IF_ERROR(
      announce(options, "TaskManager", {process->data_address(), {}, process->metrics_address()}));
  signals.wait_for_stop();
  process->stop();
  return Status();
}

/// Whoever only reads the log learns why the process ended, too.
int report_and_log(const ProcessOptions& options, const Status& status) {
  if (!status.ok()) LOG_ERROR("process_failed", {{"cause", status}});
  return options.answer.report(status);
}

void add_process_options(CLI::App& parser, ProcessOptions& options) {
  parser
      .add_option("--host", options.host,
                  "Address to bind to; beyond loopback only with security.secret")
      ->type_name("HOST");
  parser
      .add_option("--state-dir", options.state_directory,
                  "Where this process keeps its files (default: a directory that ends with it)")
      ->type_name("DIR");
  parser.add_option("--log-file", options.log_file, "Log to a file instead of standard error")
      ->type_name("FILE");
  parser
      .add_option("--port-file", options.port_file, "Write HOST:PORT there once the port is open")
      ->type_name("FILE");
  parser.add_flag("--allow-faults", options.allow_faults,
                  "Allow -D test.faults, which breaks this process on purpose");
  options.answer.add_flag(parser, "Where its ports are, as an object, for programs");
  parser.add_option("--parent", options.parent)->group("");
  add_settings(parser, options.settings);
}

}  // namespace

void add_process_commands(CLI::App& parser, std::vector<Command>& commands) {
  auto job_manager = std::make_shared<ProcessOptions>();
  CLI::App* const job_manager_parser =
      parser.add_subcommand("jobmanager", "Run a JobManager in the foreground");
  job_manager_parser
      ->add_option("--port", job_manager->port, "Control port; 0: any free one (default: 6123)")
      ->type_name("P");
  add_process_options(*job_manager_parser, *job_manager);
  job_manager_parser->footer("Example:\n  freshet jobmanager --port 6123");
  commands.push_back({job_manager_parser, [job_manager] {
                        job_manager->answer.reserve_output();
                        return report_and_log(*job_manager, run_job_manager(*job_manager));
                      }});

  auto task_manager = std::make_shared<ProcessOptions>();
  CLI::App* const task_manager_parser =
      parser.add_subcommand("taskmanager", "Run a TaskManager in the foreground");
  task_manager_parser
      ->add_option("--jobmanager", task_manager->job_manager,
                   "Control port of its JobManager (default: 127.0.0.1:6123)")
      ->type_name("HOST:PORT");
  task_manager_parser->add_option("--name", task_manager->name, "Name in logs and lists")
      ->type_name("NAME");
  task_manager_parser->add_option("--slots", task_manager->slots, "Slots it offers (default: 1)")
      ->type_name("S");
  task_manager_parser
      ->add_option("--port", task_manager->port, "Data port; 0: any free one (default: 0)")
      ->type_name("P");
  add_process_options(*task_manager_parser, *task_manager);
  task_manager_parser->footer(
      "Example:\n  freshet taskmanager --jobmanager 127.0.0.1:6123 --slots 4");
  commands.push_back({task_manager_parser, [task_manager] {
                        task_manager->answer.reserve_output();
                        return report_and_log(*task_manager, run_task_manager(*task_manager));
                      }});
}

}  // namespace freshet::cli
