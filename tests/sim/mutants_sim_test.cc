#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"
#include "tests/sim/sim_run.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSeeds = 10;  // Within which each mutant must be caught.

/// A round robin whose start is not what a restart would find.
class ForgottenStart final : public DecisionLog {
 public:
  explicit ForgottenStart(DecisionLog& log) : log_(log) {}
  void append(const Decision& decision) override {
    Decision written = decision;
    started_ = started_ ||
               (decision.kind != DecisionKind::kClock && decision.kind != DecisionKind::kRandom);
    if (!started_ && decision.kind == DecisionKind::kRandom) written.value = 0;
    log_.append(written);
  }

 private:
  DecisionLog& log_;
  bool started_ = false;
};

/// Writes what was done when it is done: when the next thing is decided, and at the end.
class LogAfterAct final : public DecisionLog {
 public:
  explicit LogAfterAct(DecisionLog& log) : log_(log) {}
  void append(const Decision& decision) override {
    if (held_) log_.append(*held_);
    held_.reset();
    if (decision.kind == DecisionKind::kElement) {
      held_ = decision;
    } else {
      log_.append(decision);
    }
  }

 private:
  DecisionLog& log_;
  std::optional<Decision> held_;
};

/// Draws that tasks make are not in the log.
class UnloggedChance final : public DecisionLog {
 public:
  explicit UnloggedChance(DecisionLog& log) : log_(log) {}
  void append(const Decision& decision) override {
    if (decision.kind != DecisionKind::kRandom) log_.append(decision);
  }

 private:
  DecisionLog& log_;
};

template <class Log>
std::unique_ptr<DecisionLog> wrap(DecisionLog& log) {
  return std::make_unique<Log>(log);
}

/// A job with faults; gives what repeating its tasks says.
Status repeat(const SimJob& job, SimCluster::Options options) {
  const uint64_t passing = 20 + options.seed * 37;
  options.configuration = patient_configuration();
  SimRun run(job, options);
  run.world().fault_plan().add("task.after_element", passing, SimFaultPlan::Action::kCrash);
  run.world().fault_plan().spare(
      FaultSide::kJobManager);  // Or the job may be refused, and rightly.
  run.break_things();
  EXPECT_TRUE(run.cluster().run_until_ended(10min)) << run.last_lines();
  EXPECT_EQ(run.world().fault_plan().fired().count("task.after_element"), 1u);
  return run.cluster().replay_tasks().status();
}

Status repeat(uint64_t seed, Stamp stamp, SimCluster::Options options = {}) {
  options.seed = seed;
  return repeat(ledger_job(std::move(stamp)), options);
}

/// How many of the first seeds see the mutant; says what the last of them said.
struct Caught {
  uint64_t count = 0;
  std::string last;
};

template <class Run>
Caught catch_in_seeds(Run run) {
  Caught caught;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Status status = run(seed);
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.to_string();
    ++caught.count;
    caught.last = status.message();
  }
  return caught;
}

TEST(MutantsSimTest, HonestTasksRepeat) {
  const Caught caught = catch_in_seeds([](uint64_t seed) { return repeat(seed, honest_stamp); });
  EXPECT_EQ(caught.count, 0u) << caught.last;
}

TEST(MutantsSimTest, ClockReadInsideAnElementIsCaught) {
  const std::unique_ptr<Clock> wall = make_system_clock();
  const Caught caught = catch_in_seeds([&](uint64_t seed) {
    return repeat(seed, [&](OperatorContext&) { return wall->now().time_since_epoch().count(); });
  });
  EXPECT_EQ(caught.count, kSeeds);
  EXPECT_THAT(caught.last, HasSubstr("other elements"));
}

TEST(MutantsSimTest, ChancePastDecisionsIsCaught) {
  const Caught caught = catch_in_seeds([](uint64_t seed) {
    const std::shared_ptr<Random> own = make_seeded_random(seed);
    return repeat(seed, [own](OperatorContext&) { return static_cast<int64_t>(own->next() >> 1); });
  });
  EXPECT_EQ(caught.count, kSeeds);
  EXPECT_THAT(caught.last, HasSubstr("other elements"));
}

TEST(MutantsSimTest, ChanceThatIsNotLoggedIsCaught) {
  const Caught caught = catch_in_seeds(
      [](uint64_t seed) { return repeat(seed, honest_stamp, {.wrap_log = wrap<UnloggedChance>}); });
  EXPECT_EQ(caught.count, kSeeds);
  EXPECT_THAT(caught.last, HasSubstr("cannot be executed again"));
}

TEST(MutantsSimTest, RoundRobinStartThatIsNotSavedIsCaught) {
  const Caught caught = catch_in_seeds(
      [](uint64_t seed) { return repeat(seed, honest_stamp, {.wrap_log = wrap<ForgottenStart>}); });
  EXPECT_GE(caught.count, 1u);
}

TEST(MutantsSimTest, DecisionLoggedAfterTheActIsCaughtByACrashInBetween) {
  const Caught caught = catch_in_seeds(
      [](uint64_t seed) { return repeat(seed, honest_stamp, {.wrap_log = wrap<LogAfterAct>}); });
  EXPECT_GE(caught.count, 1u);
  EXPECT_THAT(caught.last, HasSubstr("executed again"));
}

/// Numbers in files, each with something that nobody logged.
SimJob careless_sink_job(const std::shared_ptr<Random>& own) {
  SimJob job{.name = "careless_sink"};
  job.build.parallelism = 4;
  job.builder = [output = job.output, own](Environment& env) {
    env.from_source(sequence(0, 499))
        .rebalance()
        .sink_to(file_sink<int64_t>(output, [own](const int64_t& number, std::string& line) {
          line += std::to_string(number) + ' ' + std::to_string(own->next());
        }));
  };
  return job;
}

TEST(MutantsSimTest, FileThatIsWrittenOtherwiseTheSecondTimeIsCaught) {
  const Caught caught = catch_in_seeds([](uint64_t seed) {
    return repeat(careless_sink_job(make_seeded_random(seed)), {.seed = seed});
  });
  EXPECT_EQ(caught.count, kSeeds);
  EXPECT_THAT(caught.last, HasSubstr("other bytes"));
}

TEST(MutantsSimTest, DecisionLoggedAfterTheActIsNotSeenWithoutACrash) {
  SimRun run(ledger_job(), {.seed = 1, .wrap_log = wrap<LogAfterAct>});
  run.expect_exactly_once();
}

/// The file server forgets; so would one whose clients never sync.
TEST(MutantsSimTest, ResultThatWasNotSyncedIsFoundTornAfterTheCrashOfAHost) {
  uint64_t caught = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimJob job = word_count_job();
    SimRun run(job, {.seed = seed});
    run.world().shared().forget_syncs();
    EXPECT_TRUE(run.world().queue().run_until(
        [&] { return run.cluster().job_state() == JobState::kCommitting; }, 1min));
    run.cluster().crash_host(*run.cluster().task_managers().front(), SimCluster::Disk::kComesBack);
    EXPECT_TRUE(run.cluster().run_until_ended(10min)) << run.last_lines();
    caught += run.output() == job.expected ? 0 : 1;
  }
  EXPECT_GE(caught, kSeeds / 2);
}

}  // namespace
}  // namespace freshet::sim
