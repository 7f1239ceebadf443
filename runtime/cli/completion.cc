#include "runtime/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "network/asio_transport.h"
#include "runtime/app/cluster_state.h"
#include "runtime/base/configuration.h"
#include "runtime/cli/given_settings.h"

namespace freshet::cli {

namespace {

constexpr size_t kSubtasksMax = 1000;  // More than anybody looks through.
constexpr Duration kPatience = 500ms;  // Of each of two steps; somebody waits at a prompt.

/// The words of a command, as far as they are whole.
struct Given {
  const CLI::Option* open = nullptr;  // Its value is what comes next.
  std::vector<std::string> arguments;
  ClusterSelection cluster;
};

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_single_name() : option.get_lnames().front();
}

const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return nullptr;
  const CLI::Option* const option = command.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0 ? option : nullptr;
}

void select(ClusterSelection& cluster, const std::string& option, const std::string& value) {
  if (option == "cluster" || option == "name") cluster.cluster = value;
  if (option == "jobmanager") cluster.job_manager = value;
  if (option == "state-dir") cluster.state_directory = value;
}

Given read(const CLI::App& command, const std::vector<std::string>& words) {
  Given given;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (given.open != nullptr) {
      select(given.cluster, name_of(*given.open), words[i]);
      given.open = nullptr;
    } else if (words[i].starts_with('-')) {
      given.open = option_of(command, words[i]);
    } else {
      given.arguments.push_back(words[i]);
    }
  }
  return given;
}

/// The name of the argument that comes next; the last one may come several times.
std::string argument_of(const CLI::App& command, size_t before) {
  std::string name;
  size_t at = 0;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const bool repeated = option->get_items_expected_max() > 1;
    if (at++ == before || repeated) name = option->get_name(true);
  }
  return name;
}

std::vector<std::string> keys(const std::string& behind) {
  std::vector<std::string> names;
  for (const ConfigKey* key : config_keys()) names.push_back(std::string(key->name) + behind);
  return names;
}

Result<std::vector<std::string>> clusters(const ClusterSelection& cluster) {
  ASSIGN_OR_RETURN(const std::string base, state_directory_or_default(cluster.state_directory));
  const auto files = make_local_file_system();
  ASSIGN_OR_RETURN(const auto entries, files->list(base));
  std::vector<std::string> names;
  for (const FileInfo& entry : entries) {
    const auto directory = ClusterDirectory::of(base, entry.path.substr(entry.path.rfind('/') + 1));
    if (directory.ok() && files->info(directory->state_file()).ok())
      names.push_back(directory->name());
  }
  return names;
}

Result<std::vector<std::string>> processes(const ClusterSelection& cluster) {
  ASSIGN_OR_RETURN(const auto directory,
                   cluster_directory(cluster.state_directory,
                                     cluster.cluster.empty() ? "default" : cluster.cluster));
  ASSIGN_OR_RETURN(const auto state, read_cluster_state(directory, *make_local_file_system()));
  std::vector<std::string> names;
  for (const ClusterProcess& one : state.processes) names.push_back(one.name);
  return names;
}

Result<std::vector<std::string>> jobs(ControlClient& client) {
  ASSIGN_OR_RETURN(const auto all, client.list());
  std::vector<std::string> ids;
  for (const JobReport& job : all) {
    if (!is_terminal(job.state)) ids.push_back(job.id.to_string());
  }
  return ids;
}

/// Those that run: `1/0`.
Result<std::vector<std::string>> subtasks(ControlClient& client, const std::string& job) {
  ASSIGN_OR_RETURN(const JobId id, JobId::parse(job));
  ASSIGN_OR_RETURN(const JobDetails details, client.details(id));
  std::vector<std::string> names;
  for (const TaskReport& task : details.tasks) {
    if (names.size() >= kSubtasksMax) break;
    if (task.state == TaskState::kRunning) names.push_back(to_string(task.attempt.subtask));
  }
  return names;
}

