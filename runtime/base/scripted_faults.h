#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/faults.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet {

/// One rule of `test.faults`: `[<process>/]<mark>:<n>:<action>`.
struct FaultAtMark {
  enum class Action { kKill, kStop, kThrow, kDelay };

  std::string text;     // As it was written.
  std::string process;  // `taskmanager-1`; empty: any that passes the mark.
  std::string mark;
  uint64_t passing = 1;  // From 1.
  bool every = false;    // Each `passing`-th time.
  Action action = Action::kKill;
  Duration delay{0};
};

/// Several separated by commas. The process is its name, or `taskmanager` or `jobmanager` for any
/// of them. `<n>` counts the passings of one process in one life, from 1; `every=K` is each K-th.
/// The action is `kill` (SIGKILL), `stop` (SIGSTOP), `throw` (an exception, at marks where one is
/// caught) or `delay[=ms]` (1000).
Result<std::vector<FaultAtMark>> parse_faults(const std::string& script);

/// What a record says of one fault.
struct FiredFault {
  EpochMillis time = 0;
  std::string process;
  std::string rule;  // FaultAtMark::text
  std::string mark;
  uint64_t passing = 0;
  bool operator==(const FiredFault&) const = default;
};
/// One line, with its end: `<time> <process> <rule> <mark> <passing>`.
std::string to_line(const FiredFault&);
/// Nullopt when it is none.
std::optional<FiredFault> parse_fired_fault(const std::string& line);

struct ScriptedFaultsOptions {
  std::string process;            // Its name.
  std::optional<FaultSide> side;  // Nullopt: it is both.
  /// Of a file to which each fault adds a line before it happens. Then a rule with a number fires
  /// once in all processes and lives of them that have the same record and script: whoever makes
  /// the file `<record>.<position of the rule, from 1>` may. Empty: none; rules are for this life.
  std::string record;
};

/// The end of the object logs `fault_never_fired` for each rule that its process could have fired
/// and nobody did: a test that waits for it would be wrong.
Result<std::unique_ptr<Faults>> make_scripted_faults(const std::string& script,
                                                     const ScriptedFaultsOptions& options);

}  // namespace freshet
