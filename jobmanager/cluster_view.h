#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jobmanager/execution_graph.h"
#include "runtime/base/ids.h"
#include "runtime/base/time.h"
#include "runtime/graph/task_state.h"

namespace freshet {

class Clock;
class JobDispatcher;
class JobMaster;
struct JobRecord;

// What a JobManager knows, as plain values that any thread may read: made on its main thread, of
// one moment. Wall-clock times are in milliseconds since 1970; kNever where there is none.

inline constexpr EpochMillis kNever = -1;

using EntryTimes = std::array<EpochMillis, 10>;  // By TaskState.
inline EntryTimes never_entered() {
  EntryTimes times;
  times.fill(kNever);
  return times;
}

struct SubtaskView {
  uint32_t index = 0;
  TaskState state = TaskState::kCreated;
  AttemptNumber attempt = 0;
  TaskManagerId task_manager;
  EpochMillis started = kNever;          // Its deployment.
  EpochMillis ended = kNever;            // All its data was processed, or it was ended.
  EntryTimes entered = never_entered();  // When the attempt came to each state.
  ExecutionProgress progress;            // Gauges are 0 once it has ended.
};

/// Of a chain, those that have metrics of their own.
struct OperatorView {
  std::string name;  // `Source: text`
  bool head = false;
  bool source = false;
};

using TaskCounts = std::array<uint32_t, 10>;  // By TaskState.

struct VertexView {
  std::string id;    // 32 hex digits.
  std::string name;  // `Source: text -> words`
  std::string slot_sharing_group;
  uint32_t parallelism = 0;
  uint32_t max_parallelism = 0;
  TaskCounts counts{};
  std::vector<OperatorView> operators;
  std::vector<SubtaskView> subtasks;
};

struct FailureView {
  EpochMillis at = 0;
  std::string kind;  // Of the cause's code: `unavailable`.
  std::string message;
  std::string details;  // Further lines, each after a line break.
  std::string task;
  std::string task_manager;
  TaskManagerId task_manager_id = {};  // Unset without one.
  std::string endpoint = {};           // Of its data plane.
};

struct JobSummaryView {
  JobId id;
  std::string name;
  JobState state = JobState::kCreated;
  EpochMillis started = 0;  // Its submission.
  EpochMillis ended = kNever;
  EpochMillis last_modification = 0;
  TaskCounts counts{};  // Without coordinators, which users did not write.
  JobNumbers numbers;
};

struct JobView {
  JobSummaryView summary;
  EpochMillis now = 0;
  bool batch = false;
  uint32_t restarts = 0;
  std::string waiting_for;
  std::vector<std::pair<JobState, EpochMillis>> entered;  // When it was last in each state.
  std::vector<VertexView> vertices;                       // Without coordinators.
  std::vector<FailureView> failures;                      // Latest first.
  bool failures_truncated = false;
  std::shared_ptr<const JobGraph> graph;
  std::vector<std::pair<std::string, std::string>> settings;  // What it was submitted with.
};

struct TaskManagerView {
  TaskManagerId id;
  std::string name;
  std::string data_host;
  uint16_t data_port = 0;
  uint32_t slots = 0;
  uint32_t slots_free = 0;
  bool withheld = false;  // Its slots are given to nobody now.
  uint32_t pid = 0;
  std::string host_id;              // Machine and boot.
  std::string log_path;             // On that machine; empty: it logs to its standard error.
  EpochMillis last_heard = kNever;  // Its last heartbeat; not filled by task_managers_of().
  std::vector<JobId> jobs;          // One per slot that is taken.
  TaskManagerNumbers numbers;       // As of then; not filled by it either.
};

/// When a job was submitted, and when it ended, on the clock on the wall; kNever: not yet.
struct JobTimes {
  EpochMillis submitted = 0;
  EpochMillis ended = kNever;
};

/// On the main thread. Cost: the tasks of what is shown.
JobSummaryView summary_of(const JobRecord&, const Clock&);
JobView view_of(const JobRecord&, const Clock&);
/// The same of its parts. `graph` is shown as it is.
JobView view_of(const JobMaster&, const JobTimes&, const Clock&,
                std::shared_ptr<const JobGraph> graph);
std::vector<TaskManagerView> task_managers_of(const JobDispatcher&);

}  // namespace freshet