Result<std::vector<std::string>> ask_job_manager(CompletionSubject subject,
                                                 const CompletionScope& scope) {
  ASSIGN_OR_RETURN(const GivenSettings given, read_settings(SettingsOptions(), is_read_by_jobs));
  const auto transport = make_asio_transport({});
  const auto clock = make_system_clock();
  ControlClient::Options options;
  ASSIGN_OR_RETURN(options.job_manager, scope.cluster.address());
  options.secret = given.configuration.text(config::kSecret);
  options.connect_timeout = options.request_timeout = kPatience;
  ASSIGN_OR_RETURN(const auto client, ControlClient::connect(options, *transport, *clock));
  return subject == CompletionSubject::kJobs ? jobs(*client) : subtasks(*client, scope.job);
}

/// What may stand at the end of `words`, which come after the name of `command`, when that is the
/// value of an option or an argument. Empty: anything, such as a file.
std::vector<std::string> completion_values(const CLI::App& command,
                                           const std::vector<std::string>& words,
                                           const CompletionLookup& look_up) {
  const Given given = read(command, words);
  if (given.open != nullptr) {
    const std::string option = name_of(*given.open);
    if (option == "cluster" || (option == "name" && command.get_name() != "taskmanager"))
      return look_up(CompletionSubject::kClusters, {given.cluster, ""});
    if (option == "how") return {"crash", "exception", "hang"};
    if (option == "mode") return {"automatic", "batch", "streaming"};
    return option == "D" ? keys("=") : std::vector<std::string>();
  }
  if (!words.empty() && words.back().starts_with('-')) return {};
  const std::string argument = argument_of(command, given.arguments.size());
  if (argument == "JOB") return look_up(CompletionSubject::kJobs, {given.cluster, ""});
  if (argument == "VERTEX/SUBTASK")
    return look_up(CompletionSubject::kSubtasks, {given.cluster, given.arguments.front()});
  if (argument == "KEY") return keys("");
  if (argument == "SHELL") return {"bash", "zsh"};
  if (argument != "PROCESS") return {};
  std::vector<std::string> names = look_up(CompletionSubject::kProcesses, {given.cluster, ""});
  if (command.get_name() == "logs" && !names.empty()) names.emplace_back(kSupervisorName);
  return names;
}

/// The innermost command that the words name, and what comes after its name.
struct Innermost {
  const CLI::App* command;
  std::vector<std::string> words;
};

Innermost innermost_of(const CLI::App& parser, const std::vector<std::string>& words) {
  Innermost at{&parser, words};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    for (const CLI::App* one : at.command->get_subcommands([](const CLI::App*) { return true; })) {
      if (one->get_name() != words[i] || one->get_group().empty()) continue;
      at.command = one;
      at.words.assign(words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      break;
    }
  }
  return at;
}

std::vector<std::string> candidates(const CLI::App& command, bool options) {
  std::vector<std::string> words;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!options && !one->get_group().empty()) words.push_back(one->get_name());
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!options || option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace

std::vector<std::string> look_up_names(CompletionSubject subject, const CompletionScope& scope) {
  const auto found = subject == CompletionSubject::kClusters    ? clusters(scope.cluster)
                     : subject == CompletionSubject::kProcesses ? processes(scope.cluster)
                                                                : ask_job_manager(subject, scope);
  return found.ok() ? *found : std::vector<std::string>();
}

std::vector<std::string> completions(const CLI::App& parser, std::vector<std::string> words,
                                     const CompletionLookup& look_up) {
  if (words.empty()) words.emplace_back();
  // Behind `--` is what only the job knows.
  if (std::find(words.begin(), words.end() - 1, "--") != words.end() - 1) return {};
  const Innermost at = innermost_of(parser, words);
  std::vector<std::string> values = completion_values(*at.command, at.words, look_up);
  std::sort(values.begin(), values.end());
  if (!values.empty()) return values;
  return candidates(*at.command, words.back().starts_with('-'));
}

}  // namespace freshet::cli
