#include "tests/sim/plan_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/base/check.h"
#include "runtime/chaos/random_plan.h"
#include "runtime/chaos/shrink.h"
#include "tests/sim/sim_program.h"

namespace freshet::sim {

namespace {

constexpr Duration kStepTimes[] = {Duration(0), 5ms, 50ms, 500ms};
constexpr Duration kShortestSpan = 40ms;  // Jobs whose steps take no time last as long.
constexpr uint32_t kStepsOfJob = 40;
constexpr uint32_t kShrinkingRunsMax = 400;

chaos::PlanBudget random_budget(Random& random, Duration step_time) {
  chaos::PlanBudget budget;
  budget.faults_max = 8;
  budget.span = std::max(kShortestSpan, step_time * kStepsOfJob);
  budget.outage_max = random.one_in(2) ? Duration(3s) : Duration(40s);  // Of a heartbeat: 10 s.
  budget.job_manager = random.one_in(5);
  return budget;
}

}  // namespace

std::string PlanCase::repeat(const std::string& plan_file) const {
  std::string steps;
  if (step_time > Duration(0)) steps = fmt::format(" --step-ms {}", step_time / 1ms);
  return fmt::format("sim_soak --plan {} --seed {} --job {}{}  # commit {}", plan_file, seed, job,
                     steps, SimProgram::commit());
}

PlanCase random_case(uint64_t seed) {
  const auto random = make_seeded_random(seed);
  const std::vector<std::string> names = sim_job_names();
  PlanCase made{.job = names[random->below(names.size())], .seed = seed};
  made.step_time = kStepTimes[random->below(std::size(kStepTimes))];
  const Result<SimJob> job = make_sim_job(made.job, seed);
  CHECK(job.ok());
  const SimCluster::Options options = options_for_plan(seed, made.step_time);
  const chaos::PlanBudget budget = random_budget(*random, made.step_time);
  auto faults =
      expand_for(random_fault_plan(*random, shape_for(*job, options), budget), *job, options);
  CHECK(faults.ok());
  made.faults = *std::move(faults);
  return made;
}

PlanRun run_case(const PlanCase& one) {
  const Result<SimJob> job = make_sim_job(one.job, one.seed);
  CHECK(job.ok());
  return run_plan(*job, options_for_plan(one.seed, one.step_time), one.faults);
}

PlanCase shrink_case(const PlanCase& one, const std::function<bool(const PlanCase&)>& fails) {
  PlanCase least = one;
  least.faults = shrink(
      one.faults,
      [&](const std::vector<chaos::PlannedFault>& faults) {
        PlanCase fewer = one;
        fewer.faults = faults;
        return fails(fewer);
      },
      kShrinkingRunsMax);
  return least;
}

std::string plan_file_of(const PlanCase& one, const std::string& path) {
  return fmt::format("# {}\n{}", one.repeat(path), to_text(as_plan(one.faults)));
}

}  // namespace freshet::sim
