#include "runtime/task/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/task/test_job.h"

namespace freshet {
namespace {

using task_test::FunctionOperator;
using task_test::Harness;
using task_test::TestJob;
using ::testing::HasSubstr;

/// Uses everything that may differ between two executions, through its context.
FunctionOperator::Functions honest() {
  FunctionOperator::Functions functions;
  functions.process = [](uint64_t number, OperatorContext& context, RecordReceiver& output) {
    const std::string answer =
        context.external("number", [&] { return std::to_string(number * 3); });
    for (uint64_t one : {number, context.random(), static_cast<uint64_t>(context.processing_time()),
                         static_cast<uint64_t>(std::stoull(answer))}) {
      output.receive(&one, kNoTimestamp);
    }
  };
  functions.finish = [](OperatorContext& context, RecordReceiver& output) {
    const uint64_t number = context.processing_time();
    output.receive(&number, kNoTimestamp);
    return true;
  };
  return functions;
}

TestJob::Options options_of(task_test::MakeFunctions make,
                            Partitioning output = Partitioning::kRebalance) {
  TestJob::Options options;
  options.operators = {std::move(make)};
  options.output = output;
  return options;
}

/// Some life: elements that come late, time that passes.
void live(Harness& harness, bool to_the_end = true) {
  harness.run();
  for (uint64_t i = 0; i < 50; i++) {
    harness.gate->feed(i % 3 == 0 ? 1 : 0, i);
    if (i % 7 == 0) {
      harness.clock.advance(3ms);
      harness.run();
    }
  }
  harness.run();
  if (!to_the_end) return;
  harness.gate->end();
  harness.clock.advance(1ms);
  harness.run();
}

Status verify(Harness& harness) {
  harness.task->request_cancel();
  harness.run();
  return verify_recording(*harness.recorder.recordings().at(task_test::kAttempt),
                          *harness.job.graph, harness.job.built, harness.files);
}

TEST(VerifyRecordingTest, FindsTheSameOutputs) {
  for (Partitioning output : {Partitioning::kRebalance, Partitioning::kShuffle, Partitioning::kHash,
                              Partitioning::kBroadcast, Partitioning::kGlobal}) {
    Harness harness(options_of(honest, output));
    live(harness);
    EXPECT_EQ(harness.states->last().state, TaskState::kEndOfData);
    EXPECT_TRUE(verify(harness).ok()) << verify(harness).to_string();
  }
}

TEST(VerifyRecordingTest, FindsTheSameOutputsOfATaskThatWasCancelled) {
  Harness harness(options_of(honest));
  live(harness, false);
  EXPECT_TRUE(verify(harness).ok()) << verify(harness).to_string();
}

TEST(VerifyRecordingTest, FindsTheSameOutputsOfASourceThatWaits) {
  TestJob::Options options = options_of([] {
    FunctionOperator::Functions functions;
    functions.poll = [](uint32_t, OperatorContext& context, RecordReceiver& output) {
      const auto now = static_cast<uint64_t>(context.processing_time());
      output.receive(&now, kNoTimestamp);
      context.wake_at(context.processing_time() + 5);
      return PollResult::kWaiting;
    };
    return functions;
  });
  options.source = true;
  Harness harness(options);
  for (int i = 0; i < 40; i++) {
    harness.run();
    harness.clock.advance(2ms);
    if (i == 20) harness.clock.advance_to(TimePoint(Duration(10ms)));  // Goes back.
  }
  EXPECT_GE(harness.all_numbers().size(), 10u);
  EXPECT_LE(harness.all_numbers().size(), 20u);
  EXPECT_TRUE(verify(harness).ok()) << verify(harness).to_string();
}

TEST(VerifyRecordingTest, CatchesAnElementThatIsMissing) {
  Harness harness(options_of(honest));
  live(harness);
  harness.task->request_cancel();
  harness.run();
  TaskRecording recording = *harness.recorder.recordings().at(task_test::kAttempt);
  recording.outputs[0][1].elements++;
  const Status status =
      verify_recording(recording, *harness.job.graph, harness.job.built, harness.files);
  EXPECT_THAT(status.message(), HasSubstr("executed again"));
}

TEST(VerifyRecordingTest, CatchesAClockReadInsideAnElement) {
  ManualClock wall;
  Harness harness(options_of([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t, OperatorContext&, RecordReceiver& output) {
      wall.advance(1ms);
      const uint64_t number = wall.epoch_millis();
      output.receive(&number, kNoTimestamp);
    };
    return functions;
  }));
  live(harness);
  EXPECT_THAT(verify(harness).message(), HasSubstr("other elements"));
}

TEST(VerifyRecordingTest, CatchesChancePastDecisions) {
  const auto chance = make_seeded_random(9);
  Harness harness(options_of([&] {
    FunctionOperator::Functions functions;
    functions.process = [&](uint64_t, OperatorContext&, RecordReceiver& output) {
      const uint64_t number = chance->next();
      output.receive(&number, kNoTimestamp);
    };
    return functions;
  }));
  live(harness);
  EXPECT_THAT(verify(harness).message(), HasSubstr("other elements"));
}

/// Writes each number to a file, with a suffix.
task_test::MakeFunctions file_writer(std::function<std::string()> suffix) {
  return [suffix = std::move(suffix)] {
    const auto file = std::make_shared<std::unique_ptr<WritableFile>>();
    FunctionOperator::Functions functions;
    functions.open = [file](OperatorContext& context, RecordReceiver&) {
      *file = context.files().create("/written").value();
    };
    functions.process = [file, suffix](uint64_t number, OperatorContext&, RecordReceiver&) {
      ASSERT_TRUE((*file)->append(std::to_string(number) + suffix()).ok());
    };
    functions.finish = [file](OperatorContext&, RecordReceiver&) { return (*file)->close().ok(); };
    return functions;
  };
}

TEST(VerifyRecordingTest, FindsTheSameFilesOfATaskThatEndedAndOfOneThatWasCancelled) {
  for (const bool to_the_end : {true, false}) {
    Harness harness(options_of(file_writer([] { return "\n"; })));
    live(harness, to_the_end);
    const Status status = verify(harness);
    EXPECT_TRUE(status.ok()) << status.to_string();
    const RecordedFiles& files = harness.recorder.recordings().at(task_test::kAttempt)->files;
    ASSERT_TRUE(files.contains("/written"));
    EXPECT_EQ(files.at("/written").content, harness.files.files().at("/written"));
    EXPECT_EQ(files.at("/written").closed, to_the_end);
  }
}

TEST(VerifyRecordingTest, CatchesOtherBytesInAFile) {
  const auto chance = make_seeded_random(9);
  Harness harness(options_of(file_writer([&] { return std::to_string(chance->next()); })));
  live(harness);
  EXPECT_THAT(verify(harness).message(), HasSubstr("other bytes to /written"));
}

TEST(VerifyRecordingTest, CatchesAFileThatIsLongerThanWhatWasClosed) {
  Harness harness(options_of(file_writer([] { return "\n"; })));
  live(harness);
  harness.task->request_cancel();
  harness.run();
  TaskRecording recording = *harness.recorder.recordings().at(task_test::kAttempt);
  recording.files.at("/written").content.pop_back();
  const Status status =
      verify_recording(recording, *harness.job.graph, harness.job.built, harness.files);
  EXPECT_THAT(status.message(), HasSubstr("other bytes"));
}

/// Passes calls on; mutants change one.
class MutantDecisions : public Decisions {
 public:
  MutantDecisions(const Clock& clock, DecisionLog* log)
      : live_(clock, make_seeded_random(1), log) {}
  std::optional<Decision> next(const Offers& offers) override { return live_.next(offers); }
  void tick() override {
    live_.tick();
    processing_time_ = live_.processing_time();
  }
  uint64_t random() override { return live_.random(); }
  std::string external(const std::function<std::string()>& ask) override {
    return live_.external(ask);
  }

