#include <fmt/format.h>

#include "runtime/app/cluster_supervisor.h"
#include "runtime/app/exit_reporter.h"
#include "runtime/app/host_id.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/log.h"
#include "runtime/cli/command.h"

namespace freshet::cli {

namespace {

constexpr Duration kPollWhileStarting = 5ms;
constexpr Duration kPoll = 100ms;

struct SupervisorOptions {
  std::string name;
  std::string state_directory;
  uint32_t task_managers = 1;
  uint32_t slots = 1;
  std::string host;
  uint16_t port = 0;
  bool no_restart = false;
  bool allow_faults = false;
  std::vector<std::string> settings;
};

/// Faults are for one life, unless there is a record of those that have happened: a process that
/// one has ended would otherwise meet it again and again.
void separate_faults(const std::vector<std::string>& settings, bool recorded,
                     ClusterSupervisor::Options& to) {
  const std::string faults = fmt::format("{}=", config::kTestFaults.name);
  for (size_t i = 0; i + 1 < settings.size(); i += 2) {  // `-D key=value`
    const bool first = !recorded && settings[i + 1].starts_with(faults);
    auto& arguments = first ? to.first_arguments : to.arguments;
    arguments.insert(arguments.end(), {settings[i], settings[i + 1]});
  }
}

Result<ClusterSupervisor::Options> supervisor_options(const SupervisorOptions& options) {
  ClusterSupervisor::Options result;
  ASSIGN_OR_RETURN(result.program, own_program_path());
  result.task_managers = options.task_managers;
  result.slots = options.slots;
  result.control = Address{options.host, options.port};
  result.restart = !options.no_restart;
  ASSIGN_OR_RETURN(const Configuration configuration, parse_settings(options.settings));
  HandedSettings settings = hand_on(configuration);
  // Its settings are all here: a file would add what the user's command did not read.
  result.arguments.push_back("--no-config");
  if (options.allow_faults) result.arguments.push_back("--allow-faults");
  separate_faults(settings.arguments, configuration.has(config::kTestFaultsRecord), result);
  result.environment = std::move(settings.environment);
  return result;
}

Status supervise(const SupervisorOptions& options) {
  ASSIGN_OR_RETURN(const auto directory,
                   ClusterDirectory::of(options.state_directory, options.name));
  ASSIGN_OR_RETURN(const Configuration configuration, parse_settings(options.settings));
  ASSIGN_OR_RETURN(const LogLevel level, parse_log_level(configuration.text(config::kLogLevel)));
  RETURN_IF_ERROR(log_to_file(directory.log_of(std::string(kSupervisorName)), level));
  SignalWaiter signals;
  const auto processes = make_system_process_host();
  const auto files = make_local_file_system();
  const auto clock = make_system_clock();
  ASSIGN_OR_RETURN(auto supervisor_options_value, supervisor_options(options));
  ExitReporter reporter(configuration.text(config::kSecret), host_id(*files), *clock);
  supervisor_options_value.on_task_manager_ended = [&reporter](const Address& job_manager,
                                                               const ProcessExit& exit) {
    reporter.report(job_manager, exit);
  };
  ClusterSupervisor supervisor(supervisor_options_value, directory, boot_id(*files), *processes,
                               *files, *clock);
  Status first_error;
  while (!supervisor.ended()) {
    const Status status = supervisor.step();
    if (!status.ok() && first_error.ok()) {
      first_error = status;
      LOG_ERROR("cluster_failed", {{"name", options.name}, {"cause", status}});
      supervisor.stop();
    }
    const auto signal = signals.wait(supervisor.ready() ? kPoll : kPollWhileStarting);
    if (signal == SignalWaiter::Signal::kStop || signal == SignalWaiter::Signal::kInterrupt) {
      supervisor.stop();
    }
  }
  LOG_INFO("cluster_ended", {{"name", options.name}});
  return first_error;
}

}  // namespace

void add_supervisor_command(CLI::App& parser, std::vector<Command>& commands) {
  auto options = std::make_shared<SupervisorOptions>();
  CLI::App* const supervisor =
      parser.add_subcommand("supervisor", "Started by 'freshet cluster start'");
  supervisor->group("");  // Not shown in --help.
  supervisor->add_option("--name", options->name)->required();
  supervisor->add_option("--state-dir", options->state_directory)->required();
  supervisor->add_option("--taskmanagers", options->task_managers)->required();
  supervisor->add_option("--slots", options->slots)->required();
  supervisor->add_option("--host", options->host)->required();
  supervisor->add_option("--port", options->port)->required();
  supervisor->add_flag("--no-restart", options->no_restart);
  supervisor->add_flag("--allow-faults", options->allow_faults);
  add_settings(*supervisor, options->settings);
  commands.push_back({supervisor, [options] { return report(supervise(*options)); }});
}

}  // namespace freshet::cli
