#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/base/faults.h"
#include "tests/sim/sim_program.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;

TEST(WordCountSimTest, CountsWithoutFaults) {
  SimRun run(word_count_job(), {.seed = 1});
  run.expect_exactly_once();
  EXPECT_EQ(run.cluster().restarts(), 0u);
  EXPECT_EQ(run.tasks_replayed(), 9u);  // The enumerator, four readers, four counters.
}

TEST(WordCountSimTest, CountsInBatchWithoutFaults) {
  SimRun run(in_batch(word_count_job()), {.seed = 1});
  run.expect_exactly_once();
  EXPECT_EQ(run.cluster().restarts(), 0u);
  EXPECT_EQ(run.tasks_replayed(), 9u);
}

TEST(WordCountSimTest, RunsInBatchOnOneSlot) {
  SimRun run(in_batch(word_count_job()), {.seed = 1, .task_managers = 1, .slots = 1});
  run.expect_exactly_once();
  EXPECT_EQ(run.cluster().restarts(), 0u);
}

TEST(LedgerSimTest, AddsUpWithoutFaults) {
  SimRun run(ledger_job(), {.seed = 1});
  run.expect_exactly_once();
  EXPECT_EQ(run.cluster().restarts(), 0u);
}

TEST(WordCountSimTest, WaitsForSlotsAndFailsWithBothNumbersWhenThereAreTooFew) {
  SimRun run(word_count_job(), {.seed = 2, .task_managers = 1, .slots = 2});
  ASSERT_TRUE(run.cluster().run_until_ended(10min)) << run.last_lines();
  EXPECT_EQ(run.cluster().job_state(), JobState::kFailed);
  EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("4 slots"));
  EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("the cluster has 2"));
}

class SeedTest : public testing::TestWithParam<uint64_t> {
 protected:
  /// One seed of one job, some of them twice.
  static void run_seed(const SimJob& job, bool recorded = true) {
    SCOPED_TRACE(SimProgram::repeat(GetParam()));
    const uint64_t hash = run_once(job, recorded);
    if (GetParam() % 10 != 0) return;
    EXPECT_EQ(run_once(job, recorded), hash) << "it went another way this time";
  }

  /// Faults that never meet a job would test nothing.
  static void TearDownTestSuite() {
    if (runs_ < 50) return;
    EXPECT_GE(runs_restarted_ * 4, runs_);
    EXPECT_GE(tasks_restarted_, runs_);
    EXPECT_GE(tasks_spared_ * 10, runs_);
  }

 private:
  static uint64_t run_once(const SimJob& job, bool recorded) {
    SimRun run(job, {.seed = GetParam(),
                     .recorded = recorded,
                     .wide = GetParam() % 3 == 0,
                     .configuration = patient_configuration()});
    run.break_things();
    run.expect_exactly_once_or_refused();
    EXPECT_GE(run.faults(), recorded ? 3u : 1u);  // Tasks that are not pass no marks.
    runs_restarted_ += run.cluster().restarts() > 0 ? 1 : 0;
    tasks_restarted_ += run.tasks_restarted();
    tasks_spared_ += run.tasks_spared();
    ++runs_;
    return run.world().queue().trace_hash();
  }

  static inline uint64_t runs_ = 0;
  static inline uint64_t runs_restarted_ = 0;
  static inline uint64_t tasks_restarted_ = 0;
  static inline uint64_t tasks_spared_ = 0;
};

TEST_P(SeedTest, WordCountIsExactWhateverBreaks) { run_seed(word_count_job()); }
TEST_P(SeedTest, LedgerIsExactWhateverBreaks) { run_seed(ledger_job()); }
TEST_P(SeedTest, RandomGraphIsExactWhateverBreaks) { run_seed(random_graph_job(GetParam())); }

TEST_P(SeedTest, RandomExchangesAreExactWhateverBreaks) {
  run_seed(random_exchanges_job(GetParam()));
}
TEST_P(SeedTest, BatchWordCountIsExactWhateverBreaks) { run_seed(in_batch(word_count_job())); }
TEST_P(SeedTest, BatchGraphIsExactWhateverBreaks) {
  run_seed(in_batch(random_exchanges_job(GetParam())));
}

/// Tasks that nobody looks at take many records at once.
TEST_P(SeedTest, UnrecordedJobsAreExactWhateverBreaks) {
  run_seed(GetParam() % 2 == 0 ? word_count_job() : ledger_job(), false);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SeedTest, testing::ValuesIn(SimProgram::get().seeds),
                         [](const auto& info) { return std::to_string(info.param); });

class FaultMarkTest : public testing::TestWithParam<size_t> {
 protected:
  const FaultMark& mark_ = fault_marks()[GetParam()];

  bool begins_with(std::string_view what) const { return mark_.name.starts_with(what); }

  /// The TaskManagers lose each other as soon as they are connected.
  static void cut_data(SimRun& run) {
    ASSERT_TRUE(run.cluster().run_until_ready(1min));
    const std::vector<SimProcess*> both = run.cluster().task_managers();
    SimNetwork& network = run.world().network();
    EXPECT_TRUE(run.world().queue().run_until(
        [&] { return network.reset(both.at(0)->id(), both.at(1)->id()) > 0; }, 1min));
  }
};

TEST_P(FaultMarkTest, CrashThereStillCountsExactlyOnce) {
  const std::string mark(mark_.name);
  SCOPED_TRACE(mark);
  const SimJob job = word_count_job();
  SimRun run(begins_with("spill.") ? in_batch(job) : job, {.seed = 100 + GetParam()});
  SimFaultPlan& plan = run.world().fault_plan();
  plan.add(mark, 1, SimFaultPlan::Action::kCrash);
  plan.add(mark, 3, SimFaultPlan::Action::kCrash);
  // Failures need a reason.
  if (begins_with("cancel.") || begins_with("failover."))
    plan.add("task.after_element", 5, SimFaultPlan::Action::kCrash);
  if (begins_with("loss.")) cut_data(run);
  if (mark_.side == FaultSide::kJobManager) {
    run.expect_exactly_once_or_refused();
  } else {
    run.expect_exactly_once();
  }
  EXPECT_GE(plan.fired().count(mark), 1u) << "the mark never fired";
}

INSTANTIATE_TEST_SUITE_P(All, FaultMarkTest, testing::Range<size_t>(0, fault_marks().size()),
                         [](const auto& info) {
                           std::string name(fault_marks()[info.param].name);
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace freshet::sim
