#include "runtime/metrics/rate_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/clock.h"

namespace freshet {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

/// One count that rises as the test says, looked at once a second.
class RateWindowTest : public ::testing::Test {
 protected:
  double after(int seconds, uint64_t per_second) {
    double rate = 0;
    for (int i = 0; i < seconds; i++) {
      clock_.advance(1s);
      count_ += per_second;
      rate = window_.read(clock_.now(), {count_, 0})[0];
    }
    return rate;
  }

  ManualClock clock_;
  RateWindow<2> window_{clock_.now()};
  uint64_t count_ = 0;
};

TEST_F(RateWindowTest, IsOfTheWholeLifeAtFirst) {
  EXPECT_THAT(window_.read(clock_.now(), {0, 0}), ElementsAre(0, 0));  // Nothing has happened.
  EXPECT_THAT(after(1, 10), DoubleEq(10));
  EXPECT_THAT(after(9, 30), DoubleEq(28));
}

TEST_F(RateWindowTest, ForgetsWhatIsLongerAgoThanAMinute) {
  after(300, 1000);
  EXPECT_THAT(after(30, 0), DoubleNear(500, 45));
  EXPECT_THAT(after(66, 0), DoubleEq(0));
  EXPECT_THAT(after(66, 7), DoubleEq(7));
}

TEST_F(RateWindowTest, IsOfTheTimeSinceTheLastLookAfterALongPause) {
  after(10, 100);
  clock_.advance(1h);
  count_ += 3600;
  EXPECT_THAT(window_.read(clock_.now(), {count_, 0})[0], DoubleNear(1, 0.3));
}

TEST_F(RateWindowTest, KeepsApartWhatItCounts) {
  clock_.advance(10s);
  EXPECT_THAT(window_.read(clock_.now(), {20, 50}), ElementsAre(2, 5));
}

TEST_F(RateWindowTest, IsNeverNegative) {
  after(20, 100);
  EXPECT_GE(window_.read(clock_.now(), {0, 0})[0], 0);
  EXPECT_GE(window_.read(clock_.now() - 20s, {count_, 0})[0], 0);
}

TEST_F(RateWindowTest, LooksOftenerThanItRemembers) {
  for (int i = 0; i < 10'000; i++) {
    clock_.advance(10ms);
    count_++;
    window_.read(clock_.now(), {count_, 0});
  }
  EXPECT_THAT(window_.read(clock_.now(), {count_, 0})[0], DoubleNear(100, 1));
}

}  // namespace
}  // namespace freshet
