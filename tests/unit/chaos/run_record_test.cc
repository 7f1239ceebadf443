#include "runtime/chaos/run_record.h"

#include <gtest/gtest.h>

namespace freshet::chaos {
namespace {

TEST(RunRecordTest, QuantilesAreValuesThatWereThere) {
  EXPECT_EQ(spread_of({}).count, 0u);
  const Spread one = spread_of({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p95, 7);
  EXPECT_EQ(one.max, 7);
  const Spread few = spread_of({4, 1, 3, 2});
  EXPECT_EQ(few.count, 4u);
  EXPECT_EQ(few.p50, 2);
  EXPECT_EQ(few.p95, 4);
  std::vector<double> many;
  for (int i = 100; i > 0; i--) many.push_back(i);
  EXPECT_EQ(spread_of(many).p50, 50);
  EXPECT_EQ(spread_of(many).p95, 95);
  EXPECT_EQ(spread_of(many).max, 100);
}

TEST(RunRecordTest, SumsUpWhatWasRecoveredBySomethingOfItsOwn) {
  RunRecord run;
  run.faults.resize(5);
  for (auto& fault : run.faults) fault.fired = 1;
  run.faults[0].end = FaultEnd::kRecovered;
  run.faults[0].times.detect = 4;
  run.faults[0].records_reprocessed = 10;
  run.faults[1].end = FaultEnd::kRecovered;
  run.faults[1].times.detect = 8;
  run.faults[1].times.caught_up = 90;
  run.faults[2].end = FaultEnd::kMerged;
  run.faults[2].times.detect = 1000;
  run.faults[3].end = FaultEnd::kHarmless;
  run.faults[4].fired = {};
  const RunSummary summary = summarize(run);
  EXPECT_EQ(summary.fired, 4u);
  EXPECT_EQ(summary.recovered, 4u);
  EXPECT_EQ(summary.phases[0].count, 2u);
  EXPECT_EQ(summary.phases[0].max, 8);
  EXPECT_EQ(summary.phases[5].count, 1u);
  EXPECT_EQ(summary.records_reprocessed.max, 10);
}

TEST(RunRecordTest, TheRateOfARunIsThatOfAllItsSamples) {
  RunRecord run;
  SeriesPoint fast, slow;
  fast.at = 100;
  fast.source_per_second = 1000;
  fast.latency = SeriesPoint::Latency{1, 2, 3};
  slow.at = 400;
  slow.source_per_second = 0;
  run.series = {fast, slow};
  EXPECT_DOUBLE_EQ(summarize(run).source_per_second, 250);
  EXPECT_EQ(summarize(run).latency_max_ms, 3);
  EXPECT_EQ(summarize(run).latency_p95_ms.count, 1u);
}

TEST(RunRecordTest, PhasesAndEndsHaveNames) {
  EXPECT_EQ(to_string(Phase::kFirstRecord), "first_record");
  EXPECT_EQ(to_string(FaultEnd::kNotRecovered), "not recovered");
  RecoveryTimes times;
  times.of(Phase::kRestore) = 5;
  EXPECT_EQ(times.restore, 5);
}

}  // namespace
}  // namespace freshet::chaos
