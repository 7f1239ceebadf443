#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/ids.h"

namespace freshet {

/// What is known of the end of a process by a signal.
struct CrashReport {
  static constexpr size_t kFramesMax = 48;
  static constexpr size_t kFrameBytesMax = 1024;

  std::string reason;                // `SIGSEGV at address 0x10`, `SIGABRT: CHECK failed: ...`
  std::string thread;                // Its name.
  std::optional<JobId> job;          // Whose code ran; null when none did.
  std::optional<AttemptId> attempt;  // Of that job, when it was a task.
  std::string code_name;             // Operator, or `builder`.
  std::optional<uint32_t> position;  // Of that operator among those of its task.
  bool provoked = false;             // By somebody who tries failures out.
  std::vector<std::string>
      frames;                  // `count(std::string const&) at job.cc:12`, the innermost first.
  std::string culprit;         // The first of them that is the job's own; may be empty.
  std::string culprit_object;  // The path of the library that it is in.

  /// `SIGSEGV at address 0x10 in count(std::string const&) at job.cc:12`
  std::string summary() const { return culprit.empty() ? reason : reason + " in " + culprit; }
};

}  // namespace freshet
