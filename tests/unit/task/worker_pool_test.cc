#include "runtime/task/worker_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <set>

#include "runtime/base/manual_executor.h"
#include "runtime/base/random.h"

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

/// Where steps begin, and wait until the test lets each of them go.
class Gate {
 public:
  /// Inside a step.
  StepResult pass(int task) {
    std::unique_lock lock(mutex_);
    if (!open_) inside_.push_back(task);
    threads_.insert(pthread_self());
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || let_go_.contains(task); });
    if (open_) return StepResult::kWorked;
    const StepResult result = let_go_[task];
    let_go_.erase(task);
    return result;
  }

  /// The tasks inside, in the order of their begins, once there are `count`.
  std::vector<int> wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_.size() == count; });
    return inside_;
  }

  void let_go(int task, StepResult result) {
    std::lock_guard lock(mutex_);
    std::erase(inside_, task);
    let_go_[task] = result;
    changed_.notify_all();
  }

  /// From now on nobody waits.
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    inside_.clear();
    changed_.notify_all();
  }

  size_t threads() {
    std::lock_guard lock(mutex_);
    return threads_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<int> inside_;
  std::map<int, StepResult> let_go_;
  std::set<pthread_t> threads_;
};

class GatedTask final : public RunnableTask {
 public:
  GatedTask(int name, Gate& gate, bool blocking = false)
      : name_(name), gate_(gate), blocking_(blocking) {}
  StepResult step() override {
    steps_++;
    return gate_.pass(name_);
  }
  bool blocking() const override { return blocking_; }
  uint64_t steps() const { return steps_; }

 private:
  const int name_;
  Gate& gate_;
  const bool blocking_;
  std::atomic<uint64_t> steps_{0};
};

/// A pool whose tasks are all gated, beside a list of who waits, longest first: the pool must step
/// exactly those, in this order.
class TurnsModel {
 public:
  TurnsModel(size_t workers, int tasks) : workers_(workers), pool_(workers, *clock_) {
    for (int i = 0; i < tasks; i++) {
      tasks_.push_back(std::make_shared<GatedTask>(i, gate_));
      waiting_.push_back(i);
      pool_.add(tasks_.back());
    }
    for (size_t i = 0; i < workers_; i++) begin_next();
    const std::vector<int> begun = gate_.wait_for(workers_);
    // Which of the workers was first does not matter.
    EXPECT_TRUE(std::is_permutation(begun.begin(), begun.end(), inside_.begin(), inside_.end()));
    inside_ = begun;
  }

  ~TurnsModel() {
    for (const auto& task : tasks_) pool_.remove(task);
    for (int task : inside_) gate_.let_go(task, StepResult::kIdle);
    pool_.stop();
  }

  const std::vector<int>& inside() const { return inside_; }
  const std::deque<int>& waiting() const { return waiting_; }
  const std::set<int>& idle() const { return idle_; }
  GatedTask& task(int name) { return *tasks_[name]; }
  Gate& gate() { return gate_; }

  /// Ends a step; the worker takes the next task.
  void end_step(int task, StepResult result) {
    std::erase(inside_, task);
    const bool woken = woken_.erase(task) > 0;
    if (result == StepResult::kWorked || woken) {
      waiting_.push_back(task);
    } else {
      idle_.insert(task);
    }
    gate_.let_go(task, result);
    begin_next();
    const std::vector<int> inside = gate_.wait_for(workers_);
    EXPECT_EQ(inside, inside_);
  }

  void wake(int task) {
    if (idle_.erase(task) > 0) waiting_.push_back(task);
    if (std::count(inside_.begin(), inside_.end(), task) > 0) woken_.insert(task);
    pool_.wake(tasks_[task]);
  }

  void remove(int task) {
    std::erase(waiting_, task);
    idle_.erase(task);
    pool_.remove(tasks_[task]);
  }

 private:
  void begin_next() {
    ASSERT_FALSE(waiting_.empty());
    inside_.push_back(waiting_.front());
    waiting_.pop_front();
  }

