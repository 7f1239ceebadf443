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
#include <climits>

namespace freshet {

namespace {

constexpr size_t kCapturedBytesMax = 64 << 10;

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

  /// All that the child writes until it has ended, or closes its end; what is too much is read and
  /// dropped. Others may have the other end of the pipe, and keep it.
  std::string read_all(int child) {
    std::string text;
    close_end(pipe_[1]);
    std::array<char, 4096> part;
    std::array<pollfd, 2> waits = {pollfd{pipe_[0], POLLIN, 0}, pollfd{child, POLLIN, 0}};
    while (captured_) {
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      if ((waits[0].revents & (POLLIN | POLLHUP)) == 0) {
        if (waits[1].revents != 0) break;  // It has ended, and all that it wrote was read.
        continue;
      }
      const ssize_t size = read(pipe_[0], part.data(), part.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      const size_t room = kCapturedBytesMax - text.size();
      text.append(part.data(), std::min(room, static_cast<size_t>(size)));
    }
    return text;
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

/// It is not taken from the kernel.
bool ends_within(int child, Duration patience) {
  pollfd ended{child, POLLIN, 0};
  const int64_t millis = std::clamp<int64_t>(to_millis(patience), 0, INT_MAX);
  return poll(&ended, 1, static_cast<int>(millis)) != 0;
}

}  // namespace

std::string describe_exit(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  if (!WIFSIGNALED(status)) return fmt::format("status {}", status);
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

Result<ChildOutcome> run_child(const std::string& program,
                               const std::vector<std::string>& arguments, ChildOutput output,
                               std::optional<Duration> patience) {
  ChildStreams streams(output);
  if (!streams.ok()) return cannot_start(program, errno);
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), streams.actions(), nullptr, words.data(), environ);
  if (error != 0) return cannot_start(program, error);
  ChildOutcome outcome;
  const int child = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  outcome.overdue = patience && !ends_within(child, *patience);
  if (outcome.overdue) (void)kill(pid, SIGKILL);
  outcome.output = streams.read_all(child);
  if (child >= 0) close(child);
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
