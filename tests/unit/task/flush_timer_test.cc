#include "runtime/task/flush_timer.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

constexpr Duration kRun = 10s;

/// How often it is due within kRun, and the longest time between two of them.
struct Flushes {
  int count = 0;
  Duration longest{};
};

Flushes flush_each(Duration interval, Duration timeout) {
  FlushTimer timer;
  Flushes flushes;
  TimePoint last{};
  for (TimePoint now{}; now < TimePoint{} + kRun; now += interval) {
    if (!timer.is_due(now, interval, timeout)) continue;
    ++flushes.count;
    flushes.longest = std::max(flushes.longest, now - last);
    last = now;
  }
  return flushes;
}

TEST(FlushTimerTest, IsDueEachTimeWhenItsTimeoutIsTheLeast) {
  EXPECT_EQ(flush_each(100ms, 100ms).count, kRun / 100ms);
}

TEST(FlushTimerTest, IsNotDueAtTheTimeoutsOfOthers) {
  const Flushes flushes = flush_each(1ms, 100ms);
  EXPECT_EQ(flushes.count, kRun / 100ms);
  EXPECT_EQ(flushes.longest, 100ms);
}

TEST(FlushTimerTest, IsNeverLaterThanItsTimeout) {
  for (const Duration interval : {1ms, 7ms, 30ms, 60ms, 99ms, 100ms})
    EXPECT_LE(flush_each(interval, 100ms).longest, 100ms) << interval.count();
}

TEST(FlushTimerTest, IsDueTheFirstTime) {
  FlushTimer timer;
  EXPECT_TRUE(timer.is_due(TimePoint{} + 5s, 1ms, 1h));
  EXPECT_FALSE(timer.is_due(TimePoint{} + 5s + 1ms, 1ms, 1h));
}

}  // namespace
}  // namespace freshet
