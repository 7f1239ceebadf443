#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "network/asio_transport.h"
#include "runtime/app/fault_gate.h"
#include "runtime/app/job_manager_process.h"
#include "runtime/app/metrics_endpoint.h"
#include "runtime/app/network_memory.h"
#include "runtime/app/port_file.h"
#include "runtime/app/security.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/cluster_tools.h"
#include "runtime/cli/command.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

using Json = nlohmann::ordered_json;

struct ClusterOptions {
  ClusterName cluster;
  std::string task_managers = "1";
  // Empty: as the settings say.
  std::string slots;
  std::string host;
  std::string port;
  std::string timeout = format_duration(ClusterControl::kStartPatience);
  bool no_restart = false;
  bool allow_faults = false;
  Answer answer;
  SettingsOptions settings;
};

/// Nothing while it has none.
std::optional<PortFile> ports_of(const ClusterProcess& process, const ClusterDirectory& directory) {
  if (!process.running) return std::nullopt;
  const auto text = make_local_file_system()->read_all(directory.port_file_of(process.name), 4096);
  if (!text.ok()) return std::nullopt;
  const auto ports = parse_port_file(*text);
  return ports.ok() ? std::optional(*ports) : std::nullopt;
}

void print_processes(const ClusterState& state, const ClusterDirectory& directory,
                     bool supervisor_running) {
  fmt::print("{:<16} {:>8}  {:<8} {:<22} {:>8}  {}\n", "PROCESS", "PID", "STATE", "PORT",
             "RESTARTS", "LOG");
  fmt::print("{:<16} {:>8}  {:<8} {:<22} {:>8}  {}\n", kSupervisorName, state.supervisor.pid,
             supervisor_running ? "running" : "dead", "-", "-",
             directory.log_of(std::string(kSupervisorName)));
  for (const ClusterProcess& one : state.processes) {
    fmt::print("{:<16} {:>8}  {:<8} {:<22} {:>8}  {}\n", one.name, one.process.pid,
               one.running ? "running" : "dead", one.address ? one.address->to_string() : "-",
               one.restarts, directory.log_of(one.name));
  }
  for (const ClusterProcess& one : state.processes) {
    const auto ports = ports_of(one, directory);
    if (!ports) continue;
    if (ports->rest) fmt::print("REST API at http://{}\n", ports->rest->to_string());
    if (ports->metrics) fmt::print("Metrics of {} at {}\n", one.name, metrics_url(*ports->metrics));
  }
}

Json cluster_json(const ClusterState& state, const ClusterDirectory& directory,
                  bool supervisor_running) {
  const std::string supervisor(kSupervisorName);
  Json json = {{"name", directory.name()}, {"directory", directory.path()}};
  json["processes"] = Json::array({{{"name", supervisor},
                                    {"pid", state.supervisor.pid},
                                    {"running", supervisor_running},
                                    {"log", directory.log_of(supervisor)}}});
  for (const ClusterProcess& one : state.processes) {
    Json process = {{"name", one.name},
                    {"pid", one.process.pid},
                    {"running", one.running},
                    {"restarts", one.restarts},
                    {"address", one.address ? Json(one.address->to_string()) : Json()},
                    {"log", directory.log_of(one.name)},
                    {"output", directory.output_of(one.name)}};
    const auto ports = ports_of(one, directory);
    if (ports && ports->rest) process["rest"] = "http://" + ports->rest->to_string();
    if (ports && ports->metrics) process["metrics"] = metrics_url(*ports->metrics);
    json["processes"].push_back(std::move(process));
  }
  return json;
}

std::vector<std::string> supervisor_arguments(const ClusterOptions& options,
                                              const ClusterDirectory& directory,
                                              const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {
      "supervisor",     "--name",         directory.name(),      "--state-dir",
      directory.base(), "--taskmanagers", options.task_managers, "--slots",
      options.slots,    "--host",         options.host,          "--port",
      options.port};
  if (options.no_restart) arguments.push_back("--no-restart");
  if (options.allow_faults) arguments.push_back("--allow-faults");
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  return arguments;
}

Status check_registered(const Address& address, const Configuration& configuration,
                        uint32_t task_managers, const Clock& clock) {
  const auto transport = make_asio_transport({});
  ControlClient::Options options;
  options.job_manager = address;
  options.secret = configuration.text(config::kSecret);
  options.connect_timeout = 1s;
  options.request_timeout = 1s;
  ASSIGN_OR_RETURN(const auto client, ControlClient::connect(options, *transport, clock));
  ASSIGN_OR_RETURN(const auto registered, client->task_managers());
  if (registered.size() >= task_managers) return Status();
  return unavailable(
      fmt::format("{} of {} TaskManagers have registered", registered.size(), task_managers));
}

