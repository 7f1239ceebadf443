#include "taskmanager/step_watch.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

TimePoint at(Duration time) { return TimePoint(time); }

TEST(StepWatchTest, SaysThatAStepLastsEachTimeItsTimeHasDoubled) {
  StepWatch watch;
  const auto look = [&](Duration now) { return watch.look(at(5s), at(now), 10s); };
  EXPECT_EQ(look(5s), std::nullopt);
  EXPECT_EQ(look(14s), std::nullopt);
  EXPECT_EQ(look(15s), Duration(10s));
  EXPECT_EQ(look(24s), std::nullopt);
  EXPECT_EQ(look(27s), Duration(22s));
  EXPECT_EQ(look(44s), std::nullopt);
  EXPECT_EQ(look(45s), Duration(40s));
  EXPECT_EQ(look(405s), Duration(400s));  // Once, however much was missed.
  EXPECT_EQ(look(405s), std::nullopt);
}

TEST(StepWatchTest, BeginsAnewWithEachStep) {
  StepWatch watch;
  EXPECT_EQ(watch.look(at(0s), at(10s), 10s), Duration(10s));
  EXPECT_EQ(watch.look(std::nullopt, at(30s), 10s), std::nullopt);
  EXPECT_EQ(watch.look(at(31s), at(40s), 10s), std::nullopt);
  EXPECT_EQ(watch.look(at(39s), at(48s), 10s), std::nullopt);
  EXPECT_EQ(watch.look(at(39s), at(49s), 10s), Duration(10s));
}

}  // namespace
}  // namespace freshet
