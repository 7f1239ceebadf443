#include "runtime/app/cluster_control.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/app/host_id.h"
#include "runtime/app/private_directory.h"

namespace freshet {

namespace {

constexpr Duration kPoll = 10ms;
constexpr size_t kTailBytes = 1500;
constexpr size_t kProbeBytes = 64 << 10;
constexpr uint64_t kLogBytesMax = 128u << 20;

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_up(const ClusterState& state, size_t processes) {
  return state.processes.size() == processes &&
         std::all_of(state.processes.begin(), state.processes.end(),
                     [](const ClusterProcess& one) { return one.running && one.address; });
}

std::string tail_of(const std::string& text) {
  if (text.size() <= kTailBytes) return text;
  const size_t line = text.find('\n', text.size() - kTailBytes);
  return text.substr(line == std::string::npos ? text.size() - kTailBytes : line + 1);
}

}  // namespace

ClusterControl::ClusterControl(const ClusterDirectory& directory, ProcessHost& processes,
                               FileSystem& files, const Clock& clock, SignalWaiter& signals)
    : directory_(directory),
      processes_(processes),
      files_(files),
      clock_(clock),
      signals_(signals) {}

Result<ClusterState> ClusterControl::start(const StartOptions& options) {
  RETURN_IF_ERROR(claim());
  ProcessHost::Command command;
  command.program = options.program;
  command.arguments = options.arguments;
  command.environment = options.environment;
  command.output_path = directory_.output_of(std::string(kSupervisorName));
  command.new_session = true;
  const auto supervisor = processes_.spawn(command);
  const Result<ClusterState> ready = supervisor.ok() ? wait_until_ready(options, *supervisor)
                                                     : Result<ClusterState>(supervisor.status());
  if (ready.ok()) return ready;
  const std::string tails = log_tails();
  ClusterState left;
  if (const auto state = read_cluster_state(directory_, files_); state.ok()) left = *state;
  left.boot = boot_id(files_);
  if (supervisor.ok()) left.supervisor = *supervisor;
  RETURN_IF_ERROR(end_processes(left).with_context(ready.status().message()));
  if (ready.status().code() == StatusCode::kDeadlineExceeded) {
    RETURN_IF_ERROR(files_.remove_all(directory_.failed_path()));
    RETURN_IF_ERROR(files_.rename(directory_.path(), directory_.failed_path()));
  }
  RETURN_IF_ERROR(files_.remove_all(directory_.path()));
  return Status(ready.status().code(), ready.status().message() + tails);
}

// The directory appears under its name together with a state file, in one step: of two starts, one
// wins.
Status ClusterControl::claim() {
  const std::string prepared =
      fmt::format("{}/.{}.{}", directory_.base(), directory_.name(), own_process().pid);
  RETURN_IF_ERROR(files_.remove_all(prepared));
  RETURN_IF_ERROR(make_private_directory(prepared));
  ClusterState mine;
  mine.boot = boot_id(files_);
  mine.supervisor = own_process();
  Status claimed = files_.write_atomically(prepared + "/state", to_text(mine));
  if (claimed.ok()) {
    claimed = files_.rename(prepared, directory_.path());
    if (!claimed.ok()) claimed = take_over(prepared);
  }
  if (!claimed.ok()) RETURN_IF_ERROR(files_.remove_all(prepared));
  return claimed;
}

// Only who has made the mark in a directory may replace it. What the state says is read again
// behind the mark: until then the directory may have become that of another start.
Status ClusterControl::take_over(const std::string& prepared) {
  RETURN_IF_ERROR(check_dead());
  const std::string mark = directory_.path() + "/taken-over";
  if (const Status marked = files_.create_new_directory(mark); !marked.ok()) {
    if (marked.code() != StatusCode::kAlreadyExists) return marked;
    return already_exists(
        fmt::format("another start of a cluster called '{}' clears away what a crash left; if "
                    "there is none, clean up with 'freshet cluster stop{}'",
                    directory_.name(), options_for(directory_, "--name")));
  }
  if (Status dead = check_dead(); !dead.ok()) {
    RETURN_IF_ERROR(files_.remove_empty_directory(mark));
    return dead;
  }
  const std::string aside = prepared + ".stale";
  RETURN_IF_ERROR(files_.remove_all(aside));
  RETURN_IF_ERROR(files_.rename(directory_.path(), aside));
  const Status claimed = files_.rename(prepared, directory_.path());
  RETURN_IF_ERROR(files_.remove_all(aside));
  return claimed;
}

Status ClusterControl::check_dead() {
  const auto old = status();
  // Whose it is cannot be known: that of a cluster that runs, perhaps.
  if (old.status().code() == StatusCode::kDataLoss) return old.status();
  if (!old.ok() || !any_alive(*old)) return Status();
  return already_exists(
      fmt::format("a cluster called '{}' is running already (supervisor {}); stop it with "
                  "'freshet cluster stop{}', or start another one with --name",
                  directory_.name(), old->supervisor.pid, options_for(directory_, "--name")));
}

Result<ClusterState> ClusterControl::wait_until_ready(const StartOptions& options,
                                                      const ProcessIdentity& supervisor) {
  const TimePoint deadline = clock_.now() + options.patience;
  Status registered = unavailable("the JobManager was not asked");
  while (true) {
    const auto signal = signals_.wait(kPoll);
    if (signal && *signal != SignalWaiter::Signal::kChild) return aborted("interrupted");
    processes_.reap();
    if (!processes_.alive(supervisor)) return unavailable("the cluster did not start");
    const auto state = read_cluster_state(directory_, files_);
    if (state.ok() && state->supervisor == supervisor) {
      const ClusterProcess* const job_manager = state->find(kJobManagerName);
      if (job_manager != nullptr && job_manager->address) {
        registered = options.check_registered(*job_manager->address);
        if (registered.ok() && is_up(*state, options.processes)) return state;
      }
    }
    if (clock_.now() >= deadline) {
      return deadline_exceeded(fmt::format(
          "the cluster did not come up within {} (--timeout): {}; the logs are kept in {}",
          format_duration(options.patience), missing(registered), directory_.failed_path()));
    }
  }
}

/// What a cluster that does not come up waits for. The state is read again: the last question to
/// the JobManager may have taken long.
std::string ClusterControl::missing(const Status& registered) const {
  const auto state = read_cluster_state(directory_, files_);
  if (!state.ok() || state->processes.empty())
    return fmt::format("its supervisor has started nothing (log: {}.log)", kSupervisorName);
  std::string waited_for;
  for (const ClusterProcess& one : state->processes) {
    if (one.running && one.address) continue;
    waited_for += fmt::format("{}{} {} (log: {}.log)", waited_for.empty() ? "" : ", ", one.name,
                              one.running ? "has not opened its port" : "does not run", one.name);
  }
  if (!waited_for.empty()) return waited_for;
  return fmt::format("{} (log: {}.log)", registered.message(), kJobManagerName);
}

Status ClusterControl::stop() {
  ASSIGN_OR_RETURN(const ClusterState state, read_cluster_state(directory_, files_));
  RETURN_IF_ERROR(end_processes(state));
  return files_.remove_all(directory_.path());
}

// Ending the supervisor ends the others, in order; when it cannot, the kernel kills them with it.
Status ClusterControl::end_processes(const ClusterState& state) {
  if (state.boot != boot_id(files_)) return Status();
  const TimePoint deadline = clock_.now() + kStopPatience;
  processes_.send_signal(state.supervisor, ProcessSignal::kTerminate);
  if (!processes_.alive(state.supervisor)) {
    for (const ClusterProcess& one : state.processes) {
      processes_.send_signal(one.process, ProcessSignal::kTerminate);
    }
  }
  ClusterState latest = state;
  bool killed = false;
  while (any_alive(latest)) {
    const auto waited_for = signals_.wait(kPoll);
    static_cast<void>(waited_for);  // A second interrupt does not leave half a cluster.
    processes_.reap();
    if (const auto read = read_cluster_state(directory_, files_);
        read.ok() && !read->processes.empty()) {
      latest.processes = read->processes;  // One may have been started again meanwhile.
    }
    if (clock_.now() < deadline) continue;
    if (killed && clock_.now() >= deadline + kStopPatience) {
      return deadline_exceeded("some processes do not end, not even when killed");
    }
    killed = true;
    processes_.send_signal(state.supervisor, ProcessSignal::kKill);
    for (const ClusterProcess& one : latest.processes) {
      processes_.send_signal(one.process, ProcessSignal::kKill);
    }
  }
  return Status();
}

Result<ClusterState> ClusterControl::status() {
  ASSIGN_OR_RETURN(ClusterState state, read_cluster_state(directory_, files_));
  update_liveness(state);
  return state;
}

Result<ClusterState> ClusterControl::running_state() {
  ASSIGN_OR_RETURN(ClusterState state, status());
  if (processes_.alive(state.supervisor)) return state;
  return failed_precondition(fmt::format(
      "the supervisor of cluster '{}' has ended; clean up with 'freshet cluster stop{}'",
      directory_.name(), options_for(directory_, "--name")));
}

// Of several who wish at once, each makes another directory.
Result<std::string> ClusterControl::wish() {
  ASSIGN_OR_RETURN(const ClusterState state, running_state());
  for (size_t number = 1;; ++number) {
    const std::string name = task_manager_name(number);
    if (state.find(name) != nullptr) continue;
    const Status made = files_.create_new_directory(directory_.wish_for(name));
    if (made.ok()) return name;
    if (made.code() != StatusCode::kAlreadyExists) return made.with_context("nothing was added");
  }
}

Status ClusterControl::check_writable() const {
  const std::string probe = fmt::format("{}/.probe.{}", directory_.path(), own_process().pid);
  const Status wrote = files_.write_atomically(probe, std::string(kProbeBytes, '\0'));
  static_cast<void>(files_.remove(probe));
  return wrote;
}

/// The supervisor tells nobody what has become of a process while it cannot write.
Status ClusterControl::not_added(const std::string& name, Duration patience,
                                 const Status& registered) {
  const Status writable = check_writable();
  if (!writable.ok()) static_cast<void>(files_.remove_all(directory_.wish_for(name)));
  return deadline_exceeded(fmt::format(
      "{} did not register within {}: {}; {} (log: {})", name, format_duration(patience),
      (writable.ok() ? registered : writable).message(),
      writable.ok() ? "it may still come" : "it was given up, unless it comes up all the same",
      directory_.log_of(name)));
}

Result<std::string> ClusterControl::add(
    const std::function<Status(const ClusterState&)>& check_registered, Duration patience) {
  ASSIGN_OR_RETURN(const ClusterState now, running_state());
  // Who is only not there yet is no reason to add nobody.
  if (const Status asked = check_registered(now);
      !asked.ok() && asked.code() != StatusCode::kFailedPrecondition)
    return asked.with_context("nothing was added");
  Status registered = unavailable("it has not started");
  ASSIGN_OR_RETURN(const std::string name, wish());
  const TimePoint deadline = clock_.now() + patience;
  while (true) {
    ASSIGN_OR_RETURN(const ClusterState state, running_state());
    const ClusterProcess* const added = state.find(name);
    if (added != nullptr && !added->running && !added->address) {
      static_cast<void>(files_.remove_all(directory_.wish_for(name)));  // It is forgotten.
      const auto output = files_.read_all(directory_.output_of(name), kLogBytesMax);
      return unavailable(fmt::format("{} did not start{}{}", name, output.ok() ? ":\n" : "",
                                     output.ok() ? tail_of(*output) : ""));
    }
    if (added != nullptr && added->running && added->address) {
      registered = check_registered(state);
      if (registered.ok()) return name;
    }
    if (clock_.now() >= deadline) return not_added(name, patience, registered);
    const auto signal = signals_.wait(kPoll);
    if (signal && *signal != SignalWaiter::Signal::kChild) return aborted("interrupted");
  }
}

Result<ClusterProcess> ClusterControl::kill(const std::string& process) {
  ASSIGN_OR_RETURN(const ClusterState state, running_state());
  std::string known;
  for (const ClusterProcess& one : state.processes) {
    if (one.name != process) {
      known += (known.empty() ? "" : ", ") + one.name;
      continue;
    }
    if (!one.running) return failed_precondition(process + " does not run now");
    processes_.send_signal(one.process, ProcessSignal::kKill);
    return one;
  }
  return not_found(fmt::format("cluster '{}' has no process '{}'; there are {}", directory_.name(),
                               process, known));
}

void ClusterControl::update_liveness(ClusterState& state) const {
  const bool same_boot = state.boot == boot_id(files_);
  if (!same_boot) state.supervisor = ProcessIdentity{};
  for (ClusterProcess& one : state.processes) {
    one.running = same_boot && processes_.alive(one.process);
  }
}

bool ClusterControl::any_alive(const ClusterState& state) const {
  if (processes_.alive(state.supervisor)) return true;
  for (const ClusterProcess& one : state.processes) {
    if (processes_.alive(one.process)) return true;
  }
  return false;
}

std::string ClusterControl::log_tails() const {
  const auto entries = files_.list(directory_.path());
  if (!entries.ok()) return std::string();
  std::string tails;
  for (const FileInfo& entry : *entries) {
    if (!ends_with(entry.path, ".log") && !ends_with(entry.path, ".out")) continue;
    const auto text = files_.read_all(entry.path, kLogBytesMax);
    if (!text.ok() || text->empty()) continue;
    const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
    tails += fmt::format("\n--- {}\n{}", name, tail_of(*text));
    if (tails.back() == '\n') tails.pop_back();
  }
  return tails;
}

}  // namespace freshet
