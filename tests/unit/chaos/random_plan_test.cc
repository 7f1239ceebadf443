#include "runtime/chaos/random_plan.h"

#include <gtest/gtest.h>

#include <map>

namespace freshet::chaos {
namespace {

ClusterShape shape() {
  ClusterShape shape;
  shape.task_managers = 3;
  shape.vertices = {{"0", "source", 2}, {"1", "count", 4}};
  return shape;
}

FaultPlan plan_of(uint64_t seed, const PlanBudget& budget = {}, const ClusterShape& of = shape()) {
  return random_fault_plan(*make_seeded_random(seed), of, budget);
}

TEST(RandomPlanTest, TextIsAllThereIs) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const FaultPlan plan = plan_of(seed);
    const auto parsed = parse_fault_plan("plan", to_text(plan));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << '\n' << to_text(plan);
    EXPECT_EQ(*parsed, plan) << to_text(plan);
    EXPECT_EQ(plan_of(seed), plan);
  }
}

TEST(RandomPlanTest, StaysInItsBudget) {
  const PlanBudget budget{.faults_max = 5, .span = 2s, .outage_max = 300ms};
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const auto faults = expand(plan_of(seed, budget), shape(), seed);
    ASSERT_TRUE(faults.ok()) << faults.status().message();
    EXPECT_GE(faults->size(), 1u);
    EXPECT_LE(faults->size(), 5u);
    for (const PlannedFault& planned : *faults) {
      if (planned.at) {
        EXPECT_LE(*planned.at, 3s) << planned.to_string();  // With its jitter.
      }
      EXPECT_LE(planned.fault.lasts, 300ms) << planned.to_string();
      const bool dies =
          planned.fault.process.job_manager &&
          (planned.fault.kind == FaultKind::kKill || planned.fault.mark_action == "kill");
      EXPECT_FALSE(dies) << planned.to_string();
    }
  }
}

TEST(RandomPlanTest, HasEveryKindButHang) {
  std::map<FaultKind, int> kinds;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    for (const FaultRule& rule : plan_of(seed).rules) ++kinds[rule.fault.kind];
  }
  for (const FaultKindInfo& info : fault_kinds()) {
    EXPECT_EQ(kinds[info.kind] > 0, info.kind != FaultKind::kHang) << info.name;
  }
}

TEST(RandomPlanTest, HasOnlyTheKindsThatAreWanted) {
  const PlanBudget budget{.kinds = {FaultKind::kHang, FaultKind::kSlow}};
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    for (const FaultRule& rule : plan_of(seed, budget).rules)
      EXPECT_TRUE(rule.fault.kind == FaultKind::kHang || rule.fault.kind == FaultKind::kSlow);
  }
}

TEST(RandomPlanTest, OfOneTaskManagerHasNoLinkOfTwo) {
  ClusterShape alone = shape();
  alone.task_managers = 1;
  for (uint64_t seed = 1; seed <= 200; ++seed)
    EXPECT_TRUE(expand(plan_of(seed, {}, alone), alone, seed).ok());
}

}  // namespace
}  // namespace freshet::chaos
