#include "runtime/task/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "runtime/base/manual_executor.h"

namespace freshet {
namespace {

/// Works off a counter that others raise, each time followed by a wake-up.
class CounterTask final : public RunnableTask {
 public:
  CounterTask(uint64_t goal, bool blocking) : goal_(goal), blocking_(blocking) {}

  StepResult step() override {
    EXPECT_FALSE(inside_.exchange(true));  // One thread at a time.
    const uint64_t due = due_.load();
    const bool worked = done_ < due;
    if (worked) done_++;
    const bool finished = done_ == goal_;
    inside_.store(false);
    if (finished) finished_.set_value();
    return finished ? StepResult::kFinished : worked ? StepResult::kWorked : StepResult::kIdle;
  }
  bool blocking() const override { return blocking_; }

  void raise() { due_.fetch_add(1); }
  std::future<void> finished() { return finished_.get_future(); }

 private:
  const uint64_t goal_;
  const bool blocking_;
  std::atomic<bool> inside_{false};
  std::atomic<uint64_t> due_{0};
  uint64_t done_ = 0;  // Of the thread that steps: a race here is one of the pool.
  std::promise<void> finished_;
};

void raise_and_wake(WorkerPool& pool, const std::vector<std::shared_ptr<CounterTask>>& tasks,
                    uint64_t times) {
  for (uint64_t i = 0; i < times; i++) {
    for (const auto& task : tasks) {
      task->raise();
      pool.wake(task);
    }
  }
}

TEST(WorkerPoolTest, LosesNoWakeUpAndStepsATaskOnceAtATime) {
  constexpr uint64_t kTimes = 2000;
  const auto clock = make_system_clock();
  WorkerPool pool(4, *clock);
  std::vector<std::shared_ptr<CounterTask>> tasks;
  std::vector<std::future<void>> ends;
  for (int i = 0; i < 9; i++) {
    tasks.push_back(std::make_shared<CounterTask>(2 * kTimes, i == 0));
    ends.push_back(tasks.back()->finished());
    pool.add(tasks.back());
  }
  ThreadExecutor other("waker", *clock);
  other.post("wake", [&] { raise_and_wake(pool, tasks, kTimes); });
  raise_and_wake(pool, tasks, kTimes);
  for (auto& end : ends) end.wait();
  other.stop();
  pool.stop();
}

/// Notes in which order tasks are stepped.
class NotingTask final : public RunnableTask {
 public:
  NotingTask(int name, int steps, std::vector<int>& order)
      : name_(name), steps_(steps), order_(order) {}
  StepResult step() override {
    order_.push_back(name_);
    return --steps_ == 0 ? StepResult::kFinished : StepResult::kWorked;
  }
  bool blocking() const override { return false; }

 private:
  const int name_;
  int steps_;
  std::vector<int>& order_;
};

TEST(ExecutorTaskRunnerTest, StepsTasksInTurns) {
  ManualClock clock;
  ManualExecutor executor(clock);
  ExecutorTaskRunner runner(executor);
  std::vector<int> order;
  runner.add(std::make_shared<NotingTask>(1, 3, order));
  runner.add(std::make_shared<NotingTask>(2, 2, order));
  executor.run_ready();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2, 1}));
}

TEST(ExecutorTaskRunnerTest, DoesNotStepATaskThatWasRemoved) {
  ManualClock clock;
  ManualExecutor executor(clock);
  ExecutorTaskRunner runner(executor);
  std::vector<int> order;
  const auto task = std::make_shared<NotingTask>(1, 3, order);
  runner.add(task);
  executor.run_one();
  runner.remove(task);
  runner.wake(task);
  executor.run_ready();
  EXPECT_EQ(order, std::vector<int>{1});
}

TEST(RunStateTest, AWakeUpDuringAStepQueuesTheTaskAgain) {
  RunState state;
  EXPECT_FALSE(state.wake());
  state.attach();
  EXPECT_FALSE(state.wake());
  ASSERT_TRUE(state.begin_step());
  EXPECT_FALSE(state.wake());
  EXPECT_TRUE(state.end_step(StepResult::kIdle));
  ASSERT_TRUE(state.begin_step());
  EXPECT_FALSE(state.end_step(StepResult::kIdle));
  EXPECT_TRUE(state.wake());
  ASSERT_TRUE(state.begin_step());
  EXPECT_FALSE(state.end_step(StepResult::kFinished));
  EXPECT_FALSE(state.wake());
  EXPECT_TRUE(state.is_out());
}

}  // namespace
}  // namespace freshet
