#pragma once

#include <string>
#include <vector>

#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_job.h"
#include "tests/sim/sim_plan.h"

namespace freshet::sim {

/// What came of one job that a plan broke.
struct PlanRun {
  std::vector<std::string> failures;  // What did not hold at the end, for people; empty: all did.
  std::vector<SimPlan::Outcome> faults;
  JobState state = JobState::kCreated;
  uint32_t restarts = 0;
  uint64_t trace_hash = 0;

  size_t fired() const;
};

/// Runs it, and checks everything that SimRun::expect_exactly_once_or_refused() does. A failure is
/// told and not one of the test that runs.
PlanRun run_plan(const SimJob&, const SimCluster::Options&,
                 const std::vector<chaos::PlannedFault>&);

/// Of these options as they must be where anything may break for a while.
SimCluster::Options options_for_plan(uint64_t seed, Duration step_time);

/// What a plan of this job can name.
chaos::ClusterShape shape_for(const SimJob&, const SimCluster::Options&);

/// What a plan becomes for this job; kInvalidArgument too when a simulation cannot do it.
Result<std::vector<chaos::PlannedFault>> expand_for(const chaos::FaultPlan&, const SimJob&,
                                                    const SimCluster::Options&);

}  // namespace freshet::sim
