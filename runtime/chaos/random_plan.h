#pragma once

#include <vector>

#include "runtime/chaos/fault_plan.h"

namespace freshet::chaos {

/// How much a random plan may break, so that a job still comes to its end.
struct PlanBudget {
  uint32_t faults_max = 6;            // Over all rules; at least 1.
  Duration span = 10s;                // In which faults begin.
  Duration outage_max = 3s;           // Of what lasts.
  Duration disk_full_max = 2500ms;    // Less than all tries to publish a result take.
  Duration delay_max = 20ms;          // Of slow links and disks.
  uint64_t passing_max = 20;          // Of marks.
  bool job_manager = false;           // Whether it may die: then it forgets its jobs.
  std::vector<FaultKind> kinds = {};  // Empty: all but kHang, which costs the time of a watchdog.
};

/// Rules by chance, of all kinds that the shape has a victim for. What to_text() says of it is all
/// there is: the same text with the same seed is the same run.
FaultPlan random_fault_plan(Random&, const ClusterShape&, const PlanBudget&);

}  // namespace freshet::chaos