/// An option that was not given is what the setting says; the control port is any free one unless
/// the setting was given.
ClusterOptions with_settings(ClusterOptions options, const Configuration& configuration) {
  if (options.slots.empty()) options.slots = configuration.text(config::kTaskSlots);
  if (options.host.empty()) options.host = configuration.text(config::kBindHost);
  if (options.port.empty()) {
    const bool given = configuration.has(config::kRpcPort);
    options.port = given ? configuration.text(config::kRpcPort) : "0";
  }
  return options;
}

Status check_data_ports(const Configuration& configuration, uint32_t task_managers) {
  ASSIGN_OR_RETURN(const int64_t data_port, configuration.integer(config::kDataPort));
  if (data_port != 0 && task_managers > 1) {
    return invalid_argument(fmt::format("{}: {} TaskManagers on one machine cannot share port {}",
                                        config::kDataPort.name, task_managers, data_port));
  }
  ASSIGN_OR_RETURN(const auto bound, configuration.ports(config::kDataBindPort));
  if (!bound || bound->first == 0) return Status();
  const uint32_t count = bound->last - bound->first + 1u;
  if (count >= task_managers) return Status();
  return invalid_argument(fmt::format(
      "{}: {} TaskManagers on one machine need as many ports, and '{}' has {}",
      config::kDataBindPort.name, task_managers, configuration.text(config::kDataBindPort), count));
}

Status check_settings(const Configuration& configuration, const std::string& host,
                      uint32_t task_managers, bool allow_faults) {
  RETURN_IF_ERROR(refuse_settings_of_jobs(configuration));
  RETURN_IF_ERROR(check_bind({host, 0}, configuration));
  RETURN_IF_ERROR(check_faults(configuration, allow_faults));
  RETURN_IF_ERROR(JobManagerProcess::check_settings(configuration));
  RETURN_IF_ERROR(network_memory(configuration, *make_local_file_system(), task_managers).status());
  RETURN_IF_ERROR(check_metrics_ports(configuration, 1 + task_managers));
  return check_data_ports(configuration, task_managers);
}

Status start_cluster(const ClusterOptions& given) {
  ASSIGN_OR_RETURN(const GivenSettings read, read_settings(given.settings, is_read_by_processes));
  const Configuration& configuration = read.configuration;
  const ClusterOptions options = with_settings(given, configuration);
  ASSIGN_OR_RETURN(const auto directory, options.cluster.directory());
  ASSIGN_OR_RETURN(const uint32_t task_managers,
                   parse_number("--taskmanagers", options.task_managers, 1, kTaskManagersMax));
  ASSIGN_OR_RETURN(const uint32_t slots,
                   parse_number("--slots", options.slots, config::kTaskSlots));
  RETURN_IF_ERROR(parse_number("--port", options.port, config::kRpcPort).status());
  RETURN_IF_ERROR(check_settings(configuration, options.host, task_managers, options.allow_faults));
  ClusterControl::StartOptions start;
  const auto patience = parse_duration(options.timeout);
  if (!patience.ok()) return patience.status().with_context("--timeout");
  start.patience = *patience;
  ClusterTools tools;
  ASSIGN_OR_RETURN(start.program, own_program_path());
  HandedSettings settings = hand_on(configuration);
  start.arguments = supervisor_arguments(options, directory, settings.arguments);
  start.environment = std::move(settings.environment);
  start.processes = 1 + task_managers;
  start.check_registered = [&](const Address& address) {
    return check_registered(address, configuration, task_managers, *tools.clock);
  };
  ASSIGN_OR_RETURN(const ClusterState state, tools.control(directory).start(start));
  if (options.answer.json()) return options.answer.give(cluster_json(state, directory, true));
  fmt::print("Cluster '{}' is running: {} TaskManager{} with {} slot{} each.\n", directory.name(),
             task_managers, task_managers == 1 ? "" : "s", slots, slots == 1 ? "" : "s");
  print_processes(state, directory, true);
  fmt::print(
      "\nWhat jobs print goes to the .out files beside the logs of the TaskManagers.\n"
      "Next:\n  freshet run MODULE -p {}{} -- ARGS\n  freshet list{}\n  freshet cluster stop{}\n",
      static_cast<uint64_t>(task_managers) * slots, options_for(directory, "--cluster"),
      options_for(directory, "--cluster"), options_for(directory, "--name"));
  return Status();
}

