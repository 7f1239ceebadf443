#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "runtime/chaos/random_plan.h"
#include "runtime/chaos/shrink.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/plan_case.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using chaos::FaultKind;
using chaos::PlannedFault;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kRandomCases = 40;  // Sanitizers take ten times as long.
#else
constexpr uint64_t kRandomCases = 400;
#endif
constexpr Duration kStepTime = 100ms;  // Then jobs take seconds, as the faults of these plans do.

std::vector<PlannedFault> planned(const std::string& faults, const SimJob& job, uint64_t seed = 1) {
  const auto plan = chaos::parse_fault_plan("plan", "faults:\n" + faults);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  const auto expanded = expand_for(*plan, job, options_for_plan(seed, kStepTime));
  EXPECT_TRUE(expanded.ok()) << expanded.status().message();
  return expanded.ok() ? *expanded : std::vector<PlannedFault>();
}

/// Exact, and every fault happened.
PlanRun run_exactly(const std::string& faults, const SimJob& job = word_count_job()) {
  const PlanRun run = run_plan(job, options_for_plan(1, kStepTime), planned(faults, job));
  EXPECT_THAT(run.failures, IsEmpty());
  EXPECT_EQ(run.state, JobState::kFinished);
  for (const SimPlan::Outcome& outcome : run.faults)
    EXPECT_TRUE(outcome.fired.has_value()) << outcome.planned.to_string();
  return run;
}

TEST(SimPlanTest, KillsWhoItNames) {
  const PlanRun run = run_exactly("  - kill: taskmanager-2\n    at: 1s\n");
  EXPECT_EQ(run.faults[0].victim, "taskmanager-2");
  EXPECT_EQ(run.restarts, 1u);
}

TEST(SimPlanTest, WaitsForWhoIsNotThere) {
  const PlanRun run = run_exactly(
      "  - kill: taskmanager-2\n    at: 1s\n"
      "  - kill: taskmanager-2\n    at: 1001ms\n");
  EXPECT_GT(*run.faults[1].fired, *run.faults[0].fired + 300ms);
}

TEST(SimPlanTest, PausesForLessAndForMoreThanATimeout) {
  EXPECT_EQ(run_exactly("  - pause: taskmanager-1\n    at: 1s\n    lasts: 2s\n").restarts, 0u);
  EXPECT_EQ(run_exactly("  - pause: taskmanager-1\n    at: 1s\n    lasts: 30s\n").restarts, 1u);
}

TEST(SimPlanTest, FailsTheTaskThatItNames) {
  const PlanRun run = run_exactly("  - exception: task:2/3\n    at: 1s\n");
  EXPECT_EQ(run.faults[0].task, (SubtaskId{VertexId{2}, 3}));
  EXPECT_EQ(run.restarts, 1u);
}

TEST(SimPlanTest, CrashesTheTaskManagerOfATask) {
  const PlanRun run = run_exactly("  - crash: task\n    at: 1s\n");
  EXPECT_THAT(run.faults[0].victim, HasSubstr("taskmanager-"));
  EXPECT_TRUE(run.faults[0].task.has_value());
  EXPECT_EQ(run.restarts, 1u);
}

TEST(SimPlanTest, BreaksLinks) {
  EXPECT_GE(
      run_exactly("  - cut: taskmanager-1 <-> taskmanager-2\n    at: 1s\n    lasts: 1s\n").restarts,
      1u);
  EXPECT_EQ(run_exactly("  - half-open: taskmanager-1 -> jobmanager\n    at: 1s\n    lasts: 3s\n")
                .restarts,
            0u);
  EXPECT_GE(run_exactly("  - half-open: taskmanager-1 -> jobmanager\n    at: 1s\n    lasts: 30s\n")
                .restarts,
            1u);
  EXPECT_EQ(run_exactly("  - slow: taskmanager-1 <-> taskmanager-2\n"
                        "    at: 1s\n    delay: 300ms\n    lasts: 30s\n")
                .restarts,
            0u);
  EXPECT_GE(run_exactly("  - flap: taskmanager-1 <-> taskmanager-2\n"
                        "    at: 1s\n    period: 200ms\n    lasts: 1s\n")
                .restarts,
            1u);
}

TEST(SimPlanTest, BreaksDisksAndFiles) {
  EXPECT_GE(run_exactly("  - disk-full: taskmanager-1\n    at: 50ms\n    lasts: 2s\n",
                        in_batch(burst_job()))
                .restarts,
            1u);
  run_exactly("  - disk-slow: taskmanager-1\n    at: 50ms\n    delay: 1s\n    lasts: 20s\n",
              in_batch(burst_job()));
  EXPECT_THAT(run_exactly("  - damage-file: spill\n    of: taskmanager\n    at: 500ms\n",
                          in_batch(burst_job()))
                  .faults[0]
                  .victim,
              HasSubstr("/state/taskmanager-"));
  EXPECT_THAT(run_exactly("  - delete-file: module\n    of: taskmanager-1\n    at: 1s\n"
                          "  - kill: taskmanager-1\n    at: 1100ms\n")
                  .faults[0]
                  .victim,
              HasSubstr("/state/taskmanager-1/modules/"));
}

