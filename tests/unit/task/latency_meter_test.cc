#include "runtime/task/latency_meter.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/task/test_job.h"

namespace freshet {
namespace {

using task_test::FunctionOperator;
using task_test::Harness;
using task_test::one;
using task_test::TestJob;

constexpr EpochMillis kEpoch = 1'700'000'000'000;

TEST(LatencyMeterTest, CountsFromScheduledTimes) {
  ManualClock clock(kEpoch);
  LatencyMeter meter(clock);
  clock.advance(1000ms);
  std::vector<EpochMillis> scheduled;
  for (int i = 1; i <= 20; i++) scheduled.push_back(kEpoch + 1000 - i);
  meter.add(scheduled);
  LatencyMeter::Counts before{};
  const LatencyMeter::Summary summary = meter.since(&before);
  EXPECT_EQ(summary.records, 20u);
  EXPECT_EQ(summary.p50_ms, 10);
  EXPECT_EQ(summary.p95_ms, 19);
  EXPECT_EQ(summary.max_ms, 20);
}

TEST(LatencyMeterTest, EachReaderHearsOfWhatCameSinceItsLastReading) {
  ManualClock clock(kEpoch);
  LatencyMeter meter(clock);
  LatencyMeter::Counts one{}, other{};
  meter.add(std::vector<EpochMillis>{kEpoch - 5});
  EXPECT_EQ(meter.since(&one).records, 1u);
  EXPECT_EQ(meter.since(&one).records, 0u);
  meter.add(std::vector<EpochMillis>{kEpoch - 7});
  EXPECT_EQ(meter.since(&one).p50_ms, 7);
  EXPECT_EQ(meter.since(&other).records, 2u);
}

TEST(LatencyMeterTest, LargeValuesAreKnownWithinSixPercent) {
  ManualClock clock(kEpoch);
  for (EpochMillis latency = 1; latency < 50'000'000; latency += 1 + latency / 7) {
    LatencyMeter meter(clock);
    meter.add(std::vector<EpochMillis>{kEpoch - latency});
    LatencyMeter::Counts before{};
    const double measured = meter.since(&before).max_ms;
    EXPECT_NEAR(measured, static_cast<double>(latency), static_cast<double>(latency) * 0.06);
  }
}

TEST(LatencyMeterTest, TakesWhatMakesNoSense) {
  ManualClock clock(kEpoch);
  LatencyMeter meter(clock);
  meter.add(std::vector<EpochMillis>{kNoTimestamp, kEpoch + 10, 0});
  LatencyMeter::Counts before{};
  const LatencyMeter::Summary summary = meter.since(&before);
  EXPECT_EQ(summary.records, 2u);
  EXPECT_EQ(summary.p50_ms, 0);
  EXPECT_GT(summary.max_ms, 1e9);
}

TEST(LatencyMeterTest, TasksMeasureWhatComesToTheirSink) {
  TestJob::Options options = one([] {
    FunctionOperator::Functions functions;
    functions.process = [](uint64_t number, OperatorContext&, RecordReceiver& output) {
      output.receive(&number, static_cast<EpochMillis>(number));
    };
    return functions;
  });
  options.operators.push_back([] { return FunctionOperator::Functions(); });
  EXPECT_EQ(Harness(options).task->latency(), nullptr);
  options.ends_in_sink = true;
  EXPECT_EQ(Harness(options).task->latency(), nullptr);  // Its timestamps are no schedule.
  options.settings = {{"source.generator.schedule-start", "1"}};
  Harness harness(options);
  const auto now = static_cast<uint64_t>(harness.clock.epoch_millis());
  for (const uint64_t late : {3, 5, 7}) harness.gate->feed(0, now - late);
  harness.clock.advance(10ms);
  harness.run();
  ASSERT_NE(harness.task->latency(), nullptr);
  LatencyMeter::Counts before{};
  const LatencyMeter::Summary latency = harness.task->latency()->since(&before);
  EXPECT_EQ(latency.records, 3u);
  EXPECT_EQ(latency.p50_ms, 15);
  EXPECT_EQ(latency.max_ms, 17);
}

}  // namespace
}  // namespace freshet
