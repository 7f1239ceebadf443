#include "runtime/task/step_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/task/test_job.h"

namespace freshet {
namespace {

using task_test::FastHarness;
using task_test::FunctionOperator;
using task_test::Harness;
using task_test::one;
using task_test::TestJob;
using ::testing::Each;
using ::testing::HasSubstr;
using enum TaskState;

constexpr Duration kSlow = 100ms;  // Far above the time of a step.

TEST(StepPaceTest, LooksAfterEachRecordWhileTheyAreSlowAndSeldomWhenTheyAreFast) {
  ManualClock clock;
  StepPace pace(clock, 2ms);
  EXPECT_EQ(pace.records_max(), 1u);
  for (const uint32_t expected : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 128u}) {
    pace.begin_step(clock.now());
    clock.advance(Duration(10));
    pace.count(pace.records_max());
    EXPECT_EQ(pace.records_max(), expected);
    EXPECT_FALSE(pace.over());
  }
  EXPECT_TRUE(pace.is_fast());
  pace.count(127);
  clock.advance(128 * kSlow);
  EXPECT_FALSE(pace.over());  // It did not look.
  pace.count(1);
  EXPECT_TRUE(pace.over());
  EXPECT_EQ(pace.records_max(), 1u);
  pace.begin_step(clock.now());
  EXPECT_FALSE(pace.over());
  clock.advance(300us);
  pace.count(1);
  EXPECT_FALSE(pace.over());
  EXPECT_EQ(pace.records_max(), 2u);
  clock.advance(600us);
  pace.count(2);
  EXPECT_EQ(pace.records_max(), 4u);  // Six would be enough time; a power of two.
}

TEST(StepPaceTest, TheEndOfAStepCountsWhatNobodyLookedAt) {
  ManualClock clock;
  StepPace pace(clock, 2ms);
  for (int i = 0; i < 8; i++) {
    pace.begin_step(clock.now());
    pace.count(pace.records_max());
  }
  pace.begin_step(clock.now());
  pace.count(2);
  clock.advance(2 * kSlow);
  pace.end_step(clock.now());
  EXPECT_EQ(pace.records_max(), 1u);
}

/// Passes on each record, which takes `took` of the clock.
FunctionOperator::Functions taking(const std::function<Duration(uint64_t)>& took,
                                   ManualClock& clock) {
  FunctionOperator::Functions functions;
  functions.process = [&clock, took](uint64_t number, OperatorContext&, RecordReceiver& output) {
    output.receive(&number, kNoTimestamp);
    clock.advance(took(number));
  };
  return functions;
}

/// How many records each step took until there was nothing to do.
std::vector<size_t> records_of_steps(Harness& harness) {
  std::vector<size_t> steps;
  for (size_t before = 0; harness.task->step() == StepResult::kWorked;) {
    const size_t now = harness.numbers(0).size();
    if (now != before) steps.push_back(now - before);
    before = now;
  }
  return steps;
}

TEST(StreamTaskPaceTest, MailWaitsForOneRecordOfASlowFunction) {
  for (const bool fast : {true, false}) {
    Harness* world = nullptr;
    const auto options = one([&] { return taking([](uint64_t) { return kSlow; }, world->clock); });
    const auto harness =
        fast ? std::make_unique<FastHarness>(options) : std::make_unique<Harness>(options);
    world = harness.get();
    for (uint64_t i = 0; i < 300; i++) harness->gate->feed(0, i);
    const std::vector<size_t> steps = records_of_steps(*harness);
    EXPECT_EQ(steps.size(), 300u);
    EXPECT_THAT(steps, Each(1u));
  }
}

TEST(StreamTaskPaceTest, AStepEndsSoonAfterItsRecordsHaveBecomeSlow) {
  constexpr uint64_t kSlowFrom = 3000;
  Harness* world = nullptr;
  FastHarness harness(one([&] {
    return taking([](uint64_t number) { return number < kSlowFrom ? Duration(20) : kSlow; },
                  world->clock);
  }));
  world = &harness;
  for (uint64_t i = 0; i < kSlowFrom + 1000; i++) harness.gate->feed(0, i);
  const std::vector<size_t> steps = records_of_steps(harness);
  const size_t slow_steps = static_cast<size_t>(
      std::count_if(steps.begin(), steps.end(), [](size_t count) { return count == 1; }));
  EXPECT_GE(slow_steps, 1000u - 2 * 128u);
  EXPECT_LT(steps.size(), 1000u + 20u);  // The fast ones were many in each.
}

TEST(StreamTaskPaceTest, ASlowSourceIsPolledForOneRecord) {
  for (const bool slow : {true, false}) {
    Harness* world = nullptr;
    std::vector<uint32_t> polls;
    uint64_t next = 0;
    TestJob::Options options = one([&] {
      FunctionOperator::Functions functions;
      functions.poll = [&](uint32_t records_max, OperatorContext&, RecordReceiver& output) {
        polls.push_back(records_max);
        for (uint32_t i = 0; i < records_max; i++, next++) {
          output.receive(&next, kNoTimestamp);
          if (slow) world->clock.advance(kSlow);
        }
        return polls.size() < 40 ? PollResult::kMore : PollResult::kEnded;
      };
      functions.source_records = [&] { return next; };
      return functions;
    });
    options.source = true;
    Harness harness(options);
    world = &harness;
    harness.run();
    ASSERT_EQ(polls.size(), 40u);
    EXPECT_EQ(polls[0], 1u);
    EXPECT_EQ(polls.back(), slow ? 1u : 128u);
    // Whoever executes it again asks for the same.
    const std::vector<uint32_t> live = std::exchange(polls, {});
    next = 0;
    harness.task->request_cancel();
    harness.run();
    EXPECT_TRUE(verify_recording(*harness.recorder.recordings().at(task_test::kAttempt),
                                 *harness.job.graph, harness.job.built, harness.files)
                    .ok());
    EXPECT_EQ(polls, live);
  }
}

/// Emits until something throws.
FunctionOperator::Functions without_end(const std::function<void(uint64_t)>& after) {
  FunctionOperator::Functions functions;
  functions.process = [after](uint64_t, OperatorContext&, RecordReceiver& output) {
    for (uint64_t i = 0;; i++) {
      output.receive(&i, kNoTimestamp);
      after(i);
    }
  };
  return functions;
}

TEST(StreamTaskPaceTest, CancellingLeavesAnElementThatEmitsWithoutEnd) {
  for (const bool catches : {false, true}) {
    Harness* world = nullptr;
    Harness harness(one([&] {
      FunctionOperator::Functions functions = without_end([&](uint64_t i) {
        if (i == 1000) world->task->request_cancel();
      });
      if (!catches) return functions;
      // What an operator catches comes again, or is dropped.
      functions.process = [inner = functions.process](uint64_t number, OperatorContext& context,
                                                      RecordReceiver& output) {
        try {
          inner(number, context, output);
        } catch (const std::exception&) {
          output.receive(&number, kNoTimestamp);
        }
      };
      return functions;
    }));
    world = &harness;
    harness.gate->feed(0, 1);
    EXPECT_EQ(harness.run(), StepResult::kFinished);
    EXPECT_EQ(harness.states->last().state, kCanceled);
    EXPECT_LE(harness.numbers(0).size(), 1003u);
    EXPECT_TRUE(harness.output->released());
  }
}

TEST(StreamTaskPaceTest, FailureOfAnOutputLeavesAnElementThatEmitsWithoutEnd) {
  Harness* world = nullptr;
  Harness harness(one([&] {
    return without_end([&](uint64_t i) {
      if (i == 1000) world->output->set_status(resource_exhausted("no space left on device"));
    });
  }));
  world = &harness;
  harness.gate->feed(0, 1);
  EXPECT_EQ(harness.run(), StepResult::kFinished);
  EXPECT_EQ(harness.states->last().state, kFailed);
  EXPECT_EQ(harness.states->last().cause.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(harness.states->last().cause.message(), HasSubstr("no space left on device"));
  EXPECT_LE(harness.numbers(0).size(), 1003u);
}

TEST(StreamTaskPaceTest, NamesTheRecordOfASourceThatFailed) {
  TestJob::Options options = one([] {
    FunctionOperator::Functions functions;
    functions.poll = [](uint32_t, OperatorContext&, RecordReceiver&) -> PollResult {
      throw std::runtime_error("not this one");
    };
    return functions;
  });
  options.source = true;
  Harness harness(options);
  EXPECT_EQ(harness.run(), StepResult::kFinished);
  EXPECT_EQ(harness.states->last().cause.message(),
            "operator 'operator-0', record 0 of its source: exception: not this one");
}

}  // namespace
}  // namespace freshet
