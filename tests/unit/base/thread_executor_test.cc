#include "runtime/base/thread_executor.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace freshet {
namespace {

class ThreadExecutorTest : public ::testing::Test {
 protected:
  std::unique_ptr<Clock> clock_ = make_system_clock();
  ThreadExecutor executor_{"test", *clock_};
};

TEST_F(ThreadExecutorTest, RunsWhatIsPostedInOrderOnItsThread) {
  std::vector<int> order;
  std::promise<bool> done;
  EXPECT_FALSE(executor_.on_thread());
  for (int i = 0; i < 100; i++) executor_.post("add", [&order, i] { order.push_back(i); });
  executor_.post("done", [&] { done.set_value(executor_.on_thread()); });
  EXPECT_TRUE(done.get_future().get());
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; i++) EXPECT_EQ(order[i], i);
}

TEST_F(ThreadExecutorTest, RunsTimersInTheOrderOfTheirTimes) {
  std::vector<int> order;
  std::promise<void> done;
  executor_.schedule(20ms, "late", [&] {
    order.push_back(2);
    done.set_value();
  });
  executor_.schedule(1ms, "early", [&] { order.push_back(1); });
  const TimerId never = executor_.schedule(10ms, "cancelled", [&] { order.push_back(99); });
  executor_.cancel(never);
  done.get_future().get();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(ThreadExecutorTest, ACancelledTimerDoesNotRunThoughItIsDue) {
  std::promise<bool> done;
  bool ran = false;
  // Both are due when the first runs, so the second is queued already when the first cancels it.
  executor_.post("plan", [&] {
    auto second = std::make_shared<TimerId>();
    executor_.schedule(0ms, "first", [&, second] { executor_.cancel(*second); });
    *second = executor_.schedule(0ms, "second", [&] { ran = true; });
    executor_.schedule(5ms, "check", [&] { done.set_value(ran); });
  });
  EXPECT_FALSE(done.get_future().get());
}

TEST_F(ThreadExecutorTest, StopRunsWhatIsQueuedAndDropsTheRest) {
  int ran = 0;
  auto owned = std::make_shared<int>(0);
  for (int i = 0; i < 10; i++) executor_.post("count", [&ran] { ran++; });
  executor_.schedule(1h, "never", [owned] {});
  executor_.stop();
  executor_.post("late", [&ran, owned] { ran = -1; });
  EXPECT_EQ(ran, 10);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(ThreadExecutorTest, ManyThreadsMayPost) {
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; i++) executor_.post("count", [&] { ran++; });
    });
  }
  for (auto& thread : threads) thread.join();
  executor_.stop();
  EXPECT_EQ(ran, 4000);
}

}  // namespace
}  // namespace freshet
