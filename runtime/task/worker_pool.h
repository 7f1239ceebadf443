#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"
#include "runtime/task/executor_task_runner.h"
#include "runtime/task/runnable_task.h"

namespace freshet {

/// Steps tasks on a fixed number of threads with one queue, first in, first out; a task with more
/// to do goes to its end. So no task is stepped twice while another one waits that has waited since
/// before, and a task that is woken, by mail too, waits at most for one step of each task that was
/// queued before it. No worker is idle while a task waits. A blocking task gets a thread of its
/// own, which is joined some time after the task ended; a step that must block now and then says
/// so, and another thread stands in for its worker meanwhile.
///
/// One lock is enough: a worker takes it once per step, to put one task back and take the next.
/// `bench_worker_pool` compares that with other ways.
class WorkerPool final : public TaskRunner {
 public:
  WorkerPool(size_t threads, const Clock& clock);

  /// Stops, if that was not done.
  ~WorkerPool() override;

  void add(std::shared_ptr<RunnableTask> task) override;
  void wake(const std::shared_ptr<RunnableTask>& task) override;
  void remove(const std::shared_ptr<RunnableTask>& task) override;

  /// At most so many workers block at once while others stand in for them.
  static constexpr size_t kStandInsMax = 128;

  /// Runs `function`, which may block, on the calling thread. Within a step on a worker another
  /// thread steps tasks meanwhile; such threads are kept for the next time.
  void run_blocking(const std::function<void()>& function);

  /// Joins all threads after the steps that are under way; no step begins any more. Not from a
  /// step.
  void stop();

 private:
  class OwnThread;

  void work();
  void begin_blocking();
  void end_blocking();
  /// Waits while more threads step than workers are wanted.
  void stand_by(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<RunnableTask> take_next(std::shared_ptr<RunnableTask> put_back, bool* waited);
  void enqueue(std::shared_ptr<RunnableTask> task);
  std::vector<std::unique_ptr<OwnThread>> take_ended_threads();

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<RunnableTask>> queue_;
  std::map<const RunnableTask*, std::unique_ptr<OwnThread>> own_threads_;  // Order decides nothing.
  size_t sleeping_ = 0;                                                    // Workers.
  bool stopping_ = false;
  const size_t workers_;  // That step at once, or are ready to.
  size_t stepping_;       // The same, now: one more for a moment when one stops to block.
  size_t standing_by_ = 0;
  size_t wanted_ = 0;  // Of those, and called.
  std::condition_variable called_;
  std::vector<std::unique_ptr<ThreadExecutor>> stand_ins_;
  std::vector<std::unique_ptr<ThreadExecutor>> threads_;
};

}  // namespace freshet
