#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet {

/// How another program ended.
struct ChildOutcome {
  bool success = false;
  bool by_signal = false;
  bool overdue = false;  // It was killed because its time was over.
  std::string how;       // `exit code 1`, `signal 9 (Killed)`.
  std::string output;    // When it was captured: the beginning of what it wrote.
};

enum class ChildOutput {
  kToErrors,  // Standard output and error both go to this process' standard error.
  kCaptured,  // Standard output is kept, standard error is dropped.
};

struct ChildLimits {
  std::optional<Duration> patience = {};  // Then it is killed.
  size_t output_bytes_max = 64 << 10;
  const std::atomic<bool>* give_up = nullptr;  // Set: as if its time were over.
  /// Besides this process' own.
  std::map<std::string, std::string> environment = {};
};

/// Runs a program to its end, with these arguments as they are: no shell sees them. Standard input
/// is empty. Blocks.
Result<ChildOutcome> run_child(const std::string& program,
                               const std::vector<std::string>& arguments, ChildOutput output,
                               const ChildLimits& limits = {});

/// `exit code 1`, `signal 9 (Killed)`: of a status that wait() gave.
std::string describe_exit(int status);

/// The file that runs under this name: the name itself when it has a slash, else the first in the
/// folders of `path`, which are separated by colons. kNotFound when there is none.
Result<std::string> find_program(const std::string& name, const std::string& path);

}  // namespace freshet
