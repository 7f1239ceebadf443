#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "runtime/base/ids.h"

namespace freshet {

/// Code of users that a thread runs: whom to name when it crashes, or does not return. Written by
/// that thread, read by others and in signal handlers.
struct RunningCode {
  AttemptId attempt;  // Of other code than a task's: only the job.
  bool is_task = true;
  std::atomic<const std::string*> name{
      nullptr};  // Operator, or `builder`; outlives this. Null: none of it now.
  std::vector<const std::string*> names;   // In the order of a task's operators; `name` is one.
  const std::string* otherwise = nullptr;  // Whose it is when `name` is null, as while decoding.
  std::atomic<bool> provoked{false};       // What comes now was asked for, as an experiment.
};

/// Of the calling thread; null when it runs none.
const RunningCode* running_code();

/// Makes it so until the scope ends. Nested scopes restore what was before.
class RunningCodeScope {
 public:
  explicit RunningCodeScope(const RunningCode* code);
  ~RunningCodeScope();
  RunningCodeScope(const RunningCodeScope&) = delete;
  RunningCodeScope& operator=(const RunningCodeScope&) = delete;

 private:
  const RunningCode* const before_;
};

}  // namespace freshet
