#include "tests/sim/sim_faults.h"

#include <gtest/gtest.h>

namespace freshet::sim {
namespace {

using Action = SimFaultPlan::Action;

class CountingVictim final : public FaultVictim {
 public:
  void crash() override { ++crashes; }
  void pause(Duration) override { ++pauses; }
  int crashes = 0;
  int pauses = 0;
};

const std::string kMark = "deploy.before_ack";

TEST(SimFaultsTest, ActAtTheGivenPassingOnly) {
  SimFaultPlan plan(make_seeded_random(1));
  plan.add(kMark, 2, Action::kCrash);
  CountingVictim victim;
  SimFaults faults(plan, victim);
  faults.at(kMark);
  EXPECT_EQ(victim.crashes, 0);
  faults.at("task.before_element");
  faults.at(kMark);
  EXPECT_EQ(victim.crashes, 1);
  faults.at(kMark);
  EXPECT_EQ(victim.crashes, 1);
  EXPECT_EQ(plan.passed().at(kMark), 3u);
  EXPECT_EQ(plan.fired().at(kMark), 1u);
}

TEST(SimFaultsTest, ThrowWhatUserCodeCouldThrow) {
  SimFaultPlan plan(make_seeded_random(1));
  plan.add(kMark, 1, Action::kThrow);
  CountingVictim victim;
  SimFaults faults(plan, victim);
  EXPECT_THROW(faults.at(kMark), std::runtime_error);
}

TEST(SimFaultsTest, ByChanceAreAtMostAsManyAsAllowed) {
  SimFaultPlan plan(make_seeded_random(1));
  plan.set_chance(3, 4);
  CountingVictim victim;
  SimFaults faults(plan, victim);
  for (int i = 0; i < 200; ++i) faults.at(kMark);
  EXPECT_EQ(victim.crashes + victim.pauses, 4);
  EXPECT_EQ(plan.fired_count(), 4u);
}

TEST(SimFaultsTest, ByChanceSpareOneSide) {
  SimFaultPlan plan(make_seeded_random(1));
  plan.set_chance(1, 10);
  plan.spare(FaultSide::kJobManager);
  CountingVictim victim;
  SimFaults faults(plan, victim);
  for (int i = 0; i < 20; ++i) faults.at("deploy.before_send");
  EXPECT_EQ(plan.fired_count(), 0u);
  for (int i = 0; i < 20; ++i) faults.at(kMark);
  EXPECT_EQ(plan.fired_count(), 10u);
}

}  // namespace
}  // namespace freshet::sim
