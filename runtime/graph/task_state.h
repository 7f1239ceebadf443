#pragma once

#include <cstdint>
#include <string_view>

namespace freshet {

/// Life of one execution attempt. Legal moves: can_move(); both sides use it.
///
///   CREATED -> SCHEDULED -> DEPLOYING -> INITIALIZING -> RUNNING -> END_OF_DATA -> FINISHED
///   any of the first six -> CANCELING -> CANCELED;  any but the terminal ones -> FAILED
enum class TaskState : uint8_t {
  kCreated = 0,
  kScheduled = 1,
  kDeploying = 2,
  kInitializing = 3,
  kRunning = 4,
  kEndOfData =
      5,  // All its data is processed and sent; it stays until the whole job has got there.
  kFinished = 6,
  kCanceling = 7,
  kCanceled = 8,
  kFailed = 9,
};

bool can_move(TaskState from, TaskState to);
inline bool is_terminal(TaskState s) {
  return s == TaskState::kFinished || s == TaskState::kCanceled || s == TaskState::kFailed;
}
std::string_view to_string(TaskState);  // `RUNNING`

/// Flink's names; kCommitting is shown as RUNNING to those who know only Flink's. Legal moves:
/// can_move().
///
///   CREATED -> RUNNING -> COMMITTING -> FINISHED
///   CREATED, RUNNING -> RESTARTING -> CREATED, RUNNING
///   any but the terminal ones and FAILING -> FAILING -> FAILED;  CREATED, RESTARTING, COMMITTING,
///   CANCELLING -> FAILED CREATED, RUNNING, RESTARTING -> CANCELLING -> CANCELED;  CREATED,
///   RESTARTING -> CANCELED
enum class JobState : uint8_t {
  kCreated = 0,  // Waits for slots too.
  kRunning = 1,
  kCommitting =
      2,  // All tasks are at the end of their data; results are being published. No way back.
  kFailing = 3,
  kFailed = 4,
  kCancelling = 5,
  kCanceled = 6,
  kFinished = 7,
  kRestarting = 8,
};

bool can_move(JobState from, JobState to);
inline bool is_terminal(JobState s) {
  return s == JobState::kFailed || s == JobState::kCanceled || s == JobState::kFinished;
}
std::string_view to_string(JobState);

}  // namespace freshet