  const size_t workers_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  Gate gate_;
  std::vector<std::shared_ptr<GatedTask>> tasks_;
  std::deque<int> waiting_;
  std::vector<int> inside_;
  std::set<int> idle_;
  std::set<int> woken_;  // While they were stepped.
  WorkerPool pool_;
};

TEST(WorkerPoolTest, AThousandTasksOnTwoWorkersHaveEquallyManyTurns) {
  TurnsModel model(2, 1000);
  const auto random = make_seeded_random(1);
  for (int i = 0; i < 20'000; i++) {
    // Some steps are as long as a hundred of others; who is in one has its next turn later.
    const size_t which = random->one_in(100) ? 0 : 1;
    model.end_step(model.inside()[which], StepResult::kWorked);
  }
  std::vector<uint64_t> steps;
  for (int task : model.waiting()) steps.push_back(model.task(task).steps());
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  EXPECT_GE(*least, 19u);
  EXPECT_LE(*most - *least, 2u);
  EXPECT_LE(model.gate().threads(), 2u);
}

TEST(WorkerPoolTest, MailWaitsForOneStepOfEachTaskBeforeIt) {
  TurnsModel model(2, 100);
  const int idle = model.inside()[0];
  model.end_step(idle, StepResult::kIdle);
  for (int i = 0; i < 500; i++) model.end_step(model.inside()[1], StepResult::kWorked);
  const uint64_t before = model.task(idle).steps();
  model.wake(idle);
  for (int i = 0; i < 98; i++) {  // All others always have more to do.
    EXPECT_EQ(model.task(idle).steps(), before);
    model.end_step(model.inside()[0], StepResult::kWorked);
  }
  EXPECT_EQ(model.task(idle).steps(), before + 1);
}

TEST(WorkerPoolTest, NobodyIsSteppedTwiceWhileAnotherWaits) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    SCOPED_TRACE(seed);
    const auto random = make_seeded_random(seed);
    TurnsModel model(1 + random->below(4), 12 + static_cast<int>(random->below(20)));
    for (int i = 0; i < 1000; i++) {
      const int any = static_cast<int>(random->below(12));
      if (random->one_in(3)) model.wake(any);
      if (random->one_in(300) && model.waiting().size() > 6 &&
          std::count(model.inside().begin(), model.inside().end(), any) == 0)
        model.remove(any);
      const int task = model.inside()[random->below(model.inside().size())];
      const bool worked = model.waiting().size() < 3 || random->one_in(2);
      model.end_step(task, worked ? StepResult::kWorked : StepResult::kIdle);
    }
  }
}

TEST(WorkerPoolTest, AnIdleWorkerTakesWhatWaitsBehindALongStep) {
  const auto clock = make_system_clock();
  Gate gate;
  WorkerPool pool(2, *clock);
  const auto long_step = std::make_shared<GatedTask>(0, gate);
  pool.add(long_step);
  gate.wait_for(1);
  for (int i = 1; i < 50; i++) {
    pool.add(std::make_shared<GatedTask>(i, gate));
    EXPECT_EQ(gate.wait_for(2), (std::vector<int>{0, i}));
    gate.let_go(i, StepResult::kFinished);
  }
  gate.let_go(0, StepResult::kFinished);
  pool.stop();
}

TEST(WorkerPoolTest, BlockingTasksTakeNoWorker) {
  const auto clock = make_system_clock();
  Gate gate;
  WorkerPool pool(1, *clock);
  for (int i = 0; i < 8; i++) pool.add(std::make_shared<GatedTask>(i, gate, true));
  gate.wait_for(8);  // All at the same time.
  const auto counter = std::make_shared<CounterTask>(1, false);
  auto finished = counter->finished();
  pool.add(counter);
  counter->raise();
  pool.wake(counter);
  finished.wait();
  for (int i = 0; i < 8; i++) gate.let_go(i, StepResult::kFinished);
  pool.stop();
}

