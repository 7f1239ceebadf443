#include "runtime/graph/task_state.h"

#include <iterator>

#include "runtime/base/check.h"

namespace freshet {
namespace {

constexpr uint32_t bit(TaskState state) { return 1u << static_cast<uint32_t>(state); }
constexpr uint32_t bit(JobState state) { return 1u << static_cast<uint32_t>(state); }

/// Index: the state that is left; bits: the states that may follow.
constexpr uint32_t kTaskMoves[] = {
    /* CREATED      */ bit(TaskState::kScheduled) | bit(TaskState::kCanceling) |
        bit(TaskState::kFailed),
    /* SCHEDULED    */ bit(TaskState::kDeploying) | bit(TaskState::kCanceling) |
        bit(TaskState::kFailed),
    /* DEPLOYING    */ bit(TaskState::kInitializing) | bit(TaskState::kCanceling) |
        bit(TaskState::kFailed),
    /* INITIALIZING */ bit(TaskState::kRunning) | bit(TaskState::kCanceling) |
        bit(TaskState::kFailed),
    /* RUNNING      */ bit(TaskState::kEndOfData) | bit(TaskState::kCanceling) |
        bit(TaskState::kFailed),
    /* END_OF_DATA  */ bit(TaskState::kFinished) | bit(TaskState::kCanceling) |
        bit(TaskState::kFailed),
    /* FINISHED     */ 0,
    /* CANCELING    */ bit(TaskState::kCanceled) | bit(TaskState::kFailed),
    /* CANCELED     */ 0,
    /* FAILED       */ 0,
};

constexpr uint32_t kJobMoves[] = {
    /* CREATED    */ bit(JobState::kRunning) | bit(JobState::kFailing) | bit(JobState::kFailed) |
        bit(JobState::kCancelling) | bit(JobState::kCanceled) | bit(JobState::kRestarting),
    /* RUNNING    */ bit(JobState::kCommitting) | bit(JobState::kFailing) |
        bit(JobState::kCancelling) | bit(JobState::kRestarting),
    /* COMMITTING */ bit(JobState::kFinished) | bit(JobState::kFailing) | bit(JobState::kFailed),
    /* FAILING    */ bit(JobState::kFailed),
    /* FAILED     */ 0,
    /* CANCELLING */ bit(JobState::kCanceled) | bit(JobState::kFailing) | bit(JobState::kFailed),
    /* CANCELED   */ 0,
    /* FINISHED   */ 0,
    /* RESTARTING */ bit(JobState::kCreated) | bit(JobState::kRunning) | bit(JobState::kFailing) |
        bit(JobState::kFailed) | bit(JobState::kCancelling) | bit(JobState::kCanceled),
};

}  // namespace

bool can_move(TaskState from, TaskState to) {
  const auto index = static_cast<size_t>(from);
  CHECK(index < std::size(kTaskMoves));
  return (kTaskMoves[index] & bit(to)) != 0;
}

bool can_move(JobState from, JobState to) {
  const auto index = static_cast<size_t>(from);
  CHECK(index < std::size(kJobMoves));
  return (kJobMoves[index] & bit(to)) != 0;
}

std::string_view to_string(TaskState state) {
  switch (state) {
    case TaskState::kCreated:
      return "CREATED";
    case TaskState::kScheduled:
      return "SCHEDULED";
    case TaskState::kDeploying:
      return "DEPLOYING";
    case TaskState::kInitializing:
      return "INITIALIZING";
    case TaskState::kRunning:
      return "RUNNING";
    case TaskState::kEndOfData:
      return "END_OF_DATA";
    case TaskState::kFinished:
      return "FINISHED";
    case TaskState::kCanceling:
      return "CANCELING";
    case TaskState::kCanceled:
      return "CANCELED";
    case TaskState::kFailed:
      return "FAILED";
  }
  check_failed(__FILE__, __LINE__, "the value is one of the enumeration");
}

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::kCreated:
      return "CREATED";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kCommitting:
      return "COMMITTING";
    case JobState::kFailing:
      return "FAILING";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelling:
      return "CANCELLING";
    case JobState::kCanceled:
      return "CANCELED";
    case JobState::kFinished:
      return "FINISHED";
    case JobState::kRestarting:
      return "RESTARTING";
  }
  check_failed(__FILE__, __LINE__, "the value is one of the enumeration");
}

}  // namespace freshet
