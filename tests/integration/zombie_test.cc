#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

/// A TaskManager that is paused until it was given up, and then goes on as if nothing had been.
class ZombieTest : public ::testing::Test {
 protected:
  ZombieTest() : cluster_(options()), job_(cluster_, directory_.path(), {}, "2") {}
  void SetUp() override { ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  static TestCluster::Options options() {
    TestCluster::Options options;
    options.arguments = {"-D", "heartbeat.interval=100 ms", "-D", "heartbeat.timeout=1 s"};
    return options;
  }

  /// The job runs again, in the slots of the other TaskManager alone.
  void pause_until_given_up() {
    ASSERT_TRUE(job_.wait_until_in_the_middle()) << job_.errors();
    ASSERT_GT(cluster_.count_in_log(kZombie, "to=RUNNING"), 0u);
    cluster_.signal(kZombie, SIGSTOP);
    ASSERT_TRUE(job_.wait_until_in_the_middle(1)) << job_.errors();
  }

  void expect_that_it_is_back() {
    EXPECT_TRUE(
        wait_until([&] { return cluster_.count_in_log(kZombie, " registered ") == 2; }, 20s))
        << cluster_.log(kZombie);
    EXPECT_EQ(cluster_.process(kZombie).restarts, 0u);
    // Needs all slots.
    const TemporaryDirectory other;
    GatedJob next(cluster_, other.path());
    next.open_gate();
    EXPECT_EQ(next.run().wait(30s), 0) << next.errors();
    next.expect_exact_result();
    EXPECT_EQ(cluster_.count_in_log(kZombie, "committed"), 1u);
  }

  static constexpr char kZombie[] = "taskmanager-1";
  const TemporaryDirectory directory_;
  TestCluster cluster_;
  GatedJob job_;
};

TEST_F(ZombieTest, SpoilsNothingWhenItWakesWhileTheJobRunsWithoutIt) {
  pause_until_given_up();
  // Its tasks may read on: nothing but the end of its session stops them.
  job_.open_gate();
  cluster_.signal(kZombie, SIGCONT);
  ASSERT_EQ(job_.run().wait(30s), 0) << job_.errors();
  job_.expect_exact_result();
  expect_that_it_is_back();
  job_.expect_exact_result();
}

TEST_F(ZombieTest, SpoilsNothingWhenItWakesAfterTheJobHasFinished) {
  pause_until_given_up();
  job_.open_gate();
  ASSERT_EQ(job_.run().wait(30s), 0) << job_.errors();
  job_.expect_exact_result();
  cluster_.signal(kZombie, SIGCONT);
  expect_that_it_is_back();
  job_.expect_exact_result();
}

}  // namespace
}  // namespace freshet::testing