TEST(WorkerPoolTest, ATaskThatIsRemovedInAStepIsNotSteppedAgain) {
  for (const bool blocking : {false, true}) {
    const auto clock = make_system_clock();
    Gate gate;
    WorkerPool pool(1, *clock);
    const auto task = std::make_shared<GatedTask>(0, gate, blocking);
    pool.add(task);
    gate.wait_for(1);
    pool.wake(task);
    pool.remove(task);
    pool.wake(task);
    gate.let_go(0, StepResult::kWorked);
    const auto next = std::make_shared<GatedTask>(1, gate);
    pool.add(next);
    EXPECT_EQ(gate.wait_for(1), std::vector<int>{1});
    gate.let_go(1, StepResult::kFinished);
    pool.stop();
    EXPECT_EQ(task->steps(), 1u);
    EXPECT_TRUE(task->run_state().is_out());
  }
}

TEST(WorkerPoolTest, StopWaitsForStepsAndBeginsNone) {
  const auto clock = make_system_clock();
  Gate gate;
  WorkerPool pool(2, *clock);
  std::vector<std::shared_ptr<GatedTask>> tasks;
  for (int i = 0; i < 10; i++) {
    tasks.push_back(std::make_shared<GatedTask>(i, gate, i == 0));
    pool.add(tasks.back());
  }
  gate.wait_for(3);
  std::promise<void> stopped;
  ThreadExecutor stopper("stopper", *clock);
  stopper.post("stop", [&] {
    pool.stop();
    stopped.set_value();
  });
  gate.open();
  stopped.get_future().wait();
  const auto sum = [&] {
    uint64_t steps = 0;
    for (const auto& task : tasks) steps += task->steps();
    return steps;
  };
  const uint64_t steps = sum();
  for (const auto& task : tasks) pool.wake(task);
  pool.add(std::make_shared<GatedTask>(99, gate));
  EXPECT_EQ(sum(), steps);  // All threads are joined.
  stopper.stop();
}

/// Says when its steps end, and notes what it is told of their begins.
class TimedTask final : public RunnableTask {
 public:
  TimedTask(int name, Gate& gate) : name_(name), gate_(gate) {}
  StepResult step() override {
    begins.push_back(known_begin());
    const StepResult result = gate_.pass(name_);
    set_end(TimePoint(Duration(100 * name_ + static_cast<int>(begins.size()))));
    return result;
  }
  bool blocking() const override { return false; }

  std::vector<std::optional<TimePoint>> begins;

 private:
  const int name_;
  Gate& gate_;
};

