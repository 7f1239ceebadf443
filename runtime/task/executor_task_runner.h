#pragma once

#include <memory>

#include "runtime/base/executor.h"
#include "runtime/task/runnable_task.h"

namespace freshet {

/// Steps all tasks, blocking ones too, on one executor: in a simulation, for debugging, and on a
/// thread of its own for a task that blocks. A task that has more to do goes behind all others.
class ExecutorTaskRunner final : public TaskRunner {
 public:
  explicit ExecutorTaskRunner(Executor& executor) : executor_(executor) {}

  void add(std::shared_ptr<RunnableTask> task) override;
  void wake(const std::shared_ptr<RunnableTask>& task) override;
  void remove(const std::shared_ptr<RunnableTask>& task) override;

 private:
  static void post_step(Executor& executor, std::shared_ptr<RunnableTask> task);

  Executor& executor_;
};

}  // namespace freshet
