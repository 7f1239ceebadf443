#include "runtime/app/child_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "runtime/base/clock.h"

namespace freshet {

namespace {

constexpr int kLookMillis = 100;  // How often it is asked whether to give up.

/// Where the child's output goes; both ends of its pipe are closed here at the latest.
class ChildStreams {
 public:
  explicit ChildStreams(ChildOutput output) : captured_(output == ChildOutput::kCaptured) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!captured_) {
      posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    } else if (pipe2(pipe_.data(), O_CLOEXEC) == 0) {
      posix_spawn_file_actions_adddup2(&actions_, pipe_[1], STDOUT_FILENO);
      posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
  }
  ~ChildStreams() {
    posix_spawn_file_actions_destroy(&actions_);
    for (int& end : pipe_) close_end(end);
  }
  ChildStreams(const ChildStreams&) = delete;
  ChildStreams& operator=(const ChildStreams&) = delete;

  bool ok() const { return !captured_ || pipe_[0] >= 0; }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

  int take_reading_end() {
    close_end(pipe_[1]);
    return pipe_[0];
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }

  const bool captured_;
  posix_spawn_file_actions_t actions_;
  std::array<int, 2> pipe_{-1, -1};
};

Status cannot_start(const std::string& program, int error) {
  return unavailable(fmt::format("cannot start {}: {}", program, strerror(error)));
}

bool is_program(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

/// A child until it has ended or closes its output, all of which is read; what is too much is
/// dropped. Others may have the other end of the pipe, and keep it.
class Watch {
 public:
  Watch(pid_t pid, int output, const ChildLimits& limits)
      : pid_(pid),
        child_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
        output_(output),
        limits_(limits),
        clock_(make_system_clock()),
        began_(clock_->now()) {}
  ~Watch() {
    if (child_ >= 0) close(child_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void run(ChildOutcome* outcome) {
    std::array<pollfd, 2> waits = {pollfd{output_, POLLIN, 0}, pollfd{child_, POLLIN, 0}};
    while (output_ >= 0 || child_ >= 0) {
      const int ready = poll(waits.data(), waits.size(), kLookMillis);
      if (ready < 0 && errno != EINTR) return;
      if (!outcome->overdue && is_over()) {
        outcome->overdue = true;
        (void)kill(pid_, SIGKILL);
      }
      if (ready <= 0) continue;
      if ((waits[0].revents & (POLLIN | POLLHUP)) != 0) {
        if (!read_some(&outcome->output)) return;
      } else if (waits[1].revents != 0) {
        return;  // It has ended, and all that it wrote was read.
      }
    }
  }

 private:
  bool is_over() const {
    if (limits_.give_up != nullptr && limits_.give_up->load()) return true;
    return limits_.patience && clock_->now() - began_ >= *limits_.patience;
  }

  bool read_some(std::string* text) const {
    std::array<char, 4096> part;
    const ssize_t size = read(output_, part.data(), part.size());
    if (size < 0 && errno == EINTR) return true;
    if (size <= 0) return false;
    const size_t room = limits_.output_bytes_max - text->size();
    text->append(part.data(), std::min(room, static_cast<size_t>(size)));
    return true;
  }

  const pid_t pid_;
  const int child_;
  const int output_;
  const ChildLimits& limits_;
  const std::unique_ptr<Clock> clock_;
  const TimePoint began_;
};

/// Of this process, with those that replace or join its own.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!more.contains(std::string(text.substr(0, text.find('='))))) variables.emplace_back(text);
  }
  for (const auto& [name, value] : more) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string describe_exit(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  if (!WIFSIGNALED(status)) return fmt::format("status {}", status);
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

Result<ChildOutcome> run_child(const std::string& program,
                               const std::vector<std::string>& arguments, ChildOutput output,
                               const ChildLimits& limits) {
  ChildStreams streams(output);
  if (!streams.ok()) return cannot_start(program, errno);
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(limits.environment);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), streams.actions(), nullptr,
                                pointers_to(words).data(), pointers_to(variables).data());
  if (error != 0) return cannot_start(program, error);
  ChildOutcome outcome;
  Watch(pid, streams.take_reading_end(), limits).run(&outcome);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return cannot_start(program, errno);
  }
  outcome.success = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  outcome.by_signal = WIFSIGNALED(status);
  outcome.how = describe_exit(status);
  return outcome;
}

Result<std::string> find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return name;
    return not_found(name + " is no program");
  }
  for (size_t begin = 0; begin <= path.size() && !name.empty();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    // Only absolute folders: what a name means must not depend on where it is asked.
    const std::string file = path.substr(begin, end - begin) + "/" + name;
    if (end > begin && path[begin] == '/' && is_program(file)) return file;
    begin = end + 1;
  }
  return not_found(name + " is not in PATH");
}

}  // namespace freshet
