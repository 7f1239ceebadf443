#include "runtime/base/manual_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace freshet {
namespace {

using testing::ElementsAre;

class ManualExecutorTest : public testing::Test {
 protected:
  UniqueFunction<void()> note(int number) {
    return [this, number] { order_.push_back(number); };
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  std::vector<int> order_;
};

TEST_F(ManualExecutorTest, RunsInTheOrderOfPostingWhenTold) {
  executor_.post("one", note(1));
  executor_.post("two", note(2));
  EXPECT_TRUE(order_.empty());
  EXPECT_EQ(executor_.ready_count(), 2u);
  EXPECT_EQ(executor_.next_name(), "one");
  EXPECT_TRUE(executor_.run_one());
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_TRUE(executor_.run_one());
  EXPECT_FALSE(executor_.run_one());
  EXPECT_THAT(order_, ElementsAre(1, 2));
  EXPECT_EQ(executor_.next_name(), "");
}

TEST_F(ManualExecutorTest, RunsWhatItsFunctionsPost) {
  executor_.post("outer", [this] {
    executor_.post("inner", note(2));
    order_.push_back(1);
  });
  EXPECT_EQ(executor_.run_ready(), 2u);
  EXPECT_THAT(order_, ElementsAre(1, 2));
}

TEST_F(ManualExecutorTest, KnowsWhetherItRuns) {
  bool inside = false;
  executor_.post("look", [&] { inside = executor_.on_thread(); });
  EXPECT_FALSE(executor_.on_thread());
  executor_.run_ready();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(executor_.on_thread());
}

TEST_F(ManualExecutorTest, RunsTimersInOrderAtTheirTimes) {
  std::vector<Duration> times;
  const auto look = [&] { times.push_back(executor_.now().time_since_epoch()); };
  executor_.schedule(30ms, "late", [&] { look(); });
  executor_.schedule(10ms, "early", [&] {
    look();
    executor_.schedule(5ms, "nested", [&] { look(); });
  });
  executor_.schedule(31ms, "beyond", [&] { look(); });
  EXPECT_EQ(executor_.run_ready(), 0u);
  executor_.advance(30ms);
  EXPECT_THAT(times, ElementsAre(10ms, 15ms, 30ms));
  EXPECT_EQ(clock_.now(), TimePoint(30ms));
  EXPECT_EQ(executor_.next_timer(), TimePoint(31ms));
}

TEST_F(ManualExecutorTest, KeepsTheOrderOfTimersOfOneTime) {
  for (int i = 0; i < 5; ++i) executor_.schedule(1ms, "timer", note(i));
  executor_.advance(1ms);
  EXPECT_THAT(order_, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(ManualExecutorTest, NeverRunsACancelledTimer) {
  TimerId second;
  executor_.schedule(1ms, "first", [&] { executor_.cancel(second); });
  second =
      executor_.schedule(1ms, "second", note(2));  // Due together with the one that cancels it.
  const TimerId third = executor_.schedule(2ms, "third", note(3));
  executor_.cancel(third);
  executor_.cancel(TimerId{});
  executor_.post("posted", note(0));
  executor_.advance(5ms);
  EXPECT_THAT(order_, ElementsAre(0));
}

TEST_F(ManualExecutorTest, DestroysUnrunWhatIsLeftWhenItStops) {
  const auto token = std::make_shared<int>(0);
  executor_.post("posted", [token] { ++*token; });
  executor_.schedule(1ms, "timer", [token] { ++*token; });
  executor_.stop();
  executor_.post("late", [token] { ++*token; });
  EXPECT_EQ(executor_.schedule(1ms, "late", [token] { ++*token; }), TimerId{});
  EXPECT_EQ(token.use_count(), 1);
  executor_.advance(1s);
  EXPECT_EQ(*token, 0);
}

}  // namespace
}  // namespace freshet
