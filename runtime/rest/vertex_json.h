#pragma once

#include <string>
#include <vector>

#include "jobmanager/cluster_view.h"
#include "runtime/rest/rest_json.h"

namespace freshet::rest {

// Vertices and their subtasks as JSON, as Flink shows them. Pure. What tells of each subtask of a
// vertex is text at once.

/// `ok` up to a tenth of the time, `low` up to half of it, else `high`.
std::string back_pressure_level(double share);

/// As a job lists them.
Json vertex_summary_json(const VertexView&, EpochMillis now);
/// With its subtasks, and what they have in common.
std::string vertex_text(const JobView&, const VertexView&, const std::vector<TaskManagerView>&);
std::string subtask_text(const SubtaskView&, EpochMillis now, const std::vector<TaskManagerView>&);
/// When each of its subtasks came to each state.
std::string subtask_times_text(const JobView&, const VertexView&,
                               const std::vector<TaskManagerView>&);
/// What runs where, in the order of subtasks.
Json vertex_task_managers_json(const JobView&, const VertexView&,
                               const std::vector<TaskManagerView>&);
Json back_pressure_json(const VertexView&, EpochMillis now);

}  // namespace freshet::rest