TEST(SimPlanTest, BreaksWhoPassesAMark) {
  for (const std::string action : {"kill", "stop", "throw", "delay=500"}) {
    SCOPED_TRACE(action);
    const PlanRun run = run_exactly(
        "  - mark: deploy.before_ack\n    of: taskmanager-2\n    passing: 2\n    do: " + action +
        (action == "stop" ? "\n    lasts: 40s\n" : "\n"));
    EXPECT_EQ(run.restarts, action.starts_with("delay") ? 0u : 1u);
  }
}

TEST(SimPlanTest, SaysWhatSimulationsCannotDo) {
  const SimJob job = word_count_job();
  const auto refusal = [&](const std::string& faults) {
    const auto plan = chaos::parse_fault_plan("plan", "faults:\n" + faults);
    return expand_for(*plan, job, options_for_plan(1, kStepTime)).status().message();
  };
  EXPECT_THAT(refusal("  - hang: task\n    at: 1s\n"), HasSubstr("has one thread"));
}

TEST(SimPlanTest, FaultsThatComeAfterTheEndDoNotHappen) {
  const SimJob job = word_count_job();
  const PlanRun run = run_plan(job, options_for_plan(1, kStepTime),
                               planned("  - kill: taskmanager\n    at: 1h\n", job));
  EXPECT_THAT(run.failures, IsEmpty());
  EXPECT_EQ(run.fired(), 0u);
}

TEST(RandomPlanSimTest, JobsAreExactWhateverAPlanBreaks) {
  std::map<FaultKind, size_t> fired;
  size_t all = 0;
  size_t restarts = 0;
  for (uint64_t seed = 1; seed <= kRandomCases; ++seed) {
    const PlanCase one = random_case(seed);
    const PlanRun run = run_case(one);
    EXPECT_THAT(run.failures, IsEmpty()) << plan_file_of(one, "FILE");
    all += run.faults.size();
    restarts += run.restarts;
    for (const SimPlan::Outcome& outcome : run.faults)
      fired[outcome.planned.fault.kind] += outcome.fired ? 1 : 0;
    if (seed % 10 == 0) {
      EXPECT_EQ(run_case(one).trace_hash, run.trace_hash) << "it went another way this time";
    }
  }
  EXPECT_GE(restarts, kRandomCases);
  size_t total = 0;
  for (const chaos::FaultKindInfo& info : chaos::fault_kinds()) {
    total += fired[info.kind];
    if (info.kind == FaultKind::kHang || kRandomCases < 400) continue;
    EXPECT_GT(fired[info.kind], 0u) << info.name;
  }
  EXPECT_GE(total * 2, all) << "most faults must meet a job";
}

TEST(RandomPlanSimTest, FileOfAPlanRunsAsItDid) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const PlanCase one = random_case(seed);
    const auto plan = chaos::parse_fault_plan("plan", plan_file_of(one, "FILE"));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    PlanCase again = one;
    again.faults =
        *expand_for(*plan, *make_sim_job(one.job, seed), options_for_plan(seed, one.step_time));
    EXPECT_EQ(run_case(again).trace_hash, run_case(one).trace_hash) << to_text(*plan);
  }
}

/// Writes what was done when it is done: a crash in between leaves no trace of it.
class LogAfterAct final : public DecisionLog {
 public:
  explicit LogAfterAct(DecisionLog& log) : log_(log) {}
  void append(const Decision& decision) override {
    if (held_) log_.append(*held_);
    held_.reset();
    if (decision.kind == DecisionKind::kElement)
      held_ = decision;
    else
      log_.append(decision);
  }

 private:
  DecisionLog& log_;
  std::optional<Decision> held_;
};

const char* const kManyFaults =
    "  - slow: taskmanager-1 <-> taskmanager-2\n    at: 200ms\n    delay: 2ms\n    lasts: 2s\n"
    "  - pause: taskmanager-1\n    at: 300ms\n    lasts: 700ms\n"
    "  - disk-slow: taskmanager\n    at: 100ms\n    delay: 3ms\n    lasts: 3s\n"
    "  - half-open: taskmanager-2 -> jobmanager\n    at: 400ms\n    lasts: 500ms\n"
    "  - pause: jobmanager\n    at: 1s\n    lasts: 300ms\n"
    "  - mark: task.after_element\n    of: taskmanager-1\n    passing: 5\n    do: delay=50\n"
    "  - mark: task.after_element\n    of: taskmanager-2\n    passing: 12\n    do: kill\n"
    "  - pause: taskmanager-2\n    random: 4\n    for: 2s\n    lasts: 100ms\n";

