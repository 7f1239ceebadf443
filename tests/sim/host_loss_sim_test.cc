#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

/// A host is gone without a word, and with it what it had not synced.
class HostLossSimTest : public testing::TestWithParam<SimCluster::Disk> {
 protected:
  void crash_when(JobState state) {
    ASSERT_TRUE(
        run_.world().queue().run_until([&] { return run_.cluster().job_state() == state; }, 1min))
        << run_.last_lines();
    run_.cluster().crash_host(*run_.cluster().task_managers().front(), GetParam());
  }

  SimRun run_{word_count_job(), {.seed = 31, .configuration = patient_configuration()}};
};

TEST_P(HostLossSimTest, JobThatRunsIsStartedAgainWithTheTaskManagerOfTheNextHost) {
  crash_when(JobState::kRunning);
  run_.expect_exactly_once();
  EXPECT_GE(run_.cluster().restarts(), 1u);
  EXPECT_EQ(run_.world().log().count("task_manager_registered"), 3u);
}

TEST_P(HostLossSimTest, ResultsOfTasksThatHadEndedThereArePublishedByAnother) {
  crash_when(JobState::kCommitting);
  run_.expect_exactly_once();
  EXPECT_EQ(run_.cluster().restarts(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Disks, HostLossSimTest,
                         testing::Values(SimCluster::Disk::kComesBack, SimCluster::Disk::kIsLost),
                         [](const auto& info) {
                           return info.param == SimCluster::Disk::kIsLost ? "DiskIsLost"
                                                                          : "DiskComesBack";
                         });

}  // namespace
}  // namespace freshet::sim
