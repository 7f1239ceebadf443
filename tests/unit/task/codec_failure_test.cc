#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/operators/typed_edge.h"
#include "tests/unit/task/test_job.h"

namespace freshet {

/// A number whose codec makes the mistakes that its value asks for.
struct Flawed {
  uint64_t number = 0;
};

enum Flaw : uint64_t {
  kReadsTooFar = 1'000'000,
  kLeavesBytes,
  kThrows,
  kThrowsANumber,
  kCannotBeEncoded,
  kOperatorThrows,
  kOutputThrowsUnseen,
};

template <>
struct Codec<Flawed> {
  static constexpr uint32_t kFixedSize = 0;
  static std::string fingerprint() { return "flawed"; }
  static void encode(const Flawed& value, Encoder& encoder) {
    encoder.write_fixed(value.number);
    if (value.number == kCannotBeEncoded) throw std::runtime_error("has no bytes");
  }
  static void decode(Decoder& decoder, Flawed& value) {
    value.number = decoder.read_fixed<uint64_t>();
    if (value.number == kReadsTooFar) decoder.read_fixed<uint16_t>();
    if (value.number == kThrows) throw std::logic_error("makes no sense");
    if (value.number == kThrowsANumber) throw 7;
  }
};

namespace {

using task_test::FastHarness;
using task_test::FunctionOperator;
using task_test::Harness;
using task_test::TestJob;

/// Sends on what it gets, with mistakes of its own.
FunctionOperator::Functions flawed_operator() {
  FunctionOperator::Functions functions;
  functions.process = [](uint64_t number, OperatorContext&, RecordReceiver& output) {
    if (number == kOperatorThrows) throw std::runtime_error("not that one");
    if (number != kOutputThrowsUnseen) {
      output.receive(&number, kNoTimestamp);
      return;
    }
    try {
      const uint64_t bad = kCannotBeEncoded;
      output.receive(&bad, kNoTimestamp);
    } catch (const std::exception&) {
    }
  };
  return functions;
}

TestJob::Options flawed_job() {
  TestJob::Options options;
  options.operators = {flawed_operator, flawed_operator};
  options.consumers = 2;
  options.type = std::make_shared<TypedEdge<Flawed>>();
  return options;
}

/// Run by run, or element by element.
class CodecFailureTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Harness> make(const TestJob::Options& options) {
    if (GetParam()) return std::make_unique<FastHarness>(options);
    return std::make_unique<Harness>(options);
  }

  /// Element `flaw` at place `at` of `count`, with others in another channel; returns why the task
  /// failed.
  TaskStateChange failure(const TestJob::Options& options, uint64_t flaw, uint64_t at,
                          uint64_t count) {
    const auto harness = make(options);
    harness->run();
    for (uint64_t i = 0; i < count; i++) {
      harness->gate->feed(0, i);
      Encoder encoder;
      encoder.write_fixed(i == at ? flaw : i);
      if (i == at && flaw == kLeavesBytes) encoder.write_byte(0);
      harness->gate->feed_bytes(1, std::string(encoder.bytes()));
    }
    EXPECT_EQ(harness->run(), StepResult::kFinished);
    EXPECT_TRUE(harness->output->released());
    EXPECT_FALSE(harness->output->ended());
    EXPECT_EQ(harness->states->last().state, TaskState::kFailed);
    EXPECT_EQ(harness->states->last().cause.code(), StatusCode::kUserError);
    return harness->states->last();
  }
};

TEST_P(CodecFailureTest, NamesOperatorAndElementThatCannotBeDecoded) {
  const std::map<uint64_t, std::string> reasons = {
      {kReadsTooFar, "an element ends too early"},
      {kLeavesBytes, "an element is longer than its record"},
      {kThrows, "makes no sense"},
      {kThrowsANumber, "not a std::exception"}};
  for (const auto& [flaw, reason] : reasons) {
    for (const uint64_t at : {0, 1, 15, 16, 150, 299}) {
      const TaskStateChange change = failure(flawed_job(), flaw, at, 300);
      EXPECT_EQ(change.operator_name, "operator-0");
      EXPECT_EQ(change.cause.message(), "operator 'operator-0', element " + std::to_string(at) +
                                            " of producer 1 of input 0 ('neighbour'): cannot be "
                                            "decoded: " +
                                            reason);
    }
  }
}

TEST_P(CodecFailureTest, NamesOperatorElementAndOutputThatCannotBeEncoded) {
  for (const auto partitioning :
       {Partitioning::kRebalance, Partitioning::kBroadcast, Partitioning::kShuffle}) {
    for (const uint64_t at : {0, 1, 15, 16, 150, 299}) {
      TestJob::Options options = flawed_job();
      options.output = partitioning;
      const TaskStateChange change = failure(options, kCannotBeEncoded, at, 300);
      EXPECT_EQ(change.operator_name, "operator-1");  // That emitted it.
      EXPECT_EQ(change.cause.message(), "operator 'operator-1', element " + std::to_string(at) +
                                            " of producer 1 of input 0 ('neighbour'), output to "
                                            "'neighbour': a record cannot be written: has no "
                                            "bytes");
    }
  }
}

TEST_P(CodecFailureTest, AnErrorOfAnOutputCountsAlsoWhenTheOperatorCatchesIt) {
  const TaskStateChange change = failure(flawed_job(), kOutputThrowsUnseen, 5, 300);
  EXPECT_EQ(change.operator_name, "operator-1");
  EXPECT_EQ(change.cause.message(),
            "operator 'operator-1', output to 'neighbour': a record cannot be written: has no "
            "bytes");
}

TEST_P(CodecFailureTest, NothingIsWrittenBehindARecordThatWasNot) {
  const auto harness = make(flawed_job());
  harness->run();
  harness->gate->feed(1, kOutputThrowsUnseen);
  Encoder encoder;
  encoder.write_fixed(EpochMillis{77});
  for (uint32_t producer : {0, 1})
    harness->gate->feed_event(producer, ElementKind::kWatermark, std::string(encoder.bytes()));
  harness->gate->feed(1, 5);
  harness->gate->end();
  EXPECT_EQ(harness->run(), StepResult::kFinished);
  EXPECT_TRUE(harness->output->elements(0).empty() && harness->output->elements(1).empty());
  EXPECT_FALSE(harness->output->ended());
}

TEST_P(CodecFailureTest, CountsElementsAlsoWhenTheNextOneIsBadToo) {
  const auto harness = make(flawed_job());
  harness->run();
  for (const uint64_t number : {uint64_t{1}, uint64_t{kOperatorThrows}, uint64_t{3}, uint64_t{4}})
    harness->gate->feed(0, number);
  harness->gate->feed_bytes(0, "short");
  EXPECT_EQ(harness->run(), StepResult::kFinished);
  EXPECT_EQ(harness->states->last().cause.message(),
            "operator 'operator-0', element 1 of producer 0 of input 0 ('neighbour'): exception: "
            "not that one");
}

INSTANTIATE_TEST_SUITE_P(Paths, CodecFailureTest, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Runs" : "OneByOne"; });

}  // namespace
}  // namespace freshet
