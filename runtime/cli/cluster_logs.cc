#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/app/log_follower.h"
#include "runtime/cli/answer.h"
#include "runtime/cli/cluster_tools.h"

namespace freshet::cli {

namespace {

constexpr Duration kPoll = 100ms;
constexpr uint32_t kLinesMax = 1'000'000;

struct LogOptions {
  ClusterName cluster;
  std::vector<std::string> processes;
  std::string lines = "20";
  bool follow = false;
  bool output = false;
  Answer answer;

  std::string path(const ClusterDirectory& directory, const std::string& process) const {
    return output ? directory.output_of(process) : directory.log_of(process);
  }
};

/// Of one process. Lines of several are told apart by its name before each.
struct Log {
  std::string process;
  LogFollower follower;
};

Result<std::vector<std::string>> chosen_processes(const LogOptions& options,
                                                  const ClusterState& state) {
  std::vector<std::string> known = {std::string(kSupervisorName)};
  for (const ClusterProcess& one : state.processes) known.push_back(one.name);
  for (const std::string& name : options.processes) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return not_found(
        fmt::format("no process '{}' in the cluster; there are {}", name, fmt::join(known, ", ")));
  }
  return options.processes.empty() ? known : options.processes;
}

/// How a line is shown.
enum class LineForm { kPlain, kNamed, kJson };

void print_line(const Log& log, const std::string& line, LineForm form) {
  using Json = nlohmann::ordered_json;
  if (form == LineForm::kJson) {
    const Json json = {{"process", log.process}, {"line", line}};
    fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("{:<14} {}\n", log.process, line);
  }
}

void print_lines(const Log& log, const std::string& text, LineForm form) {
  if (form == LineForm::kPlain) {
    fmt::print("{}", text);
  } else {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      print_line(log, text.substr(begin, end - begin), form);
      begin = end + 1;
    }
  }
  std::fflush(stdout);
}

LineForm form_of(const LogOptions& options, const std::vector<Log>& logs) {
  if (options.answer.json()) return LineForm::kJson;
  return logs.size() > 1 ? LineForm::kNamed : LineForm::kPlain;
}

/// Those that joined the cluster later, when all are wanted.
void add_new_processes(std::vector<Log>& logs, const LogOptions& options,
                       const ClusterDirectory& directory, ClusterTools& tools) {
  if (!options.processes.empty()) return;
  const auto state = tools.control(directory).status();
  if (!state.ok()) return;
  for (const ClusterProcess& one : state->processes) {
    if (std::ranges::find(logs, one.name, &Log::process) != logs.end()) continue;
    logs.push_back({one.name, LogFollower(options.path(directory, one.name), *tools.files)});
  }
}

/// Until somebody asks this command to end, or the cluster is stopped.
Status follow(std::vector<Log>& logs, const LogOptions& options, const ClusterDirectory& directory,
              ClusterTools& tools) {
  while (true) {
    add_new_processes(logs, options, directory, tools);
    for (Log& log : logs) {
      ASSIGN_OR_RETURN(const std::string text, log.follower.next());
      if (!text.empty()) print_lines(log, text, form_of(options, logs));
    }
    if (!tools.files->info(directory.path()).ok()) return Status();
    const auto signal = tools.signals.wait(kPoll);
    if (signal && *signal != SignalWaiter::Signal::kChild) return Status();
  }
}

Status show_logs(const LogOptions& options) {
  ASSIGN_OR_RETURN(const auto directory, options.cluster.directory());
  ASSIGN_OR_RETURN(const uint32_t lines, parse_number("-n", options.lines, 0, kLinesMax));
  ClusterTools tools;
  ASSIGN_OR_RETURN(const ClusterState state, tools.control(directory).status());
  ASSIGN_OR_RETURN(const auto processes, chosen_processes(options, state));
  std::vector<Log> logs;
  for (const std::string& name : processes) {
    logs.push_back({name, LogFollower(options.path(directory, name), *tools.files)});
  }
  for (Log& log : logs) {
    const auto text = log.follower.tail(lines);
    if (!text.ok() && text.status().code() != StatusCode::kNotFound) return text.status();
    if (text.ok()) print_lines(log, *text, form_of(options, logs));
  }
  return options.follow ? follow(logs, options, directory, tools) : Status();
}

}  // namespace

void add_cluster_log_command(CLI::App& cluster, std::vector<Command>& commands) {
  auto logs = std::make_shared<LogOptions>();
  CLI::App* const parser = cluster.add_subcommand("logs", "Show the logs of a cluster's processes");
  parser->add_option("PROCESS", logs->processes,
                     "taskmanager-N, jobmanager or supervisor (default: all)");
  parser->add_flag("-f,--follow", logs->follow, "Go on with what comes, until Ctrl-C");
  parser->add_option("-n,--lines", logs->lines, "The last lines of each (default: 20)")
      ->type_name("N");
  parser->add_flag("--output", logs->output,
                   "What they and the jobs on them printed, instead of their logs");
  logs->answer.add_flag(*parser, "An object per line, for programs");
  logs->cluster.add_options(*parser);
  parser->footer(
      "Examples:\n  freshet cluster logs -f\n  freshet cluster logs taskmanager-1 -n 200\n"
      "  freshet cluster logs --output taskmanager-1");
  commands.push_back({parser, [logs] { return logs->answer.report(show_logs(*logs)); }});
}

}  // namespace freshet::cli
