#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"
#include "runtime/graph/task_state.h"

namespace freshet {

/// A failure of a job as users read of it.
struct JobFailure {
  TimePoint at;
  Status cause;
  std::string task;                    // `count (2/4)`; empty when a TaskManager was lost.
  std::string task_manager;            // `taskmanager-2 (tm-00000000000000a1, 10.0.0.7:41689)`
  std::string details;                 // Further lines, each after a line break; may be empty.
  TaskManagerId task_manager_id = {};  // Of the same; unset without one.
  std::string endpoint = {};           // Its data plane: `10.0.0.7:41689`.
};

/// When a job was last in each state, and its latest failures.
class JobHistory {
 public:
  /// As Flink keeps by default (web.exception-history-size).
  static constexpr size_t kFailuresMax = 16;

  void note_state(TimePoint now, JobState state) {
    entered_[static_cast<size_t>(state)] = now;
    last_change_ = now;
  }
  void note_failure(JobFailure failure) {
    last_change_ = failure.at;
    failures_.push_front(std::move(failure));
    if (failures_.size() <= kFailuresMax) return;
    failures_.pop_back();
    truncated_ = true;
  }

  /// The last time; nullopt when never.
  std::optional<TimePoint> entered(JobState state) const {
    return entered_[static_cast<size_t>(state)];
  }
  TimePoint last_change() const { return last_change_; }
  /// Latest first.
  const std::deque<JobFailure>& failures() const { return failures_; }
  /// There were more.
  bool truncated() const { return truncated_; }

 private:
  std::array<std::optional<TimePoint>, 9> entered_;
  std::deque<JobFailure> failures_;
  TimePoint last_change_{};
  bool truncated_ = false;
};

}  // namespace freshet
