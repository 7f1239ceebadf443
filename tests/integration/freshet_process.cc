#include "tests/integration/freshet_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/file_system.h"

namespace freshet::testing {

TemporaryDirectory::TemporaryDirectory() {
  char path[] = "/tmp/freshet-test-XXXXXX";
  CHECK(mkdtemp(path) != nullptr);
  path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
  static_cast<void>(make_local_file_system()->remove_all(path_));
}

std::string read_file(const std::string& path) {
  auto text = make_local_file_system()->read_all(path);
  return text.ok() ? *std::move(text) : std::string();
}

void write_file(const std::string& path, const std::string& content) {
  CHECK(make_local_file_system()->write_atomically(path, content).ok());
}

bool exists(const std::string& path) { return make_local_file_system()->info(path).ok(); }

FreshetProcess::FreshetProcess(const std::vector<std::string>& arguments) {
  start(FRESHET_BINARY, arguments);
}

FreshetProcess::FreshetProcess(const std::string& program,
                               const std::vector<std::string>& arguments) {
  start(program, arguments);
}

void FreshetProcess::start(const std::string& program, const std::vector<std::string>& arguments) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const std::string out = files_ / "out";
  const std::string err = files_ / "err";
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0644);
  std::vector<char*> pointers{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  CHECK(posix_spawn(&identity_.pid, program.c_str(), &actions, nullptr, pointers.data(), environ) ==
        0);
  posix_spawn_file_actions_destroy(&actions);
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, identity_.pid, 0));
  CHECK(descriptor_ >= 0);
}

FreshetProcess::~FreshetProcess() {
  if (running()) {
    send_signal(SIGTERM);
    if (!wait(5s)) {
      send_signal(SIGKILL);
      wait(5s);
    }
  }
  close(descriptor_);
}

std::optional<int> FreshetProcess::wait(Duration timeout) {
  if (exit_code_) return exit_code_;
  pollfd ended{descriptor_, POLLIN, 0};
  if (poll(&ended, 1, static_cast<int>(to_millis(timeout))) <= 0) return std::nullopt;
  int status = 0;
  rusage used{};
  CHECK(wait4(identity_.pid, &status, 0, &used) == identity_.pid);
  for (const timeval& time : {used.ru_utime, used.ru_stime})
    cpu_time_ += std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

void FreshetProcess::send_signal(int signal) {
  if (!exit_code_) syscall(SYS_pidfd_send_signal, descriptor_, signal, nullptr, 0);
}

Outcome run_freshet(const std::vector<std::string>& arguments, Duration timeout) {
  return run_program(FRESHET_BINARY, arguments, timeout);
}

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    Duration timeout) {
  FreshetProcess process(program, arguments);
  const auto exit_code = process.wait(timeout);
  return {exit_code.value_or(-1), process.output(), process.errors(), process.cpu_time()};
}

void pause(Duration duration) { poll(nullptr, 0, static_cast<int>(to_millis(duration))); }

TimePoint monotonic_now() {
  static const std::unique_ptr<Clock> clock = make_system_clock();
  return clock->now();
}

}  // namespace freshet::testing
