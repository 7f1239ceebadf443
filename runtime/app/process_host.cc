#include "runtime/app/process_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "runtime/app/child_program.h"
#include "runtime/app/kernel_file.h"

namespace freshet {

namespace {

constexpr int kFieldsBeforeStartTime =
    18;  // Between the state and the start time in /proc/<pid>/stat.

struct ProcessStat {
  char state = '?';
  uint64_t start_ticks = 0;
};

std::optional<ProcessStat> read_stat(pid_t pid) {
  const std::string text =
      read_kernel_file(*make_local_file_system(), fmt::format("/proc/{}/stat", pid));
  const size_t name_end = text.rfind(')');  // The name may hold spaces and brackets itself.
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int i = 0; i < kFieldsBeforeStartTime; i++) fields >> skipped;
  fields >> stat.start_ticks;
  if (!fields) return std::nullopt;
  return stat;
}

int number_of(ProcessSignal signal) {
  switch (signal) {
    case ProcessSignal::kTerminate:
      return SIGTERM;
    case ProcessSignal::kKill:
      return SIGKILL;
    case ProcessSignal::kInterrupt:
      return SIGINT;
    case ProcessSignal::kStop:
      return SIGSTOP;
    case ProcessSignal::kContinue:
      return SIGCONT;
  }
  return SIGTERM;
}

/// `NAME=value` of this process, with what the command adds or replaces.
std::vector<std::string> environment_of(const ProcessHost::Command& command) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; one++) {
    const std::string_view variable = *one;
    const std::string name(variable.substr(0, variable.find('=')));
    if (!command.environment.contains(name)) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : command.environment) variables.push_back(name + "=" + value);
  return variables;
}

/// The parameters of posix_spawn, released together.
class SpawnParameters {
 public:
  explicit SpawnParameters(const ProcessHost::Command& command) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!command.output_path.empty()) {
      posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, command.output_path.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
      posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    }
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    short flags = POSIX_SPAWN_SETSIGMASK;
    if (command.new_session) flags |= POSIX_SPAWN_SETSID;
    posix_spawnattr_setflags(&attributes_, flags);
  }
  ~SpawnParameters() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnParameters(const SpawnParameters&) = delete;
  SpawnParameters& operator=(const SpawnParameters&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

class SystemProcessHost final : public ProcessHost {
 public:
  Result<ProcessIdentity> spawn(const Command& command) override {
    const SpawnParameters parameters(command);
    std::vector<char*> arguments{const_cast<char*>(command.program.c_str())};
    for (const std::string& argument : command.arguments) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    std::vector<std::string> variables = environment_of(command);
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, command.program.c_str(), parameters.actions(),
                                  parameters.attributes(), arguments.data(), environment.data());
    if (error != 0) {
      return unavailable(fmt::format("cannot start {}: {}", command.program, strerror(error)));
    }
    const auto stat = read_stat(pid);  // There even if it has ended: it is not reaped yet.
    const ProcessIdentity identity{pid, stat ? stat->start_ticks : 0};
    children_.push_back(identity);
    return identity;
  }

  std::vector<ProcessExit> reap() override {
    std::vector<ProcessExit> exits;
    std::erase_if(children_, [&](const ProcessIdentity& child) {
      int status = 0;
      if (waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
      const bool by_itself = WIFEXITED(status);
      exits.push_back(
          {child, by_itself && WEXITSTATUS(status) == 0, describe_exit(status), by_itself});
      return true;
    });
    return exits;
  }

  bool alive(const ProcessIdentity& process) const override {
    if (process.pid <= 0) return false;
    const auto stat = read_stat(process.pid);
    return stat && stat->start_ticks == process.start_ticks && stat->state != 'Z' &&
           stat->state != 'X';
  }

  void send_signal(const ProcessIdentity& process, ProcessSignal signal) override {
    if (process.pid <= 0) return;
    // The descriptor keeps naming this process, so the check that follows holds until the signal is
    // sent.
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
    if (descriptor < 0) return;
    if (alive(process)) {
      syscall(SYS_pidfd_send_signal, descriptor, number_of(signal), nullptr, 0);
    }
    close(descriptor);
  }

 private:
  std::vector<ProcessIdentity> children_;
};

}  // namespace

std::unique_ptr<ProcessHost> make_system_process_host() {
  return std::make_unique<SystemProcessHost>();
}

ProcessIdentity own_process() {
  const auto stat = read_stat(getpid());
  return {getpid(), stat ? stat->start_ticks : 0};
}

Result<std::string> own_program_path() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0 || size == sizeof(path)) return unavailable("cannot find the running program");
  return std::string(path, static_cast<size_t>(size));
}

Status end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return aborted("the process that started this one has ended");
  return Status();
}

}  // namespace freshet
