#include "runtime/task/watermark_valve.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TEST(WatermarkValveTest, RisesWithTheLeastChannelOfAll) {
  WatermarkValve valve({2});
  EXPECT_FALSE(valve.on_watermark(0, 0, 10));
  EXPECT_EQ(valve.on_watermark(0, 1, 7), 7);
  EXPECT_EQ(valve.on_watermark(0, 1, 20), 10);
  EXPECT_FALSE(valve.on_watermark(0, 1, 30));
}

TEST(WatermarkValveTest, NeverFalls) {
  WatermarkValve valve({1});
  EXPECT_EQ(valve.on_watermark(0, 0, 10), 10);
  EXPECT_FALSE(valve.on_watermark(0, 0, 5));
  EXPECT_EQ(valve.event_time(), 10);
}

TEST(WatermarkValveTest, DoesNotWaitForAnIdleChannel) {
  WatermarkValve valve({2});
  valve.on_watermark(0, 0, 10);
  EXPECT_EQ(valve.on_status(0, 1, false), 10);
  EXPECT_TRUE(valve.active());
  valve.on_status(0, 0, false);
  EXPECT_FALSE(valve.active());
  valve.on_status(0, 1, true);
  EXPECT_TRUE(valve.active());
}

TEST(WatermarkValveTest, DoesNotWaitForAGateThatEnded) {
  WatermarkValve valve({1, 1});
  EXPECT_FALSE(valve.on_watermark(0, 0, 10));
  EXPECT_EQ(valve.on_gate_ended(1), 10);
  EXPECT_EQ(valve.on_gate_ended(0), INT64_MAX);
}

}  // namespace
}  // namespace freshet
