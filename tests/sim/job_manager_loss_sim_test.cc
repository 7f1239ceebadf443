#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;

/// The JobManager dies while the job runs; it knows nothing when it comes back.
TEST(JobManagerLossSimTest, TaskManagersEndTheirTasksAndTheJobIsSubmittedAgain) {
  SimRun run(ledger_job(), {.seed = 5});
  ASSERT_TRUE(run.world().queue().run_until(
      [&] { return run.cluster().job_state() == JobState::kRunning; }, 1min));
  ASSERT_GT(run.cluster().hosted_tasks(), 0u);
  const size_t registered = run.world().log().count("task_manager_registered");
  run.cluster().job_manager()->crash();
  ASSERT_TRUE(run.world().queue().run_until([&] { return run.cluster().hosted_tasks() == 0; }, 1s))
      << run.last_lines();
  run.expect_exactly_once();
  EXPECT_EQ(run.world().log().count("task_manager_registered"), registered + 2);
  EXPECT_EQ(run.cluster().submissions(), 2u);
}

TEST(JobManagerLossSimTest, AClientThatLosesItsConnectionSubmitsNothingTwice) {
  SimRun run(ledger_job(), {.seed = 6});
  ASSERT_TRUE(run.world().queue().run_until(
      [&] { return run.cluster().job_state() == JobState::kRunning; }, 1min));
  run.cluster().reset_client();
  run.expect_exactly_once();
  EXPECT_EQ(run.cluster().submissions(), 1u);
}

class JobManagerLossSeedTest : public testing::TestWithParam<uint64_t> {};

/// Whenever it dies: the result is whole, of the first submission or of the second. Only when it
/// dies between the first and the last file that is published, nobody is left who could publish the
/// rest: then the second submission is refused, and what is there is the first one's alone.
TEST_P(JobManagerLossSeedTest, NeverMixesResultsOfTwoSubmissions) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  const SimJob job = ledger_job();
  SimRun run(job, {.seed = GetParam()});
  ASSERT_TRUE(run.cluster().run_until_ready(1min)) << run.last_lines();
  const Duration moment = 200us * static_cast<int64_t>(GetParam() % 150);
  run.world().queue().run_until(run.world().queue().now() + moment);
  if (run.cluster().job_state() == JobState::kFinished) return run.expect_exactly_once();
  run.cluster().job_manager()->crash();
  ASSERT_TRUE(run.cluster().run_until_ended(10min)) << run.last_lines();
  if (run.cluster().job_state() == JobState::kFailed) {
    EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("exists already"));
    const std::vector<std::string> lines = run.output();
    EXPECT_TRUE(std::includes(job.expected.begin(), job.expected.end(), lines.begin(), lines.end()))
        << run.last_lines();
    return;
  }
  run.expect_exactly_once();
}

INSTANTIATE_TEST_SUITE_P(Seeds, JobManagerLossSeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace freshet::sim
