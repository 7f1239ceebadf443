#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "jobmanager/execution_graph.h"
#include "jobmanager/job_commands.h"

namespace freshet {

/// Groups whose producers have all ended: where these are stays the same until one of them is to
/// run again. Then whoever keeps it clears it.
using LocatedGroups = std::unordered_map<uint32_t, std::shared_ptr<const job_commands::GateGroup>>;

/// Of `executions`, ascending: one message for each TaskManager that has some, in the order of the
/// first one; more of them for one that gets so many that they would come near the largest message.
/// What several tasks share is made once, for all TaskManagers: cost and size follow subtasks and
/// groups, never pairs. `check` is passed on.
std::vector<job_commands::DeployTasks> build_deployment(const ExecutionGraph&, JobId job,
                                                        bool check,
                                                        const std::vector<uint32_t>& executions,
                                                        LocatedGroups* located);

}  // namespace freshet
