#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/base/hash.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kForEver = 24h;
constexpr uint64_t kAlways = ~0ull;

class FileFaultsSimTest : public testing::Test {
 protected:
  void run_until(JobState state) {
    ASSERT_TRUE(
        run_.world().queue().run_until([&] { return run_.cluster().job_state() == state; }, 1min))
        << run_.last_lines();
  }

  /// After a refused run nothing visible is left, and the reason names the path.
  static void expect_failed_without_result(SimRun& run, const std::string& path) {
    ASSERT_TRUE(run.cluster().run_until_ended(10min)) << run.last_lines();
    EXPECT_EQ(run.cluster().job_state(), JobState::kFailed);
    EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr(path));
    run.world().queue().run_until(run.world().queue().now() + 10s);
    EXPECT_THAT(run.output(), IsEmpty());
    EXPECT_THAT(run.leftovers(), IsEmpty());
    EXPECT_THAT(run.cluster().problems(), IsEmpty());
  }

  SimVolume& shared() { return run_.world().shared(); }

  static std::string module_path() {
    return "/state/taskmanager-1/modules/" + content_hash("module word_count") + ".so";
  }

  SimRun run_{word_count_job(), {.seed = 11, .configuration = patient_configuration()}};
};

TEST_F(FileFaultsSimTest, JobGoesOnWhenTheFullFileServerHasSpaceAgain) {
  run_until(JobState::kRunning);
  shared().fill(2s);
  run_.expect_exactly_once();
  EXPECT_GT(shared().refusals(), 0u);
  EXPECT_GT(run_.cluster().restarts(), 0u);
}

TEST_F(FileFaultsSimTest, JobGoesOnWhenFullDisksOfHostsHaveSpaceAgain) {
  ASSERT_TRUE(run_.cluster().run_until_ready(1min));
  const std::vector<SimProcess*> task_managers = run_.cluster().task_managers();
  for (SimProcess* process : task_managers) process->host().disk.fill(2s);
  run_.expect_exactly_once();
  for (SimProcess* process : task_managers) EXPECT_GT(process->host().disk.refusals(), 0u);
}

TEST_F(FileFaultsSimTest, JobWhoseOutputHasNoSpaceForEverFailsWithItsPath) {
  SimRun run(word_count_job(), {.seed = 13});
  run.world().shared().fill(kForEver);
  expect_failed_without_result(run, "output '/shared/out' cannot be made");
  EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("No space left"));
}

TEST_F(FileFaultsSimTest, JobWhoseModuleHasNoSpaceForEverFailsWithItsPath) {
  SimRun run(word_count_job(), {.seed = 14});
  for (SimProcess* process : run.cluster().task_managers()) process->host().disk.fill(kForEver);
  expect_failed_without_result(run, "/state/taskmanager-");
  EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("No space left"));
}

TEST_F(FileFaultsSimTest, JobIsRefusedWithThePathWhenTheJobManagerHasNoSpaceForItsModule) {
  run_.cluster().job_manager()->host().disk.fill(kForEver);
  ASSERT_TRUE(run_.cluster().run_until_ended(10min)) << run_.last_lines();
  EXPECT_THAT(run_.cluster().job_cause().message(), HasSubstr("/state/jobmanager"));
  EXPECT_THAT(run_.cluster().problems(), IsEmpty());
}

TEST_F(FileFaultsSimTest, EachKindOfErrorOnceCostsOneRestart) {
  for (const FileOperation operation :
       {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSync}) {
    SimRun run(word_count_job(), {.seed = 12});
    run.world().shared().refuse(operation, "/out", 1);
    run.expect_exactly_once();
    EXPECT_EQ(run.cluster().restarts(), 1u);
  }
}

TEST_F(FileFaultsSimTest, PublishingThatFailsAFewTimesIsTriedAgain) {
  for (const uint64_t times : {1, 2, 4}) {
    SimRun run(word_count_job(), {.seed = 20 + times});
    ASSERT_TRUE(run.world().queue().run_until(
        [&] { return run.cluster().job_state() == JobState::kCommitting; }, 1min));
    run.world().shared().refuse(FileOperation::kRename, "/out", times);
    run.expect_exactly_once();
    EXPECT_EQ(run.world().shared().refusals(), times);
    EXPECT_EQ(run.cluster().restarts(), 0u);
  }
}

TEST_F(FileFaultsSimTest, PublishingThatFailsForEverFailsTheJobWithThePath) {
  run_until(JobState::kCommitting);
  shared().refuse(FileOperation::kRename, "/out", kAlways);
  expect_failed_without_result(run_, "/shared/out");
}

TEST_F(FileFaultsSimTest, StalledFilesCostTimeAndNothingElse) {
  run_until(JobState::kRunning);
  for (SimProcess* process : run_.cluster().task_managers())
    run_.cluster().stall_files(*process, 15s);
  run_.expect_exactly_once();
  EXPECT_EQ(run_.cluster().restarts(), 0u);
}

TEST_F(FileFaultsSimTest, ResultsOfATaskManagerWhoseFilesStandStillArePublishedByAnother) {
  run_until(JobState::kCommitting);
  run_.cluster().stall_files(*run_.cluster().task_managers().front(), 5min);
  ASSERT_TRUE(run_.cluster().run_until_ended(2min)) << run_.last_lines();
  run_.world().queue().run_until(run_.world().queue().now() + 5min);
  run_.expect_exactly_once();
}

TEST_F(FileFaultsSimTest, ModuleThatIsTornIsFetchedAgain) {
  ASSERT_TRUE(run_.cluster().run_until_ready(1min));
  SimProcess& victim = *run_.cluster().task_managers().front();
  SimVolume& disk = victim.host().disk;
  ASSERT_TRUE(run_.world().queue().run_until(
      [&] { return disk.files().files().contains(module_path()); }, 1min));
  victim.crash();
  const std::map<std::string, std::string> files = disk.files().files();
  ASSERT_FALSE(files.empty());
  for (const auto& [path, content] : files)
    disk.files().put(path, content.substr(0, content.size() / 2));
  run_.expect_exactly_once();
}

}  // namespace
}  // namespace freshet::sim
