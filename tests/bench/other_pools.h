#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/thread_executor.h"
#include "runtime/task/executor_task_runner.h"

namespace freshet::bench {

/// One queue and one lock, taken twice per step: what a pool is without more thought.
class PlainPool final : public TaskRunner {
 public:
  PlainPool(size_t threads, const Clock& clock);
  ~PlainPool() override;
  void add(std::shared_ptr<RunnableTask> task) override;
  void wake(const std::shared_ptr<RunnableTask>& task) override;
  void remove(const std::shared_ptr<RunnableTask>& task) override { task->run_state().remove(); }

 private:
  void work();
  void enqueue(std::shared_ptr<RunnableTask> task);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<RunnableTask>> queue_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<ThreadExecutor>> threads_;
};

/// A queue per worker; one whose own is empty takes half of another's. Not fair: the tasks of a
/// short queue have more turns.
class StealingPool final : public TaskRunner {
 public:
  StealingPool(size_t threads, const Clock& clock);
  ~StealingPool() override;
  void add(std::shared_ptr<RunnableTask> task) override;
  void wake(const std::shared_ptr<RunnableTask>& task) override;
  void remove(const std::shared_ptr<RunnableTask>& task) override { task->run_state().remove(); }

 private:
  struct alignas(64) Worker {
    std::mutex mutex;
    std::deque<std::shared_ptr<RunnableTask>> queue;
    std::atomic<size_t> size{0};
  };

  void work(size_t self);
  void enqueue(std::shared_ptr<RunnableTask> task);
  void wake_sleeper();
  std::shared_ptr<RunnableTask> exchange(Worker& own, std::shared_ptr<RunnableTask> put_back);
  std::shared_ptr<RunnableTask> steal(size_t self);
  bool all_empty() const;

  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex sleep_mutex_;
  std::condition_variable changed_;
  std::atomic<size_t> sleeping_{0};
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::unique_ptr<ThreadExecutor>> threads_;
};

}  // namespace freshet::bench
