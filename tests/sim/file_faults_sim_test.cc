#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "runtime/base/hash.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kForEver = 24h;
constexpr uint64_t kAlways = ~0ull;

/// Each of four elements becomes a megabyte and more, at once.
SimJob burst_job() {
  constexpr int64_t kLinesOfEach = 2500;
  const auto line_of = [](int64_t number) {
    return std::to_string(number) + ' ' + std::string(500, 'x');
  };
  SimJob job{.name = "burst", .output = "/shared/out"};
  job.build.parallelism = 4;
  job.builder = [line_of](Environment& env) {
    env.from_source(sequence(0, 3))
        .rebalance()
        .flat_map([](const int64_t& element, Collector<int64_t>& out) {
          for (int64_t i = 0; i < kLinesOfEach; i++) out.collect(element * kLinesOfEach + i);
        })
        .map([line_of](const int64_t& number) { return line_of(number); })
        .rebalance()
        .sink_to(file_sink<std::string>(
            "/shared/out", [](const std::string& text, std::string& line) { line += text; }));
  };
  for (int64_t i = 0; i < 4 * kLinesOfEach; i++) job.expected.push_back(line_of(i));
  std::sort(job.expected.begin(), job.expected.end());
  return job;
}

bool is_spilled_to(SimVolume& disk) {
  for (const auto& [path, content] : disk.files().files()) {
    if (path.find("/spill/") != path.npos) return true;
  }
  return false;
}

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

TEST_F(FileFaultsSimTest, OutputThatCannotBeSpilledFailsItsTaskAndTheJobGoesOn) {
  for (const FileOperation operation : {FileOperation::kCreate, FileOperation::kAppend}) {
    SimRun run(burst_job(), {.seed = 31});
    ASSERT_TRUE(run.cluster().run_until_ready(1min));
    const std::vector<SimProcess*> task_managers = run.cluster().task_managers();
    for (SimProcess* process : task_managers) process->host().disk.refuse(operation, "/spill", 1);
    run.expect_exactly_once();
    uint64_t refusals = 0;
    for (SimProcess* process : task_managers) {
      refusals += process->host().disk.refusals();
      EXPECT_FALSE(is_spilled_to(process->host().disk));
    }
    EXPECT_GT(refusals, 0u);
    EXPECT_GT(run.cluster().restarts(), 0u);
  }
}

TEST_F(FileFaultsSimTest, WhatAProcessHadSpilledIsGoneOnceItIsStartedAgain) {
  SimRun run(burst_job(), {.seed = 32});
  ASSERT_TRUE(run.cluster().run_until_ready(1min));
  SimProcess& victim = *run.cluster().task_managers().front();
  ASSERT_TRUE(
      run.world().queue().run_until([&] { return is_spilled_to(victim.host().disk); }, 1min));
  victim.crash();
  EXPECT_TRUE(is_spilled_to(victim.host().disk));
  run.expect_exactly_once();
  EXPECT_FALSE(is_spilled_to(victim.host().disk));
}

TEST_F(FileFaultsSimTest, SpillFilesThatStandStillCostTimeAndNothingElse) {
  SimRun run(burst_job(), {.seed = 33});
  ASSERT_TRUE(run.cluster().run_until_ready(1min));
  for (SimProcess* process : run.cluster().task_managers()) {
    ASSERT_TRUE(
        run.world().queue().run_until([&] { return is_spilled_to(process->host().disk); }, 1min));
    run.cluster().stall_spilling(*process, 90s);  // Longer than any timeout of a heartbeat.
  }
  const TimePoint stalled = run.world().queue().now();
  run.expect_exactly_once();
  EXPECT_GE(run.world().queue().now(), stalled + 90s);
  EXPECT_EQ(run.cluster().restarts(), 0u);
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
