#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/faults.h"
#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// The JobManager dies while the job runs; it knows nothing when it comes back.
TEST(JobManagerLossSimTest, TaskManagersEndTheirTasksAndTheJobIsSubmittedAgain) {
  SimRun run(ledger_job(), {.seed = 5});
  ASSERT_TRUE(run.world().queue().run_until(
      [&] { return run.cluster().hosted_tasks() > 0 && run.cluster().submissions() == 1; }, 1min));
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

/// Processes die while a job runs and while it publishes, the JobManager among them. Watches what
/// of the output is visible all the time.
class JobManagerLossSeedTest : public testing::TestWithParam<uint64_t> {
 protected:
  static constexpr size_t kParts = 4;

  bool run_until(const std::function<bool()>& reached, Duration limit) {
    return run_.world().queue().run_until(
        [&] {
          expect_whole_or_nothing();
          return HasFailure() || reached();
        },
        limit);
  }

  void expect_whole_or_nothing() {
    size_t visible = 0;
    const auto entries = run_.cluster().files().list(job_.output);
    if (!entries.ok()) return;
    for (const FileInfo& entry : *entries) {
      if (entry.path.find("/.") == std::string::npos) visible++;
    }
    EXPECT_TRUE(visible == 0 || visible == kParts) << visible << " files\n" << run_.last_lines();
  }

  void crash_job_manager() {
    if (run_.cluster().job_manager() != nullptr) run_.cluster().job_manager()->crash();
  }

  /// The job's end: the result is whole, of the first submission or of the second; or the second
  /// one was refused, with the truth.
  void expect_true_end() {
    SimCluster& cluster = run_.cluster();
    ASSERT_TRUE(run_until([&] { return cluster.has_ended(0); }, 10min)) << run_.last_lines();
    if (cluster.job_state() == JobState::kFinished) return run_.expect_exactly_once();
    EXPECT_GE(cluster.submissions(), 2u);
    const std::string why = cluster.job_cause().message();
    if (why.find("exists already") != std::string::npos) {
      EXPECT_EQ(run_.output(), job_.expected) << why;
    } else {
      EXPECT_THAT(why, HasSubstr("has unfinished files of job"));
      EXPECT_THAT(run_.output(), IsEmpty()) << why;
    }
    EXPECT_THAT(cluster.problems(), IsEmpty());
  }

  const SimJob job_ = ledger_job();
  SimRun run_{job_, {.seed = GetParam(), .configuration = patient_configuration()}};
};

TEST_P(JobManagerLossSeedTest, ShowsTheWholeResultOrNothingWheneverItDies) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  ASSERT_TRUE(run_.cluster().run_until_ready(1min)) << run_.last_lines();
  const Duration moment = 200us * static_cast<int64_t>(GetParam() % 150);
  run_until([] { return false; }, moment);
  if (!run_.cluster().has_ended(0)) crash_job_manager();
  expect_true_end();
}

/// A process dies at a mark, and the JobManager a moment before or after; in some runs the other
/// TaskManager as well, so that nobody is left who knows the job.
TEST_P(JobManagerLossSeedTest, ShowsTheWholeResultOrNothingWhoeverDiesWithIt) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  const uint64_t seed = GetParam();
  ASSERT_TRUE(run_.cluster().run_until_ready(1min)) << run_.last_lines();
  const std::vector<FaultMark>& marks = fault_marks();
  const std::string mark(seed % 2 == 0 ? std::string_view("commit.before_rename")
                                       : marks[seed / 2 % marks.size()].name);
  run_.world().fault_plan().add(mark, 1 + seed / 8 % kParts, SimFaultPlan::Action::kCrash);
  const bool dies_first = seed % 3 == 0;
  run_until(
      [&] {
        const bool commits = run_.cluster().job_state() == JobState::kCommitting;
        return run_.cluster().has_ended(0) || run_.world().fault_plan().fired_count() > 0 ||
               (dies_first && commits);
      },
      1min);
  if (!run_.cluster().has_ended(0)) {
    run_until([] { return false; }, 100us * static_cast<int64_t>(seed % 7));
    crash_job_manager();
    if (seed % 5 == 0) {
      for (SimProcess* process : run_.cluster().task_managers()) process->crash();
    }
  }
  expect_true_end();
}

INSTANTIATE_TEST_SUITE_P(Seeds, JobManagerLossSeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace freshet::sim
