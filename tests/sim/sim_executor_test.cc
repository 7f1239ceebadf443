#include "tests/sim/sim_executor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace freshet::sim {
namespace {

class SimExecutorTest : public testing::Test {
 protected:
  void run_all() {
    while (queue_.run_one()) {
    }
  }

  SimEventQueue queue_{3};
  std::shared_ptr<Liveness> process_ = std::make_shared<Liveness>();
  SimExecutor executor_{queue_, process_, 1};
  SimExecutor other_{queue_, process_, 2};
};

TEST_F(SimExecutorTest, KeepsTheOrderOfPosts) {
  std::string order;
  for (char c = 'a'; c <= 'z'; ++c) executor_.post("letter", [&order, c] { order += c; });
  EXPECT_EQ(order, "");
  run_all();
  EXPECT_EQ(order, "abcdefghijklmnopqrstuvwxyz");
}

TEST_F(SimExecutorTest, KeepsTheOrderOfPostsOverAPause) {
  std::string order;
  executor_.post("a", [&] { order += 'a'; });
  process_->paused_until = queue_.now() + 1s;
  for (char c = 'b'; c <= 'j'; ++c) executor_.post("letter", [&order, c] { order += c; });
  run_all();
  EXPECT_EQ(order, "abcdefghij");
  EXPECT_GE(queue_.now(), TimePoint(1s));
}

TEST_F(SimExecutorTest, InterleavesThreadsByChance) {
  std::string order;
  for (int i = 0; i < 20; ++i) {
    executor_.post("one", [&] { order += '1'; });
    other_.post("two", [&] { order += '2'; });
  }
  run_all();
  EXPECT_NE(order.find("11"), order.npos);
  EXPECT_NE(order.find("22"), order.npos);
}

TEST_F(SimExecutorTest, RunsTimersNotBeforeTheirTimeAndCancelledOnesNever) {
  TimePoint ran{};
  bool cancelled_ran = false;
  executor_.schedule(5ms, "timer", [&] { ran = queue_.now(); });
  const TimerId cancelled = executor_.schedule(1ms, "cancelled", [&] { cancelled_ran = true; });
  executor_.cancel(cancelled);
  executor_.cancel(TimerId{});
  run_all();
  EXPECT_GE(ran, TimePoint(5ms));
  EXPECT_FALSE(cancelled_ran);
}

TEST_F(SimExecutorTest, BeginsOnePostInEachIntervalWhileItIsSlow) {
  executor_.slow_down(1s, 10s);
  std::vector<TimePoint> begun;
  for (int i = 0; i < 12; ++i) executor_.post("slow", [&] { begun.push_back(queue_.now()); });
  run_all();
  ASSERT_EQ(begun.size(), 12u);
  for (size_t i = 1; i < 10; ++i) EXPECT_GE(begun[i], begun[i - 1] + 1s);
  EXPECT_LT(begun[11], begun[10] + 1ms);
}

TEST_F(SimExecutorTest, KnowsWhichThreadRuns) {
  executor_.post("look", [&] {
    EXPECT_TRUE(executor_.on_thread());
    EXPECT_FALSE(other_.on_thread());
  });
  EXPECT_FALSE(executor_.on_thread());
  run_all();
  EXPECT_FALSE(executor_.on_thread());
}

TEST_F(SimExecutorTest, RunsNothingOfADeadProcess) {
  bool ran = false;
  executor_.post("die", [&] {
    process_->alive = false;
    executor_.post("after", [&] { ran = true; });
  });
  executor_.post("waiting", [&] { ran = true; });
  other_.schedule(1ms, "timer", [&] { ran = true; });
  run_all();
  EXPECT_FALSE(ran);
  EXPECT_EQ(other_.stop().size(), 1u);
}

}  // namespace
}  // namespace freshet::sim
