#include "runtime/app/cluster_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "runtime/base/process_environment.h"

namespace freshet {

namespace {

constexpr std::string_view kHeader = "freshet-cluster 1";
constexpr size_t kNameLengthMax = 64;
constexpr uint64_t kStateBytesMax = 1u << 20;

Status damaged(const std::string& line) {
  return data_loss("a cluster's state file has a line that makes no sense: '" + line + "'");
}

Status parse_process(std::istringstream& words, const std::string& line, ClusterState& state) {
  ClusterProcess process;
  std::string running;
  std::string address;
  words >> process.name >> process.process.pid >> process.process.start_ticks >> running >>
      process.restarts >> address;
  if (!words) return damaged(line);
  process.running = running == "running";
  if (address != "-") {
    ASSIGN_OR_RETURN(process.address, Address::parse(address));
  }
  state.processes.push_back(std::move(process));
  return Status();
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

const ClusterProcess* ClusterState::find(std::string_view name) const {
  for (const ClusterProcess& process : processes) {
    if (process.name == name) return &process;
  }
  return nullptr;
}

std::string to_text(const ClusterState& state) {
  std::string text = fmt::format("{}\nboot {}\nsupervisor {} {}\n", kHeader, state.boot,
                                 state.supervisor.pid, state.supervisor.start_ticks);
  for (const ClusterProcess& one : state.processes) {
    text += fmt::format("process {} {} {} {} {} {}\n", one.name, one.process.pid,
                        one.process.start_ticks, one.running ? "running" : "dead", one.restarts,
                        one.address ? one.address->to_string() : "-");
  }
  return text;
}

Result<ClusterState> parse_cluster_state(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kHeader) return damaged(line);
  ClusterState state;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "boot") {
      words >> state.boot;
    } else if (kind == "supervisor") {
      words >> state.supervisor.pid >> state.supervisor.start_ticks;
      if (!words) return damaged(line);
    } else if (kind == "process") {
      RETURN_IF_ERROR(parse_process(words, line, state));
    } else {
      return damaged(line);
    }
  }
  return state;
}

Result<ClusterState> read_cluster_state(const ClusterDirectory& directory, FileSystem& files) {
  const auto text = files.read_all(directory.state_file(), kStateBytesMax);
  if (!text.ok()) {
    if (text.status().code() != StatusCode::kNotFound) return text.status();
    return not_found(
        fmt::format("no cluster is called '{}' in {}", directory.name(), directory.base()));
  }
  auto state = parse_cluster_state(*text);
  if (!state.ok()) return state.status().with_context(directory.state_file());
  return state;
}

}  // namespace freshet
