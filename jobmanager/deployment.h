#pragma once

#include <vector>

#include "jobmanager/execution_graph.h"
#include "jobmanager/job_commands.h"

namespace freshet {

/// Of `executions`, ascending: one message for each TaskManager that has some, in the order of the
/// first one; more of them for one that gets so many that they would come near the largest message.
/// What several tasks share is made once, for all TaskManagers: cost and size follow subtasks and
/// groups, never pairs. `check` is passed on.
std::vector<job_commands::DeployTasks> build_deployment(const ExecutionGraph&, JobId job,
                                                        bool check,
                                                        const std::vector<uint32_t>& executions);

}  // namespace freshet
