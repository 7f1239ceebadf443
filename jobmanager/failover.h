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
};

/// Subtasks of one vertex.
struct SubtaskRange {
  VertexId vertex;
  IndexRange subtasks;
  bool operator==(const SubtaskRange&) const = default;
};

/// Which subtasks get a new attempt after a failure.
struct FailoverPlan {
  std::vector<SubtaskRange> restart;
};

/// Decides what a failure restarts. Pipelined edges join all vertices of a job into one region, so
/// that it is the whole job. See "Restart of a job" in DESIGN_NOTES.md.
FailoverPlan plan_failover(const ExecutionGraph&, const TaskFailure&);

}  // namespace freshet
