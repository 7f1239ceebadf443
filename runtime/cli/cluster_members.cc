#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "network/asio_transport.h"
#include "runtime/app/control_client.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_selection.h"
#include "runtime/cli/cluster_tools.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

struct AddOptions {
  ClusterName cluster;
  SettingsOptions settings;
  std::string count = "1";
  std::string timeout = format_duration(ClusterControl::kStartPatience);
  Answer answer;
};

struct KillOptions {
  ClusterName cluster;
  std::string process;
  Answer answer;
};

/// Whether the TaskManagers that run have all registered.
Status check_registered(const ClusterState& state, const std::string& secret, const Clock& clock) {
  const ClusterProcess* const job_manager = state.find(kJobManagerName);
  if (job_manager == nullptr || !job_manager->address) return unavailable("no JobManager");
  const auto transport = make_asio_transport({});
  ControlClient::Options options;
  options.job_manager = *job_manager->address;
  options.secret = secret;
  options.connect_timeout = 1s;
  options.request_timeout = 1s;
  const auto client = ControlClient::connect(options, *transport, clock);
  // kFailedPrecondition is kept for who has not registered.
  if (!client.ok()) return unavailable(client.status().message());
  ASSIGN_OR_RETURN(const auto registered, (*client)->task_managers());
  for (const ClusterProcess& one : state.processes) {
    const auto has_name = [&](const TaskManagerReport& task_manager) {
      return task_manager.name == one.name;
    };
    if (&one == job_manager || !one.running) continue;
    if (std::none_of(registered.begin(), registered.end(), has_name))
      return failed_precondition(one.name + " has not registered");
  }
  return Status();
}

/// Who was added stays when the next one fails: `added` has them.
Status add_task_managers(const AddOptions& options, std::vector<std::string>& added) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(options.settings, is_read_by_jobs));
  const std::string secret = given.configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(const auto directory, options.cluster.directory());
  ASSIGN_OR_RETURN(const uint32_t count,
                   parse_number("--count", options.count, 1, kTaskManagersMax));
  const auto patience = parse_duration(options.timeout);
  if (!patience.ok()) return patience.status().with_context("--timeout");
  ClusterTools tools;
  ClusterControl control = tools.control(directory);
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const std::string name, control.add(
                                                 [&](const ClusterState& state) {
                                                   return check_registered(state, secret,
                                                                           *tools.clock);
                                                 },
                                                 *patience));
    added.push_back(name);
    if (!options.answer.json()) fmt::print("Cluster '{}' has {} now.\n", directory.name(), name);
  }
  return Status();
}

int add_command(const AddOptions& options) {
  std::vector<std::string> added;
  const Status status = add_task_managers(options, added);
  if (!options.answer.json() || (!status.ok() && added.empty()))
    return options.answer.report(status);
  nlohmann::ordered_json json = {{"name", options.cluster.name}, {"added", added}};
  if (!status.ok()) json["errors"] = {status.message()};
  const Status given = options.answer.give(json);
  return report(status.ok() ? given : status);
}

Status kill_process(const KillOptions& options) {
  ASSIGN_OR_RETURN(const auto directory, options.cluster.directory());
  ClusterTools tools;
  ASSIGN_OR_RETURN(const ClusterProcess killed, tools.control(directory).kill(options.process));
  if (options.answer.json()) {
    return options.answer.give(
        {{"name", directory.name()}, {"killed", killed.name}, {"pid", killed.process.pid}});
  }
  fmt::print(
      "Killed {} (process {}); its supervisor starts another one, unless the cluster has "
      "--no-restart.\n",
      killed.name, killed.process.pid);
  return Status();
}

}  // namespace

void ClusterName::add_options(CLI::App& parser) {
  parser
      .add_option("--name,--cluster", name,
                  "Name of the cluster on this machine (default: default)")
      ->type_name("NAME");
  parser
      .add_option("--state-dir", state_directory,
                  "Where clusters keep their files (default: $FRESHET_STATE_DIR, else "
                  "$XDG_STATE_HOME/freshet, else ~/.local/state/freshet)")
      ->type_name("DIR");
}

Result<ClusterDirectory> ClusterName::directory() const {
  return cluster_directory(state_directory, name);
}

void add_cluster_member_commands(CLI::App& cluster, std::vector<Command>& commands) {
  auto add = std::make_shared<AddOptions>();
  CLI::App* const add_parser = cluster.add_subcommand("add", "Start more TaskManagers");
  add->cluster.add_options(*add_parser);
  add_parser->add_option("--count", add->count, "How many (default: 1)")->type_name("N");
  add_parser
      ->add_option("--timeout", add->timeout,
                   "How long to wait until each has registered (default: 30 s)")
      ->type_name("TIME");
  add->answer.add_flag(*add_parser);
  add_settings(*add_parser, add->settings);
  add_parser->footer("Example:\n  freshet cluster add --count 2");
  commands.push_back({add_parser, [add] { return add_command(*add); }});

  auto kill = std::make_shared<KillOptions>();
  CLI::App* const kill_parser =
      cluster.add_subcommand("kill", "Kill one process of a cluster, as a crash would");
  kill_parser
      ->add_option("PROCESS", kill->process, "taskmanager-N or jobmanager, as status shows them")
      ->required();
  kill->answer.add_flag(*kill_parser);
  kill->cluster.add_options(*kill_parser);
  kill_parser->footer("Example:\n  freshet cluster kill taskmanager-1");
  commands.push_back({kill_parser, [kill] { return kill->answer.report(kill_process(*kill)); }});
}

}  // namespace freshet::cli