Status stop_cluster(const ClusterOptions& options) {
  ASSIGN_OR_RETURN(const auto directory, options.cluster.directory());
  ClusterTools tools;
  RETURN_IF_ERROR(tools.control(directory).stop());
  if (options.answer.json())
    return options.answer.give({{"name", directory.name()}, {"stopped", true}});
  fmt::print("Cluster '{}' is stopped.\n", directory.name());
  return Status();
}

/// A cluster whose supervisor has ended is shown, too.
Result<int> show_cluster(const ClusterOptions& options) {
  ASSIGN_OR_RETURN(const auto directory, options.cluster.directory());
  ClusterTools tools;
  ASSIGN_OR_RETURN(const ClusterState state, tools.control(directory).status());
  Status ended;
  if (!tools.processes->alive(state.supervisor)) {
    ended =
        unavailable(fmt::format("its supervisor has ended; clean up with 'freshet cluster stop{}'",
                                options_for(directory, "--name")));
  }
  if (options.answer.json()) {
    Json json = cluster_json(state, directory, ended.ok());
    if (!ended.ok()) json["errors"] = {ended.message()};
    RETURN_IF_ERROR(options.answer.give(json));
  } else {
    fmt::print("Cluster '{}' in {}\n", directory.name(), directory.path());
    print_processes(state, directory, ended.ok());
  }
  return report(ended);
}

int status_command(const ClusterOptions& options) {
  const auto code = show_cluster(options);
  return code.ok() ? *code : options.answer.report(code.status());
}

void add_start_options(CLI::App& parser, ClusterOptions& options) {
  options.cluster.add_options(parser);
  parser.add_option("--taskmanagers", options.task_managers, "How many TaskManagers (default: 1)")
      ->type_name("K");
  parser
      .add_option("--slots", options.slots,
                  "Slots of each TaskManager (default: taskmanager.numberOfTaskSlots, 1)")
      ->type_name("S");
  parser
      .add_option("--host", options.host,
                  "Address to bind to; beyond loopback only with security.secret (default: "
                  "bind-host, 127.0.0.1)")
      ->type_name("HOST");
  parser
      .add_option("--port", options.port,
                  "Control port of the JobManager (default: jobmanager.rpc.port if given, else any "
                  "free one)")
      ->type_name("P");
  parser
      .add_option("--timeout", options.timeout,
                  "How long to wait until all processes answer (default: 30 s)")
      ->type_name("TIME");
  parser.add_flag("--no-restart", options.no_restart, "Leave a process dead that has ended");
  parser.add_flag("--allow-faults", options.allow_faults,
                  "Allow -D test.faults, which breaks processes on purpose");
  options.answer.add_flag(parser);
  add_settings(parser, options.settings);
}

}  // namespace

void add_cluster_commands(CLI::App& parser, std::vector<Command>& commands) {
  CLI::App* const cluster =
      parser.add_subcommand("cluster", "Start, stop and show clusters of this machine");
  cluster->require_subcommand(1);
  cluster->footer(
      "Examples:\n  freshet cluster start --taskmanagers 2 --slots 2\n  freshet cluster status\n"
      "  freshet cluster add\n  freshet cluster kill taskmanager-1\n  freshet cluster logs -f\n"
      "  freshet cluster start --name second\n  freshet cluster stop --name second");

  auto start = std::make_shared<ClusterOptions>();
  CLI::App* const start_parser = cluster->add_subcommand(
      "start", "Start a JobManager and TaskManagers, kept alive by a supervisor");
  add_start_options(*start_parser, *start);
  start_parser->footer("Example:\n  freshet cluster start --taskmanagers 3 --slots 2");
  commands.push_back(
      {start_parser, [start] { return start->answer.report(start_cluster(*start)); }});

  auto stop = std::make_shared<ClusterOptions>();
  CLI::App* const stop_parser =
      cluster->add_subcommand("stop", "End a cluster: only what it started");
  stop->cluster.add_options(*stop_parser);
  stop->answer.add_flag(*stop_parser);
  stop_parser->footer("Examples:\n  freshet cluster stop\n  freshet cluster stop --name second");
  commands.push_back({stop_parser, [stop] { return stop->answer.report(stop_cluster(*stop)); }});

  auto status = std::make_shared<ClusterOptions>();
  CLI::App* const status_parser =
      cluster->add_subcommand("status", "Show the processes of a cluster");
  status->cluster.add_options(*status_parser);
  status->answer.add_flag(*status_parser);
  status_parser->footer("Examples:\n  freshet cluster status\n  freshet cluster status --json");
  commands.push_back({status_parser, [status] { return status_command(*status); }});

  add_cluster_member_commands(*cluster, commands);
  add_cluster_log_command(*cluster, commands);
}

}  // namespace freshet::cli
