#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/task/worker_pool.h"

namespace freshet {
namespace {

/// A disk that stands still until it is told to go on.
class StalledDisk {
 public:
  void use() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return goes_on_; });
    --inside_;
    changed_.notify_all();
  }
  void wait_for_users(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == count; });
  }
  void go_on() {
    std::lock_guard lock(mutex_);
    goes_on_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t inside_ = 0;
  bool goes_on_ = false;
};

/// Counts how many steps run at once that do not block.
class Activity {
 public:
  void begin() {
    const int now = ++active_;
    int most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void end() { --active_; }
  int most() const { return most_.load(); }

 private:
  std::atomic<int> active_{0};
  std::atomic<int> most_{0};
};

/// Ends after so many steps, in each of which it does something.
class CountedTask final : public RunnableTask {
 public:
  CountedTask(int steps, std::function<void()> in_each)
      : left_(steps), in_each_(std::move(in_each)) {}
  StepResult step() override {
    in_each_();
    const bool finished = --left_ == 0;
    if (finished) finished_.set_value();
    return finished ? StepResult::kFinished : StepResult::kWorked;
  }
  bool blocking() const override { return false; }
  void wait() { finished_.get_future().wait(); }

 private:
  int left_;
  const std::function<void()> in_each_;
  std::promise<void> finished_;
};

using Tasks = std::vector<std::shared_ptr<CountedTask>>;

class WorkerPoolBlockingTest : public ::testing::Test {
 protected:
  static constexpr size_t kWorkers = 2;

  ~WorkerPoolBlockingTest() override {
    disk_.go_on();
    pool_.stop();
  }
  std::shared_ptr<CountedTask> add(int steps, std::function<void()> in_each) {
    auto task = std::make_shared<CountedTask>(steps, std::move(in_each));
    pool_.add(task);
    return task;
  }
  /// Each uses the disk in its first step.
  Tasks stall(size_t count) {
    Tasks stalled;
    for (size_t i = 0; i < count; ++i) {
      stalled.push_back(add(100, [this, used = false]() mutable {
        if (!std::exchange(used, true)) pool_.run_blocking([this] { disk_.use(); });
      }));
    }
    return stalled;
  }
  void step_others(
      int count, const std::function<void()>& in_each = [] {}) {
    Tasks others;
    for (int i = 0; i < count; ++i) others.push_back(add(50, in_each));
    for (const auto& other : others) other->wait();
  }

  const std::unique_ptr<Clock> clock_ = make_system_clock();
  StalledDisk disk_;
  WorkerPool pool_{kWorkers, *clock_};
};

TEST_F(WorkerPoolBlockingTest, StepsOthersWhileMoreTasksBlockThanThereAreWorkers) {
  const auto stalled = stall(5 * kWorkers);
  disk_.wait_for_users(5 * kWorkers);
  step_others(100);
  disk_.go_on();
  for (const auto& task : stalled) task->wait();
  step_others(100);
}

TEST_F(WorkerPoolBlockingTest, BeyondItsStandInsItWaits) {
  const auto stalled = stall(WorkerPool::kStandInsMax + kWorkers + 3);
  disk_.wait_for_users(WorkerPool::kStandInsMax + kWorkers);
  disk_.go_on();
  for (const auto& task : stalled) task->wait();
  step_others(10);
}

TEST_F(WorkerPoolBlockingTest, AsManyStepAtOnceAsThereAreWorkersWhenNobodyBlocks) {
  const auto stalled = stall(5);
  disk_.wait_for_users(5);
  disk_.go_on();
  for (const auto& task : stalled) task->wait();
  // Those that were in the middle of a step have ended it.
  step_others(100);
  Activity activity;
  step_others(1000, [&activity] {
    activity.begin();
    std::this_thread::yield();  // So that one more would be seen.
    activity.end();
  });
  EXPECT_LE(activity.most(), static_cast<int>(kWorkers));
}

TEST_F(WorkerPoolBlockingTest, StopsWhileStandInsStandByAndOthersWork) {
  const auto stalled = stall(3);
  disk_.wait_for_users(3);
  disk_.go_on();
  for (const auto& task : stalled) task->wait();
  pool_.stop();
}

TEST_F(WorkerPoolBlockingTest, AThreadThatIsNoWorkerJustRunsIt) {
  bool ran = false;
  pool_.run_blocking([&ran] { ran = true; });
  EXPECT_TRUE(ran);
  step_others(10);
}

TEST_F(WorkerPoolBlockingTest, NoTaskIsForgottenWhoeverBlocksWhen) {
  for (uint64_t round = 0; round < 20; ++round) {
    Tasks tasks;
    for (uint64_t i = 0; i < 1 + round; ++i) {
      const std::shared_ptr<Random> random = make_seeded_random(100 * round + i);
      tasks.push_back(add(300, [this, random] {
        if (random->one_in(3)) pool_.run_blocking([] { std::this_thread::yield(); });
      }));
    }
    for (const auto& task : tasks) task->wait();
  }
}

}  // namespace
}  // namespace freshet
