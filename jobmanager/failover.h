#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobmanager/execution_graph.h"
#include "runtime/base/status.h"

namespace freshet {

/// What went wrong, once for all subtasks that fell with it: the tasks of a lost TaskManager are
/// one failure.
struct TaskFailure {
  std::vector<SubtaskId> subtasks;
  Status cause;
  std::string operator_name;                  // Where user code failed, if it did.
  std::optional<TaskManagerId> task_manager;  // Set when it was lost.
  std::string task_manager_text;              // The same, for people.
  std::string details;                        // Lines for people, such as a backtrace.
  bool permanent = false;                     // No restart would help.
  std::string endpoint = {};                  // Of the data plane of `task_manager`.
};

/// How much a failure restarts; `jobmanager.execution.failover-strategy`.
enum class FailoverStrategy {
  kRegion,  // What must: see plan_failover().
  kFull,    // All that has begun.
};

/// Which regions get new attempts.
struct FailoverPlan {
  std::vector<uint32_t> regions;  // Ascending.
  uint64_t steps = 0;  // Subtasks, groups and producers that were visited: follows what restarts.
};

/// Decides what a failure restarts: the regions of `failed` subtasks; of each of them those that
/// made what it reads and is gone; and all that are reading what it made, because the next attempt
/// may give something else. Those that have read all of it, also those that go on, stay as they are
/// until that is seen: see misled_consumers(). Besides, whoever made something that is gone
/// (`Execution::output_lost`, `ExecutionGraph::is_released()`) and is still wanted. Each group
/// is visited once. See "Restart of a job" in DESIGN_NOTES.md.
///
/// `lost`: executions whose output was lost with this failure.
FailoverPlan plan_failover(const ExecutionGraph&, const std::vector<SubtaskId>& failed,
                           const std::vector<uint32_t>& lost);

/// The same by `full`: every region that has begun, unless nothing of it is needed.
FailoverPlan plan_failover(const ExecutionGraph&, const std::vector<SubtaskId>& failed,
                           const std::vector<uint32_t>& lost, FailoverStrategy);

/// Subtasks of other regions that have read what a producer made of a blocking edge before the
/// attempt of it that has ended now.
std::vector<SubtaskId> misled_consumers(const ExecutionGraph&, DatasetId, uint32_t producer);

}  // namespace freshet