TEST(WorkerPoolTest, AStepBeginsWhenTheOneBeforeEndedUnlessTheWorkerWaited) {
  const auto clock = make_system_clock();
  Gate gate;
  const auto one = std::make_shared<TimedTask>(1, gate);
  const auto silent = std::make_shared<GatedTask>(2, gate);
  const auto three = std::make_shared<TimedTask>(3, gate);
  {
    WorkerPool pool(1, *clock);
    pool.add(one);
    gate.wait_for(1);
    pool.add(three);
    pool.add(silent);
    for (int task : {1, 3, 2, 1, 3, 2}) {
      EXPECT_EQ(gate.wait_for(1), std::vector<int>{task});
      gate.let_go(task, StepResult::kWorked);
    }
    for (int task : {1, 3, 2}) {
      gate.wait_for(1);
      gate.let_go(task, StepResult::kIdle);
    }
    // The worker may not wait yet: then this is the step after that of task 2, which says nothing.
    pool.wake(three);
    gate.wait_for(1);
    gate.let_go(3, StepResult::kFinished);
    pool.stop();
  }
  const auto at = [](int nanos) { return std::optional<TimePoint>(TimePoint(Duration(nanos))); };
  using Begins = std::vector<std::optional<TimePoint>>;
  EXPECT_EQ(one->begins, (Begins{std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(three->begins, (Begins{at(101), at(102), at(103), std::nullopt}));
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

/// One task, with wakers, workers and a remover whose calls come in any order. Each call is one
/// atomic transition, so that this meets every order that threads could give.
class RunStateModel {
 public:
  explicit RunStateModel(uint64_t seed) : random_(make_seeded_random(seed)) {
    state_.attach();
    queued_ = 1;
  }

  void act() {
    switch (random_->below(4)) {
      case 0:
        due_ = true;
        if (state_.wake()) queued_++;
        break;
      case 1:
        if (queued_ == 0) break;
        queued_--;
        if (!state_.begin_step()) break;
        EXPECT_FALSE(inside_);
        EXPECT_FALSE(removed_);
        inside_ = true;
        break;
      case 2:
        if (inside_) work_or_end();
        break;
      default:
        if (!random_->one_in(60)) break;
        state_.remove();
        removed_ = true;
    }
    EXPECT_LE(queued_, 1);  // Otherwise two workers could step it.
    EXPECT_FALSE(inside_ && queued_ > 0);
    // What is due is seen: by a step to come, or one that has not looked yet.
    EXPECT_TRUE(!due_ || queued_ > 0 || inside_ || removed_ || finished_);
  }

  bool out() const { return removed_ || finished_; }

 private:
  void work_or_end() {
    if (!looked_) {
      worked_ = due_;
      due_ = false;
      looked_ = true;
      return;
    }
    looked_ = false;
    inside_ = false;
    finished_ = random_->one_in(100);
    const StepResult result = finished_ ? StepResult::kFinished
                              : worked_ ? StepResult::kWorked
                                        : StepResult::kIdle;
    if (state_.end_step(result)) queued_++;
    EXPECT_TRUE(!out() || (state_.is_out() && queued_ == 0));
  }

  const std::unique_ptr<Random> random_;
  RunState state_;
  int queued_ = 0;
  bool inside_ = false;
  bool looked_ = false;
  bool worked_ = false;
  bool due_ = false;
  bool removed_ = false;
  bool finished_ = false;
};

TEST(RunStateTest, KeepsItsPromisesInAnyOrderOfCalls) {
  for (uint64_t seed = 0; seed < 2000; seed++) {
    SCOPED_TRACE(seed);
    RunStateModel model(seed);
    for (int i = 0; i < 300; i++) model.act();
    if (HasFailure()) return;
  }
}

/// What others gave it must be seen by a step that begins later.
TEST(RunStateTest, ThreadsThatWakeStepAndRemoveMeetNoGap) {
  const auto clock = make_system_clock();
  for (uint64_t seed = 0; seed < 10; seed++) {
    WorkerPool pool(3, *clock);
    std::vector<std::shared_ptr<CounterTask>> tasks;
    std::vector<std::future<void>> ends;
    for (int i = 0; i < 6; i++) {
      tasks.push_back(std::make_shared<CounterTask>(3 * 300, false));
      ends.push_back(tasks.back()->finished());
      pool.add(tasks.back());
    }
    std::vector<std::unique_ptr<ThreadExecutor>> wakers;
    for (int waker = 0; waker < 3; waker++) {
      wakers.push_back(std::make_unique<ThreadExecutor>("waker", *clock));
      wakers.back()->post(
          "wake", [&, random = std::shared_ptr<Random>(make_seeded_random(seed * 3 + waker))] {
            std::vector<int> left(tasks.size(), 300);
            for (uint64_t sum = tasks.size() * 300; sum > 0;) {
              const size_t which = random->below(tasks.size());
              if (left[which] == 0) continue;
              const auto burst = std::min<uint64_t>(left[which], 1 + random->below(3));
              for (uint64_t i = 0; i < burst; i++) tasks[which]->raise();
              pool.wake(tasks[which]);
              left[which] -= static_cast<int>(burst);
              sum -= burst;
            }
          });
    }
    for (size_t i = 1; i < ends.size(); i++) ends[i].wait();
    pool.remove(tasks[0]);  // In the middle of whatever it does.
    wakers.clear();
    pool.stop();
    EXPECT_TRUE(tasks[0]->run_state().is_out());
  }
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
