#include "runtime/app/cluster_supervisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/app/port_file.h"
#include "runtime/base/log.h"

namespace freshet {

namespace {
constexpr uint64_t kPortFileBytesMax = 4096;
constexpr size_t kTaskManagersMax = 1000;
constexpr uint64_t kStateBytesMax = 1u << 20;
constexpr Duration kBetweenLooks = 1s;
}  // namespace

ClusterSupervisor::ClusterSupervisor(const Options& options, const ClusterDirectory& directory,
                                     std::string boot, ProcessHost& processes, FileSystem& files,
                                     const Clock& clock)
    : options_(options),
      directory_(directory),
      processes_(processes),
      files_(files),
      clock_(clock) {
  written_.boot = std::move(boot);
  written_.supervisor = own_process();
  add_member(std::string(kJobManagerName));
  for (uint32_t i = 1; i <= options_.task_managers; i++) add_member(task_manager_name(i));
}

ClusterSupervisor::Member& ClusterSupervisor::add_member(const std::string& name) {
  Member& member = members_.emplace_back();
  member.state.name = name;
  member.start_at = clock_.now();
  member.backoff = ProcessRestartBackoff(options_.restart_wait_max);
  return member;
}

Status ClusterSupervisor::step() {
  Status status;
  for (const ProcessExit& exit : processes_.reap()) {
    for (Member& member : members_) {
      if (member.state.running && member.state.process == exit.process) {
        if (Status died = on_exit(member, exit); !died.ok()) status = died;
      }
    }
  }
  look_after_directory();
  forget_unwished();
  add_wished();
  for (Member& member : members_) {
    if (!status.ok() || stopping_) break;
    if (member.state.running && !member.state.address) read_address(member);
    const bool job_manager_known = members_.front().state.address.has_value();
    const bool due = member.start_at && *member.start_at <= clock_.now();
    if (due && (is_job_manager(member) || job_manager_known)) status = start_or_retry(member);
  }
  if (Status wrote = write_state_or_retry(); status.ok()) status = wrote;
  if (!status.ok()) stop();
  if (stopping_) kill_overdue();
  came_up_ = came_up_ || (status.ok() && ready());
  return status;
}

/// Numbers that somebody left free come first: whoever wishes takes the lowest one.
std::optional<std::string> ClusterSupervisor::first_wish() {
  size_t known = 1;  // The JobManager has no number.
  for (size_t number = 1;; ++number) {
    const std::string name = task_manager_name(number);
    const bool is_last = known == members_.size();
    if (std::any_of(members_.begin(), members_.end(),
                    [&](const Member& member) { return member.state.name == name; })) {
      ++known;
    } else if (files_.info(directory_.wish_for(name)).ok()) {
      return name;
    } else if (is_last) {
      return std::nullopt;
    }
  }
}

void ClusterSupervisor::add_wished() {
  if (stopping_ || !came_up_ || members_.size() > kTaskManagersMax) return;
  const std::optional<std::string> name = first_wish();
  if (!name) return;
  LOG_INFO("task_manager_added", {{"name", *name}});
  add_member(*name).wished = true;
}

void ClusterSupervisor::forget_unwished() {
  std::erase_if(members_, [&](const Member& member) {
    const bool failed = member.wished && !member.came_up && !member.state.running &&
                        !member.start_at && member.state.process.pid != 0;
    return failed && !files_.info(directory_.wish_for(member.state.name)).ok();
  });
}

Status ClusterSupervisor::on_exit(Member& member, const ProcessExit& exit) {
  member.state.running = false;
  const Duration lifetime = clock_.now() - member.started;
  LOG_WARN("process_ended", {{"name", member.state.name},
                             {"pid", exit.process.pid},
                             {"how", exit.how},
                             {"lived_ms", to_millis(lifetime)}});
  if (options_.on_ended) options_.on_ended(member.life(), exit);
  if (stopping_) return Status();
  const auto& job_manager = members_.front().state;
  if (!is_job_manager(member) && job_manager.running && job_manager.address &&
      options_.on_task_manager_ended)
    options_.on_task_manager_ended(*job_manager.address, exit);
  const bool hopeless = is_job_manager(member) || exit.by_itself || !options_.restart;
  if (!member.came_up && hopeless) {
    if (member.wished) return Status();  // It stays dead.
    return unavailable(fmt::format("{} did not start: {}", member.state.name, exit.how));
  }
  if (!is_job_manager(member)) member.state.address.reset();
  if (!options_.restart) return Status();
  const Duration wait = member.backoff.next(lifetime);
  member.start_at = clock_.now() + wait;
  LOG_INFO("process_restart", {{"name", member.state.name}, {"after_ms", to_millis(wait)}});
  return Status();
}

Status ClusterSupervisor::start_or_retry(Member& member) {
  const Status started = start(member);
  if (started.ok() || !came_up_) return started;
  const Duration wait = member.backoff.next(Duration(0));
  member.start_at = clock_.now() + wait;
  LOG_WARN("process_not_started",
           {{"name", member.state.name}, {"cause", started}, {"again_after_ms", to_millis(wait)}});
  return Status();
}

Status ClusterSupervisor::start(Member& member) {
  const std::string& name = member.state.name;
  const Status removed = files_.remove(directory_.port_file_of(name));
  if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
  ProcessHost::Command command;
  command.program = options_.program;
  command.arguments = arguments_of(member);
  command.environment = options_.environment;
  command.output_path = directory_.output_of(name);
  ASSIGN_OR_RETURN(member.state.process, processes_.spawn(command));
  if (member.came_up) member.state.restarts++;
  member.state.running = true;
  member.started = clock_.now();
  member.lives++;
  member.start_at.reset();
  LOG_INFO("process_started", {{"name", name}, {"pid", member.state.process.pid}});
  if (options_.on_started) options_.on_started(member.life());
  return Status();
}

std::vector<std::string> ClusterSupervisor::role_of(const Member& member,
                                                    const MemberOverrides& overrides) const {
  if (is_job_manager(member)) {
    const Address& control = member.state.address ? *member.state.address : options_.control;
    return {"jobmanager", "--host", control.host, "--port", std::to_string(control.port)};
  }
  const Address job_manager = overrides.job_manager.value_or(*members_.front().state.address);
  return {"taskmanager",        "--jobmanager", job_manager.to_string(),        "--name",
          member.state.name,    "--slots",      std::to_string(options_.slots), "--host",
          options_.control.host};
}

std::vector<std::string> ClusterSupervisor::arguments_of(const Member& member) const {
  const std::string& name = member.state.name;
  MemberOverrides overrides;
  if (options_.overrides) {
    overrides = options_.overrides(
        name, is_job_manager(member) ? std::nullopt : members_.front().state.address);
  }
  std::vector<std::string> arguments = role_of(member, overrides);
  for (const auto& [option, value] :
       {std::pair{"--state-dir", directory_.files_of(name)},
        std::pair{"--log-file", directory_.log_of(name)},
        std::pair{"--port-file", directory_.port_file_of(name)},
        std::pair{"--parent", std::to_string(written_.supervisor.pid)}}) {
    arguments.push_back(option);
    arguments.push_back(value);
  }
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  if (!member.came_up) {
    const auto& first = options_.first_arguments;
    arguments.insert(arguments.end(), first.begin(), first.end());
  }
  arguments.insert(arguments.end(), overrides.arguments.begin(), overrides.arguments.end());
  return arguments;
}

void ClusterSupervisor::read_address(Member& member) {
  const auto text = files_.read_all(directory_.port_file_of(member.state.name), kPortFileBytesMax);
  if (!text.ok()) return;
  const auto ports = parse_port_file(*text);
  if (!ports.ok()) return;
  member.state.address = ports->address;
  member.came_up = true;
  if (options_.on_ready) options_.on_ready(member.life(), ports->address);
}

void ClusterSupervisor::stop() {
  if (stopping_) return;
  stopping_ = clock_.now();
  LOG_INFO("cluster_stopping", {{"name", directory_.name()}});
  for (const Member& member : members_) {
    if (member.state.running) {
      processes_.send_signal(member.state.process, ProcessSignal::kTerminate);
      processes_.send_signal(member.state.process, ProcessSignal::kContinue);
    }
  }
}

void ClusterSupervisor::kill_overdue() {
  if (clock_.now() - *stopping_ < kStopPatience) return;
  for (const Member& member : members_) {
    if (member.state.running) processes_.send_signal(member.state.process, ProcessSignal::kKill);
  }
}

bool ClusterSupervisor::ended() const {
  if (!stopping_) return false;
  for (const Member& member : members_) {
    if (member.state.running) return false;
  }
  return true;
}

bool ClusterSupervisor::ready() const {
  for (const Member& member : members_) {
    if (!member.state.running || !member.state.address) return false;
  }
  return true;
}

void ClusterSupervisor::look_after_directory() {
  if (!came_up_ || stopping_ || clock_.now() < look_at_) return;
  look_at_ = clock_.now() + kBetweenLooks;
  const auto text = files_.read_all(directory_.state_file(), kStateBytesMax);
  if (text.ok() && *text == to_text(written_)) return;
  if (!text.ok() && files_.info(directory_.path()).status().code() == StatusCode::kNotFound) {
    LOG_ERROR("cluster_directory_gone", {{"path", directory_.path()}});
    has_directory_ = false;
    return stop();
  }
  if (!text.ok() && text.status().code() != StatusCode::kNotFound) return;
  const auto state = parse_cluster_state(text.ok() ? *text : "");
  if (state.ok() && state->supervisor != written_.supervisor) {
    LOG_ERROR("cluster_directory_taken",
              {{"path", directory_.path()}, {"supervisor", state->supervisor.pid}});
    has_directory_ = false;
    return stop();
  }
  LOG_WARN("state_damaged", {{"path", directory_.state_file()}});
  rewrite_ = true;
}

Status ClusterSupervisor::write_state_or_retry() {
  if (write_at_ > clock_.now()) return Status();
  const Status wrote = write_state();
  if (wrote.ok()) {
    write_backoff_ = ProcessRestartBackoff();
    return wrote;
  }
  if (!came_up_ && !stopping_) return wrote;
  const Duration wait = write_backoff_.next(Duration(0));
  write_at_ = clock_.now() + wait;
  LOG_WARN("state_not_written", {{"cause", wrote}, {"again_after_ms", to_millis(wait)}});
  return Status();
}

Status ClusterSupervisor::write_state() {
  ClusterState state = written_;
  state.processes.clear();
  for (const Member& member : members_) {
    if (member.state.process.pid != 0) state.processes.push_back(member.state);
  }
  if (!has_directory_ || (state == written_ && !rewrite_)) return Status();
  RETURN_IF_ERROR(files_.write_atomically(directory_.state_file(), to_text(state)));
  written_ = std::move(state);
  rewrite_ = false;
  return Status();
}

}  // namespace freshet
