#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

constexpr Duration kShort = 5s;  // Less than the heartbeat timeout.
constexpr Duration kLong = 40s;  // More than that.

/// Processes that stand still and then go on as if nothing had been.
class PausesSimTest : public testing::TestWithParam<JobState> {
 protected:
  void run_until_then(SimRun& run) {
    ASSERT_TRUE(run.world().queue().run_until(
        [&] { return run.cluster().job_state() == GetParam(); }, 1min))
        << run.last_lines();
  }

  /// Also when all that waited in the paused process has happened.
  void expect_exactly_once_for_long(SimRun& run) {
    ASSERT_TRUE(run.cluster().run_until_ended(10min)) << run.last_lines();
    run.world().queue().run_until(run.world().queue().now() + 2 * kLong);
    run.expect_exactly_once();
  }
};

TEST_P(PausesSimTest, JobManagerThatIsPausedShortlyCostsNoRestart) {
  SimRun run(word_count_job(), {.seed = 41});
  run_until_then(run);
  run.cluster().job_manager()->pause(kShort);
  expect_exactly_once_for_long(run);
  EXPECT_EQ(run.cluster().restarts(), 0u);
}

TEST_P(PausesSimTest, JobManagerThatIsPausedLongFindsAllTaskManagersAgain) {
  SimRun run(word_count_job(), {.seed = 42, .configuration = patient_configuration()});
  run_until_then(run);
  run.cluster().job_manager()->pause(kLong);
  expect_exactly_once_for_long(run);
  EXPECT_GE(run.world().log().count("task_manager_registered"), 4u);
}

TEST_P(PausesSimTest, TaskManagerThatIsPausedShortlyCostsNoRestart) {
  SimRun run(word_count_job(), {.seed = 43});
  run_until_then(run);
  run.cluster().task_managers().front()->pause(kShort);
  expect_exactly_once_for_long(run);
  EXPECT_EQ(run.cluster().restarts(), 0u);
}

TEST_P(PausesSimTest, ZombieDoesNoHarmWhenTheJobHasGoneOnWithoutIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimRun run(word_count_job(),
               {.seed = seed, .task_managers = 3, .configuration = patient_configuration()});
    run_until_then(run);
    for (uint64_t events = 0; events < seed * 20; ++events) run.world().queue().run_one();
    run.cluster().task_managers().front()->pause(kLong);
    expect_exactly_once_for_long(run);
  }
}

/// When it goes on, the time for the cancellation of its tasks is over, and they could not end.
TEST(PausedCancellationSimTest, TaskManagerDoesNotGiveUpOnTasksThatWerePausedWithIt) {
  SimRun run(word_count_job(), {.seed = 44, .configuration = patient_configuration()});
  ASSERT_TRUE(run.world().queue().run_until(
      [&] {
        return run.cluster().job_state() == JobState::kRunning &&
               run.world().log().count("task_state") >= 18;  // All of them run.
      },
      1min));
  SimProcess& first = *run.cluster().task_managers().front();
  run.cluster().stall_files(first, 35s);
  run.cluster().task_managers().back()->crash();
  run.world().queue().run_until(run.world().queue().now() + 1s);
  first.pause(kLong);
  run.expect_exactly_once();
  EXPECT_TRUE(first.alive());
}

INSTANTIATE_TEST_SUITE_P(States, PausesSimTest,
                         testing::Values(JobState::kRunning, JobState::kCommitting),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace freshet::sim
