#include "runtime/task/executor_task_runner.h"

namespace freshet {

void ExecutorTaskRunner::add(std::shared_ptr<RunnableTask> task) {
  task->run_state().attach();
  post_step(executor_, std::move(task));
}

void ExecutorTaskRunner::wake(const std::shared_ptr<RunnableTask>& task) {
  if (task->run_state().wake()) post_step(executor_, task);
}

void ExecutorTaskRunner::remove(const std::shared_ptr<RunnableTask>& task) {
  task->run_state().remove();
}

void ExecutorTaskRunner::post_step(Executor& executor, std::shared_ptr<RunnableTask> task) {
  executor.post("task_step", [&executor, task = std::move(task)]() mutable {
    if (!task->run_state().begin_step()) return;
    const StepResult result = task->step();
    if (task->run_state().end_step(result)) post_step(executor, std::move(task));
  });
}

}  // namespace freshet
