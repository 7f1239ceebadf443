#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

std::vector<SimJob> two_jobs() {
  return {word_count_job(), ledger_job(honest_stamp, "/shared/ledger")};
}

bool has_slots(JobState state) {
  return state == JobState::kRunning || state == JobState::kCommitting;
}

TEST(TwoJobsSimTest, SecondWaitsForTheSlotsOfTheFirst) {
  SimRun run(two_jobs(), {.seed = 51, .configuration = patient_configuration()});
  SimCluster& cluster = run.cluster();
  ASSERT_TRUE(run.world().queue().run_until(
      [&] {
        EXPECT_FALSE(has_slots(cluster.job_state(0)) && has_slots(cluster.job_state(1)));
        return cluster.has_ended(0) && cluster.has_ended(1);
      },
      1min))
      << run.last_lines();
  run.expect_exactly_once();
  EXPECT_EQ(cluster.restarts(0) + cluster.restarts(1), 0u);
}

TEST(TwoJobsSimTest, BothRunAtOnceWhereThereAreSlotsForBoth) {
  SimRun run(two_jobs(), {.seed = 52, .task_managers = 2, .slots = 4});
  bool both = false;
  ASSERT_TRUE(run.world().queue().run_until(
      [&] {
        const SimCluster& cluster = run.cluster();
        both = both || (has_slots(cluster.job_state(0)) && has_slots(cluster.job_state(1)));
        return cluster.has_ended(0) && cluster.has_ended(1);
      },
      1min))
      << run.last_lines();
  EXPECT_TRUE(both);
  run.expect_exactly_once();
}

class TwoJobsSeedTest : public testing::TestWithParam<uint64_t> {};

/// With slots for one of them, for both, or for one and a half.
TEST_P(TwoJobsSeedTest, BothAreExactWhateverBreaks) {
  SCOPED_TRACE(SimProgram::repeat(GetParam()));
  const auto slots = static_cast<uint32_t>(2 + GetParam() % 3);
  const SimJob other = GetParam() % 2 == 0 ? word_count_job() : bulk_job();
  SimRun run({other, ledger_job(honest_stamp, "/shared/ledger")},
             {.seed = GetParam(), .slots = slots, .configuration = patient_configuration()});
  run.break_things();
  run.expect_exactly_once_or_refused();
  EXPECT_GE(run.faults(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwoJobsSeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace freshet::sim
