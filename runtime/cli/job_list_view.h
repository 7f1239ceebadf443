#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/app/control_client.h"

namespace freshet::cli {

/// Names of TaskManagers, as far as they are still there.
using TaskManagerNames = std::map<TaskManagerId, std::string>;

/// A line of headings, then of each job one, with what it waits for and why it last failed below.
std::string job_list_text(const std::vector<JobReport>& jobs);

/// The vertices of a job with their subtasks. A vertex shows its largest share of time, as Flink
/// does: the bottleneck is the busy one behind those that are back-pressured.
std::string task_list_text(const JobDetails& details, const TaskManagerNames& names);

/// One job, with the keys of Flink's REST API where they fit.
nlohmann::ordered_json job_json(const JobReport& job);

/// `{"jobs": [...]}` of such jobs; with `with_tasks` each job
/// has `vertices` with their `subtasks`.
std::string job_list_json(const std::vector<JobDetails>& jobs, bool with_tasks,
                          const TaskManagerNames& names);

}  // namespace freshet::cli
