#include "runtime/task/stream_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/buffer_timeout.h"
#include "runtime/operators/permanent_failure.h"
#include "tests/unit/task/test_job.h"

namespace freshet {
namespace {

using task_test::FastHarness;
using task_test::FunctionOperator;
using task_test::Harness;
using task_test::one;
using task_test::TestJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum TaskState;

FunctionOperator::Functions pass_on() {
  FunctionOperator::Functions functions;
  functions.process = [](uint64_t number, OperatorContext&, RecordReceiver& output) {
    output.receive(&number, kNoTimestamp);
  };
  return functions;
}

FunctionOperator::Functions twice() {
  FunctionOperator::Functions functions;
  functions.process = [](uint64_t number, OperatorContext&, RecordReceiver& output) {
    for (uint64_t copy : {number, number * 10}) output.receive(&copy, kNoTimestamp);
  };
  return functions;
}

TEST(StreamTaskTest, RunsAChainAndStaysAtTheEndOfItsData) {
  TestJob::Options options = one(pass_on);
  options.operators.push_back(twice);
  Harness harness(options);
  harness.gate->feed(0, 1);
  harness.gate->feed(1, 2);
  harness.gate->end();
  EXPECT_EQ(harness.run(), StepResult::kIdle);
  EXPECT_THAT(harness.numbers(0), ElementsAre(1, 10, 2, 20));
  EXPECT_TRUE(harness.output->ended());
  EXPECT_FALSE(harness.output->released());
  EXPECT_THAT(harness.states->states(), ElementsAre(kInitializing, kRunning, kEndOfData));
  EXPECT_EQ(harness.states->last().progress.inputs_read, 1u);
  EXPECT_EQ(harness.states->last().progress.records_in, 2u);
  EXPECT_EQ(harness.states->last().progress.records_out, 4u);

  harness.task->request_finish();
  EXPECT_EQ(harness.task->step(), StepResult::kFinished);
  EXPECT_EQ(harness.states->last().state, kFinished);
  EXPECT_TRUE(harness.output->released());
  EXPECT_TRUE(harness.gate->released());
}

TEST(StreamTaskTest, TakesNothingWhileAnOutputIsFull) {
  Harness harness(one(twice));
  harness.run();
  harness.output->set_available(false);
  harness.gate->feed(0, 1);
  EXPECT_EQ(harness.run(), StepResult::kIdle);
  EXPECT_THAT(harness.numbers(0), ElementsAre());
  harness.clock.advance(50ms);
  harness.output->set_available(true);
  harness.run();
  EXPECT_THAT(harness.numbers(0), ElementsAre(1, 10));
  EXPECT_EQ(harness.task->progress().back_pressured, Duration(50ms));
}

TEST(StreamTaskTest, PaysBackBeforeItTakesAnythingFurther) {
  Harness harness(one(twice));
  harness.run();
  harness.output->set_owed(3);
  harness.output->set_available(false);
  harness.gate->feed(0, 1);
  harness.clock.advance(10ms);
  EXPECT_EQ(harness.task->step(), StepResult::kIdle);  // No memory: it will be woken.
  harness.clock.advance(50ms);
  harness.output->set_available(true);
  for (int owed = 2; owed > 0; owed--) {
    EXPECT_EQ(harness.task->step(), StepResult::kWorked);
    EXPECT_TRUE(harness.output->spilled());
    EXPECT_THAT(harness.numbers(0), ElementsAre());
    harness.clock.advance(5ms);
  }
  EXPECT_EQ(harness.run(), StepResult::kIdle);
  EXPECT_THAT(harness.numbers(0), ElementsAre(1, 10));
  const TaskProgress progress = harness.task->progress();
  EXPECT_EQ(progress.back_pressured, Duration(60ms));  // Also while it waited for a worker.
}

TEST(StreamTaskTest, IsAtTheEndOfItsDataOnceAllIsPaidBack) {
  for (const bool ends_by_itself : {false, true}) {
    Harness* world = nullptr;
    TestJob::Options options = one([&] {
      FunctionOperator::Functions functions;
      functions.finish = [&](OperatorContext&, RecordReceiver& output) {
        const uint64_t number = 7;
        output.receive(&number, kNoTimestamp);
        world->output->set_owed(3);
        return true;
      };
      functions.poll = [](uint32_t, OperatorContext&, RecordReceiver&) {
        return PollResult::kEnded;
      };
      return functions;
    });
    options.source = ends_by_itself;
    options.with_input = !ends_by_itself;
    Harness harness(options);
    world = &harness;
    harness.gate->end();
    while (harness.task->step() == StepResult::kWorked && !harness.output->ended()) {
    }
    EXPECT_TRUE(harness.output->spilled());
    EXPECT_EQ(harness.states->last().state, kRunning);
    harness.output->set_available(false);
    EXPECT_EQ(harness.run(), StepResult::kIdle);
    EXPECT_EQ(harness.states->last().state, kRunning);
    harness.output->set_available(true);
    EXPECT_EQ(harness.run(), StepResult::kIdle);
    EXPECT_FALSE(harness.output->spilled());
    EXPECT_EQ(harness.states->last().state, kEndOfData);
    EXPECT_THAT(harness.numbers(0), ElementsAre(7));
  }
}

TEST(StreamTaskTest, FailsWhenWhatItWroteCannotBeKept) {
  for (const bool at_the_end : {false, true}) {
    Harness harness(one(pass_on));
    harness.run();
    harness.gate->feed(0, 1);
    if (at_the_end) harness.gate->end();
    harness.output->set_owed(2);
    harness.output->set_status(resource_exhausted("/state/spill/x: no space left on device"));
    EXPECT_EQ(harness.run(), StepResult::kFinished);
    EXPECT_EQ(harness.states->last().state, kFailed);
    EXPECT_EQ(harness.states->last().cause.message(),
              "operator 'operator-0', output to 'neighbour': /state/spill/x: no space left on "
              "device");
    EXPECT_EQ(harness.states->last().cause.code(), StatusCode::kResourceExhausted);
    EXPECT_FALSE(harness.output->ended());
    EXPECT_TRUE(harness.output->released());
  }
}

TEST(StreamTaskTest, StopsWithinARunWhenAnOutputBecomesFull) {
  int left = 100;
  FastHarness harness(one([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t number, OperatorContext&, RecordReceiver& output) {
      output.receive(&number, kNoTimestamp);
      if (--left == 0) harness.output->set_available(false);
    };
    return functions;
  }));
  harness.run();
  for (uint64_t i = 0; i < 300; i++) harness.gate->feed(0, i);
  EXPECT_EQ(harness.run(), StepResult::kIdle);
  EXPECT_EQ(harness.numbers(0).size(), 100u);
  harness.output->set_available(true);
  harness.run();
  EXPECT_EQ(harness.numbers(0).size(), 300u);
  EXPECT_EQ(harness.task->progress().records_in, 300u);
}

TEST(StreamTaskTest, NamesTheElementOfARunThatFailed) {
  FastHarness harness(one([] {
    FunctionOperator::Functions functions = pass_on();
    functions.process = [](uint64_t number, OperatorContext&, RecordReceiver&) {
      if (number == 107) throw std::runtime_error("not this one");
    };
    return functions;
  }));
  for (uint64_t i = 0; i < 300; i++) harness.gate->feed(1, 100 + i);
  EXPECT_EQ(harness.run(), StepResult::kFinished);
  EXPECT_THAT(harness.states->last().cause.message(), HasSubstr("element 7 of producer 1"));
}

TEST(StreamTaskTest, AllOfItsTimeIsBusyOrIdleOrBackPressured) {
  Harness* world = nullptr;
  Harness harness(one([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t number, OperatorContext&, RecordReceiver& output) {
      output.receive(&number, kNoTimestamp);
      world->clock.advance(Duration(number));
      // For the disk.
      world->output->wait_for_disk(Duration(number % 1000));
      world->clock.advance(Duration(number % 1000));
    };
    return functions;
  }));
  world = &harness;
  const auto random = make_seeded_random(1);
  const TimePoint begin = harness.clock.now();
  Duration busy{}, idle{}, back_pressured{};
  harness.run();
  bool available = true;
  for (int i = 0; i < 500; i++) {
    const Duration wait(random->below(3'000'000));
    (available ? idle : back_pressured) += wait;
    harness.clock.advance(wait);
    for (uint64_t left = random->below(5); left > 0; left--) {
      const uint64_t nanos = random->below(3'000'000);
      harness.gate->feed(static_cast<uint32_t>(random->below(2)), nanos);
      busy += Duration(nanos);
      back_pressured += Duration(nanos % 1000);
    }
    harness.output->set_available(true);
    while (harness.task->step() == StepResult::kWorked) {
      const Duration no_worker(random->below(100'000));
      harness.clock.advance(no_worker);
      busy += no_worker;
    }
    available = random->one_in(2);
    harness.output->set_available(available);
    harness.task->step();  // So that it knows what it waits for.
  }
  const TaskProgress progress = harness.task->progress();
  EXPECT_EQ(progress.busy, busy);
  EXPECT_EQ(progress.idle, idle);
  EXPECT_EQ(progress.back_pressured, back_pressured);
  EXPECT_EQ(progress.busy + progress.idle + progress.back_pressured, harness.clock.now() - begin);
}

TEST(StreamTaskTest, TakesEventsBetweenRuns) {
  FastHarness harness(one(pass_on));
  for (uint64_t i = 0; i < 3; i++) harness.gate->feed(0, i);
  Encoder encoder;
  encoder.write_fixed(EpochMillis{77});
  harness.gate->feed_event(0, ElementKind::kWatermark, std::string(encoder.bytes()));
  for (uint64_t i = 3; i < 6; i++) harness.gate->feed(0, i);
  harness.gate->end();
  harness.run();
  EXPECT_THAT(harness.numbers(0), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(harness.states->last().state, kEndOfData);
}

TEST(StreamTaskTest, OneStepIsBounded) {
  Harness harness(one(pass_on));
  harness.run();
  for (uint64_t i = 0; i < 100'000; i++) harness.gate->feed(0, i);
  EXPECT_EQ(harness.task->step(), StepResult::kWorked);
  EXPECT_LT(harness.numbers(0).size(), 40'000u);  // Also when no time passes.
  EXPECT_GT(harness.numbers(0).size(), 0u);
}

TEST(StreamTaskTest, CancelComesBeforeElements) {
  bool closed = false;
  Harness harness(one([&] {
    FunctionOperator::Functions functions = pass_on();
    functions.close = [&] { closed = true; };
    return functions;
  }));
  harness.run();
  harness.gate->feed(0, 1);
  harness.task->request_cancel();
  EXPECT_EQ(harness.task->step(), StepResult::kFinished);
  EXPECT_THAT(harness.states->states(),
              ElementsAre(kInitializing, kRunning, kCanceling, kCanceled));
  EXPECT_THAT(harness.numbers(0), ElementsAre());
  EXPECT_TRUE(closed);
  EXPECT_TRUE(harness.gate->released());
  EXPECT_EQ(harness.task->step(), StepResult::kFinished);
  EXPECT_EQ(harness.states->changes.size(), 4u);
}

TEST(StreamTaskTest, FailsWithTheNameOfTheChainedOperatorThatThrew) {
  TestJob::Options options = one(pass_on);
  options.operators.push_back([] {
    FunctionOperator::Functions functions;
    functions.process = [](uint64_t number, OperatorContext&, RecordReceiver&) {
      if (number == 7) throw std::runtime_error("seven is not allowed");
    };
    return functions;
  });
  Harness harness(options);
  harness.gate->feed(1, 6);
  harness.gate->feed(1, 7);
  EXPECT_EQ(harness.run(), StepResult::kFinished);
  const TaskStateChange& last = harness.states->last();
  EXPECT_EQ(last.state, kFailed);
  EXPECT_EQ(last.operator_name, "operator-1");
  EXPECT_EQ(last.cause.code(), StatusCode::kUserError);
  EXPECT_THAT(last.cause.message(), HasSubstr("seven is not allowed"));
  EXPECT_THAT(last.cause.message(), HasSubstr("element 1 of producer 1"));
  EXPECT_TRUE(harness.output->released());
  EXPECT_FALSE(harness.output->ended());
}

TEST(StreamTaskTest, SaysThatAPermanentFailureIsNotWorthAnotherAttempt) {
  FastHarness harness(one([] {
    FunctionOperator::Functions functions = pass_on();
    functions.process = [](uint64_t, OperatorContext&, RecordReceiver&) {
      throw PermanentFailure("the output is somebody else's");
    };
    return functions;
  }));
  harness.gate->feed(0, 1);
  EXPECT_EQ(harness.run(), StepResult::kFinished);
  const TaskStateChange& last = harness.states->last();
  EXPECT_EQ(last.cause.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(last.cause.message(), "operator 'operator-0': the output is somebody else's");
  EXPECT_EQ(last.operator_name, "operator-0");
}

TEST(StreamTaskTest, FailsWhenARecordNamesASubtaskThatDoesNotExist) {
  TestJob::Options options = one(pass_on);
  options.consumers = 3;
  options.output = Partitioning::kDirect;
  Harness harness(options);
  harness.gate->feed(0, 2);
  harness.gate->feed(0, 3);
  harness.run();
  EXPECT_EQ(harness.states->last().state, kFailed);
  EXPECT_EQ(harness.states->last().cause.message(),
            "operator 'operator-0', output to 'neighbour': a record is for subtask 3 of 3");
  EXPECT_THAT(harness.numbers(2), ElementsAre(2));
}

TEST(StreamTaskTest, EmitsTheEndInBatchesWhileThereIsSpace) {
  int batches = 0;
  Harness harness(one([&] {
    FunctionOperator::Functions functions;
    functions.committables = {"a", "b"};
    functions.finish = [&](OperatorContext&, RecordReceiver& output) {
      const uint64_t number = ++batches;
      output.receive(&number, kNoTimestamp);
      return batches == 3;
    };
    return functions;
  }));
  harness.run();
  harness.gate->end();
  harness.output->set_available(false);
  harness.run();
  EXPECT_EQ(batches, 0);
  harness.output->set_available(true);
  harness.run();
  EXPECT_THAT(harness.numbers(0), ElementsAre(1, 2, 3));
  EXPECT_EQ(harness.states->last().state, kEndOfData);
  ASSERT_EQ(harness.states->last().committables.size(), 2u);
  EXPECT_EQ(harness.states->last().committables[1].payload, "b");
  EXPECT_EQ(harness.states->last().committables[1].operator_id, OperatorId{10});
}

TEST(StreamTaskTest, SourceGetsInputOnlyWhenItWantsSome) {
  uint64_t left = 0;
  bool ended = false;
  TestJob::Options options = one([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t number, OperatorContext&, RecordReceiver&) {
      EXPECT_EQ(left, 0u);
      left = number;
    };
    functions.end_input = [&](uint32_t, RecordReceiver&) { ended = true; };
    functions.wants_input = [&] { return left == 0; };
    functions.poll = [&](uint32_t, OperatorContext&, RecordReceiver& output) {
      if (left == 0) return ended ? PollResult::kEnded : PollResult::kWaiting;
      output.receive(&left, kNoTimestamp);
      left--;
      return PollResult::kMore;
    };
    return functions;
  });
  options.source = true;
  Harness harness(options);
  harness.gate->feed(0, 3);
  harness.gate->feed(0, 2);
  harness.gate->end();
  harness.run();
  EXPECT_THAT(harness.numbers(0), ElementsAre(3, 2, 1, 2, 1));
  EXPECT_EQ(harness.states->last().state, kEndOfData);
}

TEST(StreamTaskTest, CoordinatorEndsItsOutputBeforeItsInput) {
  int splits = 2;
  TestJob::Options options = one([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t number, OperatorContext&, RecordReceiver& output) {
      splits--;
      output.receive(&number, kNoTimestamp);
    };
    functions.poll = [&](uint32_t, OperatorContext&, RecordReceiver&) {
      return splits == 0 ? PollResult::kEnded : PollResult::kWaiting;
    };
    return functions;
  });
  options.source = true;
  Harness harness(options);
  for (uint64_t i = 0; i < 4; i++) harness.gate->feed(0, i);
  harness.run();
  EXPECT_THAT(harness.numbers(0), ElementsAre(0, 1));
  EXPECT_TRUE(harness.output->ended());
  EXPECT_EQ(harness.states->last().state, kRunning);
  harness.gate->end();
  harness.run();
  EXPECT_EQ(harness.states->last().state, kEndOfData);
}

TEST(StreamTaskTest, ForwardsTheLeastWatermark) {
  std::vector<EpochMillis> seen;
  Harness harness(one([&] {
    FunctionOperator::Functions functions;
    functions.on_watermark = [&](EpochMillis watermark) { seen.push_back(watermark); };
    return functions;
  }));
  const auto watermark = [](EpochMillis time) {
    Encoder encoder;
    encoder.write_fixed(time);
    return std::string(encoder.bytes());
  };
  harness.gate->feed_event(0, ElementKind::kWatermark, watermark(20));
  harness.gate->feed_event(1, ElementKind::kWatermark, watermark(10));
  harness.run();
  EXPECT_THAT(seen, ElementsAre(10));
  harness.gate->end();
  harness.run();
  EXPECT_THAT(seen, ElementsAre(10, INT64_MAX));
  ASSERT_EQ(harness.output->elements(0).size(), 1u);
  EXPECT_EQ(harness.output->elements(0)[0].payload, watermark(10));
}

/// A source that says its clock's time at each poll and then waits for 50 ms, five times.
FunctionOperator::Functions ticking(int& polls) {
  FunctionOperator::Functions functions;
  functions.poll = [&polls](uint32_t, OperatorContext& context, RecordReceiver& output) {
    if (polls == 5) return PollResult::kEnded;
    polls++;
    const auto now = static_cast<uint64_t>(context.processing_time());
    output.receive(&now, kNoTimestamp);
    context.wake_at(context.processing_time() + 50);
    return PollResult::kWaiting;
  };
  return functions;
}

TEST(StreamTaskTest, SourceIsPolledAtTheTimeThatItAskedFor) {
  int polls = 0;
  TestJob::Options options = one([&] { return ticking(polls); });
  options.source = true;
  Harness harness(options);
  harness.run();
  EXPECT_EQ(polls, 1);
  EXPECT_THAT(harness.states->timers, ElementsAre(Duration(50ms)));
  harness.clock.advance(49ms);
  harness.run();
  EXPECT_EQ(polls, 1);
  EXPECT_EQ(harness.states->timers.size(), 1u) << "the first one has not come";
  harness.task->on_timer();  // Too early: another one is wanted for the rest.
  harness.run();
  EXPECT_THAT(harness.states->timers, ElementsAre(Duration(50ms), Duration(1ms)));
  harness.clock.advance(1ms);
  harness.task->on_timer();
  harness.run();
  EXPECT_EQ(polls, 2);
  EXPECT_EQ(harness.states->timers.size(), 3u);
}

TEST(StreamTaskTest, SourceThatWaitsIsPolledWhenTheClockGoesBackAndWhenInputComes) {
  int polls = 0;
  TestJob::Options options = one([&] { return ticking(polls); });
  options.source = true;
  Harness harness(options);
  harness.clock.advance(10s);
  harness.run();
  harness.clock.advance_to(TimePoint(Duration(9s)));
  harness.run();
  EXPECT_EQ(polls, 2);
  harness.gate->feed(0, 1);
  harness.run();
  EXPECT_EQ(polls, 3);
}

TEST(StreamTaskTest, SourceThatWaitsAsksForNoTimerWhileItsOutputIsFull) {
  int polls = 0;
  TestJob::Options options = one([&] { return ticking(polls); });
  options.source = true;
  Harness harness(options);
  harness.run();
  harness.task->on_timer();
  harness.clock.advance(60ms);
  harness.output->set_available(false);
  harness.run();
  EXPECT_EQ(polls, 1);
  EXPECT_EQ(harness.states->timers.size(), 1u);
  harness.output->set_available(true);
  harness.run();
  EXPECT_EQ(polls, 2);
}

TEST(StreamTaskTest, TellsItsOperatorsWhenThereIsNothingToDo) {
  int idle = 0;
  TestJob::Options options = one(pass_on);
  options.operators.push_back([&] {
    FunctionOperator::Functions functions = pass_on();
    functions.on_idle = [&] { idle++; };
    return functions;
  });
  Harness harness(options);
  harness.gate->feed(0, 1);
  EXPECT_EQ(harness.task->step(), StepResult::kWorked);
  EXPECT_EQ(idle, 0);
  harness.run();
  EXPECT_EQ(idle, 1);
}

TEST(StreamTaskTest, SendsEachRecordByItselfWithoutTimeout) {
  std::vector<bool> unflushed;
  Harness* all = nullptr;
  TestJob::Options options = one([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t number, OperatorContext&, RecordReceiver& output) {
      unflushed.push_back(all->output->wants_flush());
      output.receive(&number, kNoTimestamp);
    };
    return functions;
  });
  for (const uint64_t timeout : {0, 100}) {
    options.buffer_timeout_ms = timeout;
    Harness harness(options);
    all = &harness;
    unflushed.clear();
    for (uint64_t i = 0; i < 3; i++) harness.gate->feed(0, i);
    harness.run();
    EXPECT_THAT(unflushed, ElementsAre(false, timeout != 0, timeout != 0));
    EXPECT_THAT(harness.numbers(0), ElementsAre(0, 1, 2));
  }
}

TEST(StreamTaskTest, OutputWithoutAnyTimeoutIsNotFlushedByTime) {
  TestJob::Options options = one(pass_on);
  options.buffer_timeout_ms = kNeverFlushedByTime;
  Harness harness(options);
  harness.gate->feed(0, 1);
  harness.run();
  EXPECT_GT(harness.output->steps(), 0u);  // What is full is handed over nevertheless.
  EXPECT_FALSE(harness.task->flush_interval());
  EXPECT_FALSE(harness.task->wants_flush());
  harness.task->request_flush();
  harness.run();
  EXPECT_TRUE(harness.output->wants_flush());
}

TEST(StreamTaskTest, FlushesWhenToldOrAfterEachStepWithoutTimeout) {
  Harness timed(one(pass_on));
  timed.gate->feed(0, 1);
  timed.run();
  EXPECT_EQ(timed.task->flush_interval(), Duration(100ms));
  EXPECT_TRUE(timed.task->wants_flush());
  timed.task->request_flush();
  timed.run();
  EXPECT_FALSE(timed.output->wants_flush());
  EXPECT_FALSE(timed.task->wants_flush());

  TestJob::Options options = one(pass_on);
  options.buffer_timeout_ms = 0;
  Harness immediate(options);
  immediate.gate->feed(0, 1);
  immediate.run();
  EXPECT_FALSE(immediate.output->wants_flush());
  EXPECT_FALSE(immediate.task->flush_interval());
}

TEST(StreamTaskTest, BroadcastGivesEveryConsumerTheSame) {
  TestJob::Options options = one(pass_on);
  options.consumers = 3;
  options.output = Partitioning::kBroadcast;
  Harness harness(options);
  harness.gate->feed(0, 5);
  harness.gate->feed(0, 6);
  harness.run();
  for (uint32_t i = 0; i < 3; i++) EXPECT_THAT(harness.numbers(i), ElementsAre(5, 6));
}

TEST(StreamTaskTest, HashSendsEqualKeysToTheOwnerOfTheirKeyGroup) {
  TestJob::Options options = one(pass_on);
  options.consumers = 3;
  options.output = Partitioning::kHash;
  Harness harness(options);
  for (uint64_t i = 0; i < 100; i++) harness.gate->feed(0, i);
  harness.run();
  const task_test::NumberType type;
  for (uint32_t consumer = 0; consumer < 3; consumer++) {
    EXPECT_GT(harness.numbers(consumer).size(), 10u);
    for (uint64_t number : harness.numbers(consumer)) {
      Encoder scratch;
      EXPECT_EQ(subtask_of_key_group(key_group_of(type.key_hash(&number, scratch), 128), 3, 128),
                consumer);
    }
  }
}

}  // namespace
}  // namespace freshet
