#include "tests/bench/other_pools.h"

#include <string>
#include <utility>

namespace freshet::bench {

namespace {

thread_local const StealingPool* current_pool = nullptr;
thread_local size_t current_worker = 0;

}  // namespace

PlainPool::PlainPool(size_t threads, const Clock& clock) {
  for (size_t i = 0; i < threads; i++) {
    threads_.push_back(std::make_unique<ThreadExecutor>("plain-" + std::to_string(i), clock));
    threads_.back()->post("work", [this] { work(); });
  }
}

PlainPool::~PlainPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

void PlainPool::add(std::shared_ptr<RunnableTask> task) {
  task->run_state().attach();
  enqueue(std::move(task));
}

void PlainPool::wake(const std::shared_ptr<RunnableTask>& task) {
  if (task->run_state().wake()) enqueue(task);
}

void PlainPool::enqueue(std::shared_ptr<RunnableTask> task) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void PlainPool::work() {
  while (true) {
    std::shared_ptr<RunnableTask> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    if (!task->run_state().begin_step()) continue;
    const StepResult result = task->step();
    if (task->run_state().end_step(result)) enqueue(std::move(task));
  }
}

StealingPool::StealingPool(size_t threads, const Clock& clock) {
  for (size_t i = 0; i < threads; i++) workers_.push_back(std::make_unique<Worker>());
  for (size_t i = 0; i < threads; i++) {
    threads_.push_back(std::make_unique<ThreadExecutor>("stealing-" + std::to_string(i), clock));
    threads_.back()->post("work", [this, i] { work(i); });
  }
}

StealingPool::~StealingPool() {
  {
    std::lock_guard lock(sleep_mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

void StealingPool::add(std::shared_ptr<RunnableTask> task) {
  task->run_state().attach();
  enqueue(std::move(task));
}

void StealingPool::wake(const std::shared_ptr<RunnableTask>& task) {
  if (task->run_state().wake()) enqueue(task);
}

void StealingPool::enqueue(std::shared_ptr<RunnableTask> task) {
  Worker& worker =
      *workers_[current_pool == this ? current_worker : next_.fetch_add(1) % workers_.size()];
  {
    std::lock_guard lock(worker.mutex);
    worker.queue.push_back(std::move(task));
    worker.size = worker.queue.size();
  }
  wake_sleeper();
}

void StealingPool::wake_sleeper() {
  if (sleeping_ == 0) return;
  { std::lock_guard lock(sleep_mutex_); }
  changed_.notify_one();
}

std::shared_ptr<RunnableTask> StealingPool::exchange(Worker& own,
                                                     std::shared_ptr<RunnableTask> put_back) {
  std::lock_guard lock(own.mutex);
  if (put_back) {
    if (own.queue.empty()) return put_back;
    own.queue.push_back(std::move(put_back));
  }
  if (own.queue.empty()) return nullptr;
  std::shared_ptr<RunnableTask> task = std::move(own.queue.front());
  own.queue.pop_front();
  own.size = own.queue.size();
  return task;
}

std::shared_ptr<RunnableTask> StealingPool::steal(size_t self) {
  for (size_t i = 1; i < workers_.size(); i++) {
    Worker& victim = *workers_[(self + i) % workers_.size()];
    if (victim.size == 0) continue;
    std::vector<std::shared_ptr<RunnableTask>> taken;
    {
      std::lock_guard lock(victim.mutex);
      for (size_t left = (victim.queue.size() + 1) / 2; left > 0; left--) {
        taken.push_back(std::move(victim.queue.front()));
        victim.queue.pop_front();
      }
      victim.size = victim.queue.size();
    }
    if (taken.empty()) continue;
    Worker& own = *workers_[self];
    std::lock_guard lock(own.mutex);
    for (size_t k = 1; k < taken.size(); k++) own.queue.push_back(std::move(taken[k]));
    own.size = own.queue.size();
    return std::move(taken[0]);
  }
  return nullptr;
}

bool StealingPool::all_empty() const {
  for (const auto& worker : workers_) {
    if (worker->size != 0) return false;
  }
  return true;
}

void StealingPool::work(size_t self) {
  current_pool = this;
  current_worker = self;
  std::shared_ptr<RunnableTask> put_back;
  while (!stopping_) {
    std::shared_ptr<RunnableTask> task = exchange(*workers_[self], std::move(put_back));
    put_back = nullptr;
    if (!task) task = steal(self);
    if (!task) {
      std::unique_lock lock(sleep_mutex_);
      ++sleeping_;
      if (all_empty() && !stopping_) changed_.wait(lock);
      --sleeping_;
      continue;
    }
    if (!task->run_state().begin_step()) continue;
    const StepResult result = task->step();
    if (task->run_state().end_step(result)) put_back = std::move(task);
  }
}

}  // namespace freshet::bench
