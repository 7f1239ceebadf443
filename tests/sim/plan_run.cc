#include "tests/sim/plan_run.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/sim_run.h"

namespace freshet::sim {

namespace {

constexpr uint64_t kWideEvery = 3;  // Of seeds.

/// Longer than that, the time to cancel a task may be over once its process goes on: it ends then,
/// as it should.
constexpr Duration kLongPause = 10s;

bool stands_still(const chaos::Fault& fault) {
  return fault.mark_action == "stop" || fault.lasts > kLongPause;
}

}  // namespace

size_t PlanRun::fired() const {
  return static_cast<size_t>(
      std::count_if(faults.begin(), faults.end(),
                    [](const SimPlan::Outcome& one) { return one.fired.has_value(); }));
}

PlanRun run_plan(const SimJob& job, const SimCluster::Options& options,
                 const std::vector<chaos::PlannedFault>& faults) {
  PlanRun result;
  testing::TestPartResultArray failures;
  SimRun run(job, options);
  SimPlan plan(run.cluster(), faults);
  for (const chaos::PlannedFault& planned : faults) {
    if (stands_still(planned.fault)) run.world().log().expect_error("cancellation_timeout");
  }
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
    plan.start();
    run.expect_exactly_once_or_refused();
  }
  for (int i = 0; i < failures.size(); ++i)
    result.failures.emplace_back(failures.GetTestPartResult(i).message());
  result.faults = plan.outcomes();
  result.state = run.cluster().job_state();
  result.restarts = run.cluster().restarts();
  result.trace_hash = run.world().queue().trace_hash();
  return result;
}

SimCluster::Options options_for_plan(uint64_t seed, Duration step_time) {
  return {.seed = seed,
          .wide = seed % kWideEvery == 0,
          .step_time = step_time,
          .configuration = patient_configuration()};
}

chaos::ClusterShape shape_for(const SimJob& job, const SimCluster::Options& options) {
  SimCluster cluster(options);
  cluster.submit(job);
  return SimPlan::shape_of(cluster.graph(), options.task_managers);
}

Result<std::vector<chaos::PlannedFault>> expand_for(const chaos::FaultPlan& plan, const SimJob& job,
                                                    const SimCluster::Options& options) {
  ASSIGN_OR_RETURN(std::vector<chaos::PlannedFault> faults,
                   expand(plan, shape_for(job, options), options.seed));
  for (const chaos::PlannedFault& fault : faults) RETURN_IF_ERROR(SimPlan::check(fault));
  return faults;
}

}  // namespace freshet::sim