TEST(ShrinkSimTest, OfALogThatIsWrittenTooLateLeavesTheCrashThatShowsIt) {
  const SimJob job = ledger_job();
  SimCluster::Options options = options_for_plan(1, kStepTime);
  options.wrap_log = [](DecisionLog& log) { return std::make_unique<LogAfterAct>(log); };
  uint32_t runs = 0;
  const auto fails = [&](const std::vector<PlannedFault>& faults) {
    ++runs;
    return !run_plan(job, options, faults).failures.empty();
  };
  const std::vector<PlannedFault> all = planned(kManyFaults, job);
  ASSERT_EQ(all.size(), 11u);
  ASSERT_TRUE(fails(all));
  const std::vector<PlannedFault> least = shrink(all, fails, 200);
  ASSERT_EQ(least.size(), 1u);
  EXPECT_EQ(least[0].fault.mark_action, "kill");
  EXPECT_LT(runs, 60u);
}

/// Numbers in a file. An operator of it gives a number twice once it has been started too often.
SimJob doubling_job(const std::shared_ptr<uint32_t>& starts, uint32_t sound_starts) {
  constexpr int64_t kNumbers = 20'000;
  constexpr int64_t kLate = kNumbers - 10;
  SimJob job{.name = "doubling"};
  job.build.parallelism = 1;
  job.builder = [=, output = job.output](Environment& env) {
    env.from_source(sequence(0, kNumbers - 1))
        .flat_map([=](const int64_t& number, Collector<int64_t>& out) {
          if (number == 0) ++*starts;
          out.collect(number);
          if (number == kLate && *starts > sound_starts) out.collect(number);
        })
        .sink_to(file_sink<int64_t>(output, [](const int64_t& number, std::string& line) {
          line += std::to_string(number);
        }));
  };
  for (int64_t number = 0; number < kNumbers; ++number)
    job.expected.push_back(std::to_string(number));
  std::sort(job.expected.begin(), job.expected.end());
  return job;
}

TEST(ShrinkSimTest, OfAJobThatDoublesARecordInItsThirdAttemptLeavesTwoFaults) {
  SimCluster::Options options = options_for_plan(1, kStepTime);
  options.recorded = false;  // Repeating its tasks would count as starts.
  const auto fails = [&](const std::vector<PlannedFault>& faults) {
    return !run_plan(doubling_job(std::make_shared<uint32_t>(0), 2), options, faults)
                .failures.empty();
  };
  const std::vector<PlannedFault> all = planned(
      "  - pause: taskmanager\n    random: 5\n    for: 2s\n    lasts: 300ms\n"
      "  - exception: task\n    at: 350ms\n    every: 1700ms\n    for: 7s\n"
      "  - slow: taskmanager-1 <-> taskmanager-2\n    at: 0s\n    delay: 5ms\n    lasts: 4s\n",
      doubling_job(std::make_shared<uint32_t>(0), 2));
  ASSERT_TRUE(fails(all));
  const std::vector<PlannedFault> least = shrink(all, fails, 200);
  ASSERT_EQ(least.size(), 2u);
  for (const PlannedFault& one : least) EXPECT_EQ(one.fault.kind, FaultKind::kException);
}

TEST(ChaosPlansTest, AllAreReadAndThoseWithAMeaningHereAreExact) {
  size_t plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FRESHET_CHAOS_PLANS)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().filename());
    ++plans;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto plan = chaos::parse_fault_plan(entry.path().filename(), text.str());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(text.str().substr(0, 2), "# ") << "says nothing of what it is for";
    size_t fired = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      PlanCase one{
          .job = seed % 2 == 0 ? "exchanges" : "burst_batch", .seed = seed, .step_time = kStepTime};
      const SimJob job = *make_sim_job(one.job, seed);
      const SimCluster::Options options = options_for_plan(seed, kStepTime);
      ASSERT_TRUE(expand(*plan, shape_for(job, options), seed).ok());
      const auto faults = expand_for(*plan, job, options);
      if (!faults.ok()) {
        EXPECT_THAT(entry.path().filename(), "hanging-task.yaml") << faults.status().message();
        ++fired;
        continue;
      }
      one.faults = *faults;
      const PlanRun run = run_case(one);
      EXPECT_THAT(run.failures, IsEmpty()) << one.repeat(entry.path());
      fired += run.fired();
    }
    EXPECT_GE(fired, 5u) << "it meets no job";
  }
  EXPECT_GE(plans, 15u);
}

}  // namespace
}  // namespace freshet::sim
