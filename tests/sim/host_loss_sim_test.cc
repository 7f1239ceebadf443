#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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

/// While files of the output are there that are written and not synced.
TEST_P(HostLossSimTest, OutputThatIsTornIsNotPublished) {
  SimRun run(bulk_job(), {.seed = 32, .configuration = patient_configuration()});
  SimProcess& victim = *run.cluster().task_managers().front();
  ASSERT_TRUE(run.world().queue().run_until(
      [&] {
        if (run.cluster().job_state() != JobState::kRunning) return false;
        const auto files = run.cluster().files().files();
        return std::any_of(files.begin(), files.end(),
                           [](const auto& file) { return !file.second.empty(); });
      },
      1min))
      << run.last_lines();
  run.cluster().crash_host(victim, GetParam());
  EXPECT_GT(run.world().shared().torn(), 0u);
  run.expect_exactly_once();
}

/// Whoever is started on the host next finds spill files that are short, or back again.
TEST(HostLossSpillSimTest, SpillFilesThatAreTornAreNobodys) {
  SimRun run(burst_job(), {.seed = 33, .configuration = patient_configuration()});
  const auto spills = [](SimProcess& process) {
    const auto files = process.host().disk.files().files();
    return std::any_of(files.begin(), files.end(), [](const auto& file) {
      return file.first.find("/spill/") != std::string::npos && !file.second.empty();
    });
  };
  SimProcess* victim = nullptr;
  ASSERT_TRUE(run.world().queue().run_until(
      [&] {
        for (SimProcess* process : run.cluster().task_managers())
          victim = spills(*process) ? process : victim;
        return victim != nullptr;
      },
      1min))
      << run.last_lines();
  SimHost& host = victim->host();
  run.cluster().crash_host(*victim, SimCluster::Disk::kComesBack);
  EXPECT_GT(host.disk.torn(), 0u);
  run.expect_exactly_once();
}

INSTANTIATE_TEST_SUITE_P(Disks, HostLossSimTest,
                         testing::Values(SimCluster::Disk::kComesBack, SimCluster::Disk::kIsLost),
                         [](const auto& info) {
                           return info.param == SimCluster::Disk::kIsLost ? "DiskIsLost"
                                                                          : "DiskComesBack";
                         });

class PowerLossSeedTest : public testing::TestWithParam<uint64_t> {};

/// The result is whole, or it is not there: also on a disk that forgets the last names.
TEST_P(PowerLossSeedTest, ShowsTheWholeResultOrNothing) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  const SimJob job = GetParam() % 2 == 0 ? word_count_job() : bulk_job();
  SimRun run(job, {.seed = GetParam(), .one_machine = true});
  ASSERT_TRUE(run.cluster().run_until_ready(1min)) << run.last_lines();
  const Duration moment = 100us * static_cast<int64_t>(GetParam() % 250);
  run.world().queue().run_until(run.world().queue().now() + moment);
  run.cluster().crash_machine();
  const std::vector<std::string> visible = run.output();
  EXPECT_TRUE(visible.empty() || visible == job.expected) << run.last_lines();
  run.expect_exactly_once_or_refused();
}

INSTANTIATE_TEST_SUITE_P(Seeds, PowerLossSeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace freshet::sim
