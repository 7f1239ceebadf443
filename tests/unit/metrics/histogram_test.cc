#include "runtime/metrics/histogram.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(HistogramTest, HasNoQuantilesBeforeItsFirstValue) {
  const HistogramSummary summary = Histogram().summary();
  EXPECT_EQ(summary.count, 0u);
  EXPECT_TRUE(summary.quantiles.empty());
}

TEST(HistogramTest, GivesTheLeastValueThatSoManyAreNotAbove) {
  Histogram histogram;
  for (int i = 100; i >= 1; i--) histogram.add(i);
  const HistogramSummary summary = histogram.summary();
  EXPECT_EQ(summary.count, 100u);
  EXPECT_EQ(summary.sum, 5050);
  EXPECT_EQ(summary.quantiles.at(.5), 50);
  EXPECT_EQ(summary.quantiles.at(.95), 95);
  EXPECT_EQ(summary.quantiles.at(.999), 100);
}

TEST(HistogramTest, KeepsTheLastValuesAndCountsAll) {
  Histogram histogram;
  for (int i = 0; i < 1000; i++) histogram.add(1e6);
  for (size_t i = 0; i < Histogram::kValuesMax; i++) histogram.add(7);
  const HistogramSummary summary = histogram.summary();
  EXPECT_EQ(summary.count, 1000u + Histogram::kValuesMax);
  EXPECT_EQ(summary.quantiles.at(.999), 7);
}

}  // namespace
}  // namespace freshet
