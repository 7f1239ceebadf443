#pragma once

#include <cstdint>
#include <vector>

#include "jobmanager/execution_graph.h"
#include "jobmanager/job_commands.h"
#include "jobmanager/located_groups.h"

namespace freshet {

/// Of `executions`, ascending: one message for each TaskManager that has some, in the order of the
/// first one; more of them for one that gets so many that they would come near the largest message.
/// What several tasks share is made once, for all TaskManagers: cost and size follow subtasks and
/// groups, never pairs. Groups that later deployments will name too are kept in `located`, and are
/// sent to each TaskManager once. `check` is passed on.
std::vector<job_commands::DeployTasks> build_deployment(const ExecutionGraph&, JobId job,
                                                        bool check,
                                                        const std::vector<uint32_t>& executions,
                                                        LocatedGroups* located);

}  // namespace freshet
