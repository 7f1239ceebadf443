#include "runtime/app/cluster_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sstream>

#include "runtime/base/process_environment.h"

namespace freshet {

namespace {

constexpr std::string_view kHeader = "freshet-cluster 1";
constexpr size_t kNameLengthMax = 64;
constexpr uint64_t kStateBytesMax = 1u << 20;
constexpr size_t kLineShown = 80;

Status damaged(const std::string& line) {
  return data_loss("it has a line that makes no sense: '" + line.substr(0, kLineShown) + "'");
}

std::string boot_line(const ClusterState& state) { return fmt::format("boot {}", state.boot); }

std::string supervisor_line(const ClusterState& state) {
  return fmt::format("supervisor {} {}", state.supervisor.pid, state.supervisor.start_ticks);
}

std::string process_line(const ClusterProcess& one) {
  return fmt::format("process {} {} {} {} {} {}", one.name, one.process.pid,
                     one.process.start_ticks, one.running ? "running" : "dead", one.restarts,
                     one.address ? one.address->to_string() : "-");
}

// Each reads one line. What is not as it would be written, down to the last blank, is damaged.

Status parse_boot(const std::string& line, ClusterState& state) {
  std::string kind;
  std::istringstream(line) >> kind >> state.boot;
  return line == boot_line(state) ? Status() : damaged(line);
}

Status parse_supervisor(const std::string& line, ClusterState& state) {
  std::string kind;
  std::istringstream(line) >> kind >> state.supervisor.pid >> state.supervisor.start_ticks;
  return line == supervisor_line(state) && state.supervisor.pid >= 0 ? Status() : damaged(line);
}

Status parse_process(const std::string& line, ClusterState& state) {
  ClusterProcess process;
  std::string kind;
  std::string running;
  std::string address = "-";
  std::istringstream(line) >> kind >> process.name >> process.process.pid >>
      process.process.start_ticks >> running >> process.restarts >> address;
  process.running = running == "running";
  if (address != "-") {
    const auto parsed = Address::parse(address);
    if (!parsed.ok()) return damaged(line);
    process.address = *parsed;
  }
  if (line != process_line(process) || process.process.pid < 0) return damaged(line);
  state.processes.push_back(std::move(process));
  return Status();
}

/// As a shell reads it back.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) || std::strchr("/._-+:@%=,", c) != nullptr;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Result<ClusterDirectory> ClusterDirectory::of(const std::string& base, const std::string& name) {
  const bool good = !name.empty() && name.size() <= kNameLengthMax && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (!good) {
    return invalid_argument(fmt::format(
        "'{}' cannot name a cluster: use up to {} letters, digits, '-', '_' and '.', no dot first",
        name, kNameLengthMax));
  }
  return ClusterDirectory(base, name);
}

Result<std::string> default_state_directory() {
  if (const auto own = environment_variable("FRESHET_STATE_DIR"); own && !own->empty()) return *own;
  if (const auto state = environment_variable("XDG_STATE_HOME"); state && !state->empty()) {
    return *state + "/freshet";
  }
  if (const auto home = environment_variable("HOME"); home && !home->empty()) {
    return *home + "/.local/state/freshet";
  }
  return failed_precondition(
      "no place for the files of clusters: set HOME or FRESHET_STATE_DIR, or give --state-dir");
}

std::string options_for(const ClusterDirectory& cluster, std::string_view name_option) {
  std::string options;
  if (cluster.name() != "default") options = fmt::format(" {} {}", name_option, cluster.name());
  const auto usual = default_state_directory();
  if (!usual.ok() || *usual != cluster.base())
    options += " --state-dir " + shell_word(cluster.base());
  return options;
}

const ClusterProcess* ClusterState::find(std::string_view name) const {
  for (const ClusterProcess& process : processes) {
    if (process.name == name) return &process;
  }
  return nullptr;
}

std::string to_text(const ClusterState& state) {
  std::string text = fmt::format("{}\n{}\n{}\n", kHeader, boot_line(state), supervisor_line(state));
  for (const ClusterProcess& one : state.processes) text += process_line(one) + "\n";
  return text;
}

Result<ClusterState> parse_cluster_state(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  const auto next = [&] { return static_cast<bool>(std::getline(lines, line)); };
  ClusterState state;
  if (!next() || line != kHeader) return damaged(line);
  if (!next()) return damaged("");
  RETURN_IF_ERROR(parse_boot(line, state));
  if (!next()) return damaged("");
  RETURN_IF_ERROR(parse_supervisor(line, state));
  while (next()) RETURN_IF_ERROR(parse_process(line, state));
  return state;
}

std::string task_manager_name(size_t number) { return fmt::format("taskmanager-{}", number); }

Result<ClusterState> read_cluster_state(const ClusterDirectory& directory, FileSystem& files) {
  const auto text = files.read_all(directory.state_file(), kStateBytesMax);
  if (!text.ok()) {
    if (text.status().code() != StatusCode::kNotFound) return text.status();
    return not_found(
        fmt::format("no cluster is called '{}' in {}", directory.name(), directory.base()));
  }
  auto state = parse_cluster_state(*text);
  if (state.ok()) return state;
  return Status(state.status().code(),
                fmt::format("{} is damaged: {}; the supervisor of a cluster that runs writes it "
                            "again within seconds, else nothing of it runs, and {} can be removed",
                            directory.state_file(), state.status().message(), directory.path()));
}

}  // namespace freshet
