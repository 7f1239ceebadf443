#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "jobmanager/cluster_view.h"
#include "runtime/rest/cluster_queries.h"

namespace freshet::rest {

// Views of a cluster as JSON with the keys and states of Flink's REST API. Pure.

/// Keeps the order in which keys were added.
using Json = nlohmann::ordered_json;

/// Flink knows no COMMITTING: such a job is RUNNING.
std::string job_state_name(JobState state);
/// Flink knows no END_OF_DATA: such a task is FINISHED.
std::string task_state_name(TaskState state);
/// Of a vertex, from the states of its subtasks, as Flink's ExecutionJobVertex does.
std::string vertex_state_name(const TaskCounts& counts, uint32_t parallelism);

/// All of Flink's states of tasks.
Json task_counts_json(const TaskCounts&);
/// To now while there is no end; kNever without a begin.
EpochMillis duration(EpochMillis begin, EpochMillis end, EpochMillis now);

Json job_overview_json(const JobSummaryView&, EpochMillis now);
Json job_json(const JobView&);
Json job_exceptions_json(const JobView&, size_t failures_max);
Json job_config_json(const JobView&);
/// As TaskManagers are listed; what its machine is and has, once it has said so.
Json task_manager_json(const TaskManagerView&);
/// With its memory for buffers.
Json task_manager_details_json(const TaskManagerView&);
Json threads_json(const std::vector<ThreadView>&);
Json logs_json(const std::vector<LogFileView>&);
/// There is no JVM; what stands for it is this library and its compiler, and the settings of the
/// process for its options.
Json environment_json(const std::string& architecture,
                      const std::vector<std::pair<std::string, std::string>>& settings);
/// `[{"key": ..., "value": ...}]`
Json settings_json(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace freshet::rest
