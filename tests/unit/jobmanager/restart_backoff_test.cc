#include "jobmanager/restart_backoff.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TimePoint at(Duration since_start) { return TimePoint(since_start); }

class RestartBackoffTest : public testing::Test {
 protected:
  std::unique_ptr<RestartBackoff> make(
      const std::vector<std::pair<std::string, std::string>>& set) {
    Configuration configuration;
    for (const auto& [name, value] : set) {
      EXPECT_TRUE(configuration.set("restart-strategy." + name, value).ok());
    }
    auto made = make_restart_backoff(configuration, *random_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return std::move(made).value();
  }

  std::unique_ptr<Random> random_ = make_seeded_random(7);
};

TEST_F(RestartBackoffTest, NoneNeverRestarts) {
  EXPECT_FALSE(make({{"type", "none"}})->on_failure(at(0s)).restart);
}

TEST_F(RestartBackoffTest, FixedDelayRestartsAsOftenAsItSays) {
  auto backoff =
      make({{"type", "fixed-delay"}, {"fixed-delay.attempts", "2"}, {"fixed-delay.delay", "3 s"}});
  for (int i = 0; i < 2; i++) {
    const auto decision = backoff->on_failure(at(i * 1h));
    EXPECT_TRUE(decision.restart);
    EXPECT_EQ(decision.delay, 3s);
  }
  EXPECT_FALSE(backoff->on_failure(at(9h)).restart);
}

TEST_F(RestartBackoffTest, FailureRateCountsWithinItsInterval) {
  auto backoff = make({{"type", "failure-rate"},
                       {"failure-rate.max-failures-per-interval", "2"},
                       {"failure-rate.failure-rate-interval", "1 min"},
                       {"failure-rate.delay", "1 s"}});
  EXPECT_TRUE(backoff->on_failure(at(0s)).restart);
  EXPECT_TRUE(backoff->on_failure(at(30s)).restart);
  EXPECT_TRUE(backoff->on_failure(at(61s)).restart);  // The first one is out of the interval.
  EXPECT_FALSE(backoff->on_failure(at(62s)).restart);
}

TEST_F(RestartBackoffTest, ExponentialDelayStartsAtZeroAndGrowsFromTheFloor) {
  auto backoff = make({{"exponential-delay.jitter-factor", "0"},
                       {"exponential-delay.backoff-multiplier", "2"},
                       {"exponential-delay.max-backoff", "500 ms"}});
  TimePoint now = at(1s);
  for (const Duration wanted : {Duration(0ms), Duration(100ms), Duration(200ms), Duration(400ms),
                                Duration(500ms), Duration(500ms)}) {
    const auto decision = backoff->on_failure(now);
    EXPECT_TRUE(decision.restart);
    EXPECT_TRUE(decision.new_round);
    EXPECT_EQ(decision.delay, wanted);
    now += decision.delay + 1ms;
  }
}

TEST_F(RestartBackoffTest, ExponentialDelayMergesFailuresUpToTheRestart) {
  auto backoff = make({{"exponential-delay.initial-backoff", "1 s"},
                       {"exponential-delay.attempts-before-reset-backoff", "1"},
                       {"exponential-delay.jitter-factor", "0"}});
  EXPECT_TRUE(backoff->on_failure(at(10s)).new_round);
  for (int i = 0; i < 50; i++) {
    const auto merged = backoff->on_failure(at(10s + i * 20ms));
    EXPECT_FALSE(merged.new_round);
    EXPECT_TRUE(merged.restart);
    EXPECT_EQ(merged.delay, 1s - i * 20ms);
  }
  EXPECT_FALSE(backoff->on_failure(at(11s)).new_round);  // At the very time of the restart.
  EXPECT_FALSE(backoff->on_failure(at(11s + 1ms)).restart);
}

TEST_F(RestartBackoffTest, ExponentialDelayFailsAfterItsAttempts) {
  auto backoff = make({{"exponential-delay.attempts-before-reset-backoff", "3"}});
  for (int i = 0; i < 3; i++) EXPECT_TRUE(backoff->on_failure(at(i * 1min)).restart);
  EXPECT_FALSE(backoff->on_failure(at(4min)).restart);
}

TEST_F(RestartBackoffTest, ExponentialDelayStartsAnewAfterCalm) {
  auto backoff = make({{"exponential-delay.attempts-before-reset-backoff", "1"},
                       {"exponential-delay.reset-backoff-threshold", "10 min"}});
  EXPECT_TRUE(backoff->on_failure(at(0s)).restart);
  const auto later = backoff->on_failure(at(10min));
  EXPECT_TRUE(later.restart);
  EXPECT_EQ(later.delay, 0s);
  EXPECT_FALSE(backoff->on_failure(at(19min)).restart);
}

TEST_F(RestartBackoffTest, JitterStaysInItsBounds) {
  auto backoff = make({{"exponential-delay.initial-backoff", "1 s"},
                       {"exponential-delay.backoff-multiplier", "1"},
                       {"exponential-delay.attempts-before-reset-backoff", "1000"},
                       {"exponential-delay.jitter-factor", "0.5"}});
  Duration least = 1h, most{};
  TimePoint now = at(0s);
  for (int i = 0; i < 200; i++) {
    const auto decision = backoff->on_failure(now);
    least = std::min(least, decision.delay);
    most = std::max(most, decision.delay);
    now += decision.delay + 1s;
  }
  EXPECT_EQ(least, 1s);  // Never below the first delay.
  EXPECT_GT(most, 1400ms);
  EXPECT_LE(most, 1500ms);
}

TEST_F(RestartBackoffTest, RefusesSettingsThatMakeNoSense) {
  Configuration unknown;
  ASSERT_TRUE(unknown.set("restart-strategy.type", "sometimes").ok());
  const Status status = make_restart_backoff(unknown, *random_).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("sometimes"), std::string::npos);
  Configuration longer;
  ASSERT_TRUE(longer.set("restart-strategy.exponential-delay.initial-backoff", "2 min").ok());
  EXPECT_EQ(make_restart_backoff(longer, *random_).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet
