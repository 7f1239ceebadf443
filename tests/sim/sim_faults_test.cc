#include "tests/sim/sim_faults.h"

#include <gtest/gtest.h>

namespace freshet::sim {
namespace {

using Action = SimFaultPlan::Action;

class CountingVictim final : public FaultVictim {
 public:
  explicit CountingVictim(std::string name = "taskmanager-1") : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  void crash() override { ++crashes; }
  void pause(Duration duration) override {
    ++pauses;
    paused += duration;
  }
  int crashes = 0;
  int pauses = 0;
  Duration paused{0};

 private:
  const std::string name_;
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

TEST(SimFaultsTest, OfANamedProcessCountItsPassingsInOneLifeAndHappenOnce) {
  SimFaultPlan plan(make_seeded_random(1));
  const size_t rule =
      plan.add({.mark = kMark, .passing = 2, .action = Action::kCrash, .victim = "taskmanager-2"});
  CountingVictim other("taskmanager-1");
  CountingVictim victim("taskmanager-2");
  SimFaults of_other(plan, other);
  SimFaults of_first_life(plan, victim);
  SimFaults of_second_life(plan, victim);
  SimFaults of_third_life(plan, victim);
  for (int i = 0; i < 3; ++i) of_other.at(kMark);
  of_first_life.at(kMark);
  of_second_life.at(kMark);
  EXPECT_FALSE(plan.rules()[rule].fired);
  of_second_life.at(kMark);
  EXPECT_TRUE(plan.rules()[rule].fired);
  for (int i = 0; i < 3; ++i) of_third_life.at(kMark);
  EXPECT_EQ(other.crashes, 0);
  EXPECT_EQ(victim.crashes, 1);
}

TEST(SimFaultsTest, OfAnyTaskManagerMeetTheFirstThatComesThere) {
  SimFaultPlan plan(make_seeded_random(1));
  plan.add({.mark = kMark, .action = Action::kPause, .victim = "taskmanager", .pause = 7s});
  CountingVictim job_manager("jobmanager");
  CountingVictim victim("taskmanager-2");
  SimFaults(plan, job_manager).at(kMark);
  EXPECT_EQ(plan.fired_count(), 0u);
  SimFaults(plan, victim).at(kMark);
  EXPECT_EQ(victim.paused, 7s);
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
