#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/faults.h"
#include "runtime/base/status.h"

namespace freshet {

/// Breaks what must never break: a record that one task gives another is lost, or given twice. So
/// that a tool that looks for such faults can show that it finds them. Thread-safe.
class RecordFaults {
 public:
  enum class Action : uint8_t { kNone, kLose, kDouble };

  /// `lose:<n>` or `double:<n>`: the n-th record of this process, from 1; with `every=<n>` each
  /// n-th, so that it is met again after a restart of the job.
  static Result<std::unique_ptr<RecordFaults>> parse(const std::string& script);

  RecordFaults(Action action, uint64_t number, bool again)
      : action_(action), number_(number), again_(again) {}

  /// Of the next record that leaves a task.
  Action next();

 private:
  const Action action_;
  const uint64_t number_;
  const bool again_;
  std::atomic<uint64_t> records_{0};
};

/// `marks`, which may be null, with these for the tasks of the same process.
std::unique_ptr<Faults> with_record_faults(std::unique_ptr<Faults> marks,
                                           std::unique_ptr<RecordFaults>);

}  // namespace freshet
