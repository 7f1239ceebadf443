#include "jobmanager/failover.h"

namespace freshet {

FailoverPlan plan_failover(const ExecutionGraph& graph, const TaskFailure&) {
  FailoverPlan plan;
  for (const JobVertex& vertex : graph.job_graph().vertices) {
    plan.restart.push_back({vertex.id, {0, vertex.parallelism}});
  }
  return plan;
}

}  // namespace freshet
