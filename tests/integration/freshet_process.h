#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/process_host.h"
#include "runtime/base/time.h"

namespace freshet::testing {

/// A directory of its own, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);
bool exists(const std::string& path);

/// One running `freshet`; ended by the destructor if it still runs.
class FreshetProcess {
 public:
  explicit FreshetProcess(const std::vector<std::string>& arguments);
  /// Another program.
  FreshetProcess(const std::string& program, const std::vector<std::string>& arguments);
  ~FreshetProcess();
  FreshetProcess(const FreshetProcess&) = delete;
  FreshetProcess& operator=(const FreshetProcess&) = delete;

  /// Its exit code, or 128 and the signal's number; nullopt if it does not end in time.
  std::optional<int> wait(Duration timeout);
  bool running() { return !wait(Duration(0)).has_value(); }
  void send_signal(int signal);

  std::string output() const { return read_file(files_ / "out"); }
  std::string errors() const { return read_file(files_ / "err"); }
  pid_t pid() const { return identity_.pid; }
  /// User and system time of all its threads; known once it has ended.
  Duration cpu_time() const { return cpu_time_; }

 private:
  void start(const std::string& program, const std::vector<std::string>& arguments);

  TemporaryDirectory files_;
  ProcessIdentity identity_;
  int descriptor_ = -1;
  std::optional<int> exit_code_;
  Duration cpu_time_{};
};

struct Outcome {
  int exit_code = -1;  // -1: it did not end in time and was ended.
  std::string output;
  std::string errors;
  Duration cpu_time{};
};

/// Runs a command to its end.
Outcome run_freshet(const std::vector<std::string>& arguments, Duration timeout = 60s);
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    Duration timeout = 60s);

/// Asks `condition` again and again until it holds; false when it does not within `timeout`.
template <class Condition>
bool wait_until(Condition condition, Duration timeout);

/// Lets `duration` pass.
void pause(Duration duration);
TimePoint monotonic_now();

template <class Condition>
bool wait_until(Condition condition, Duration timeout) {
  const TimePoint deadline = monotonic_now() + timeout;
  while (!condition()) {
    if (monotonic_now() >= deadline) return false;
    pause(5ms);
  }
  return true;
}

}  // namespace freshet::testing