 private:
  LiveDecisions live_;
};

class UnloggedRandom final : public MutantDecisions {
 public:
  using MutantDecisions::MutantDecisions;
  uint64_t random() override { return ~0ull; }  // The last subtask of a round robin.
};

/// Writes a decision only when the next one is made.
class LateLog final : public DecisionLog {
 public:
  explicit LateLog(DecisionLog& log) : log_(log) {}
  void append(const Decision& decision) override {
    if (held_) log_.append(*held_);
    held_ = decision;
  }

 private:
  DecisionLog& log_;
  std::optional<Decision> held_;
};

FunctionOperator::Functions forward_all() {
  FunctionOperator::Functions functions;
  functions.process = [](uint64_t number, OperatorContext&, RecordReceiver& output) {
    output.receive(&number, kNoTimestamp);
  };
  return functions;
}

/// Runs a task with decisions that write to a log of their own, and compares.
template <class Make>
Status verify_with(Make make) {
  const TestJob::Options options = options_of(forward_all);
  ManualClock clock;
  MemoryDecisionLog log;
  Harness harness(options, make(clock, log));
  live(harness, false);
  harness.task->request_cancel();
  harness.run();
  TaskRecording recording = *harness.recorder.recordings().at(task_test::kAttempt);
  recording.decisions = log;
  return verify_recording(recording, *harness.job.graph, harness.job.built, harness.files);
}

TEST(VerifyRecordingTest, AcceptsDecisionsThatArePassedOn) {
  const Status status = verify_with([](const Clock& clock, MemoryDecisionLog& log) {
    return std::unique_ptr<Decisions>(std::make_unique<MutantDecisions>(clock, &log));
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(VerifyRecordingTest, CatchesARoundRobinStartPastDecisions) {
  EXPECT_FALSE(verify_with([](const Clock& clock, MemoryDecisionLog& log) {
                 return std::unique_ptr<Decisions>(std::make_unique<UnloggedRandom>(clock, &log));
               }).ok());
}

TEST(VerifyRecordingTest, CatchesADecisionLoggedAfterTheAct) {
  std::unique_ptr<LateLog> late;
  EXPECT_FALSE(verify_with([&](const Clock& clock, MemoryDecisionLog& log) {
                 late = std::make_unique<LateLog>(log);
                 return std::unique_ptr<Decisions>(
                     std::make_unique<LiveDecisions>(clock, make_seeded_random(1), late.get()));
               }).ok());
}

/// Write-ahead: at every mark before an element the choice of that element is in the log, though
/// nothing was done yet.
class CountingFaults final : public Faults {
 public:
  explicit CountingFaults(const MemoryDecisionLog& log) : log_(log) {}
  void at(std::string_view mark) override {
    if (mark == "task.before_element") {
      before_++;
      uint64_t elements = 0;
      for (DecisionLogReader reader(log_.bytes()); reader.peek(); reader.pop()) {
        elements += reader.peek()->kind == DecisionKind::kElement;
      }
      EXPECT_EQ(elements, before_);
    }
    if (mark == "task.after_element") after_++;
  }
  uint64_t before_ = 0;
  uint64_t after_ = 0;

 private:
  const MemoryDecisionLog& log_;
};

TEST(DecisionLogOrderTest, DecisionIsLoggedBeforeTheElementIsProcessed) {
  const TestJob::Options options = options_of(forward_all);
  ManualClock clock;
  MemoryDecisionLog log;
  CountingFaults faults(log);
  Harness harness(options, std::make_unique<LiveDecisions>(clock, make_seeded_random(1), &log),
                  &faults);
  live(harness);
  EXPECT_EQ(faults.before_, 50u);
  EXPECT_EQ(faults.after_, 50u);
}

}  // namespace
}  // namespace freshet
