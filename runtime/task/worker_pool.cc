#include "runtime/task/worker_pool.h"

#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace freshet {

namespace {

// The pool whose tasks the calling thread steps.
thread_local const WorkerPool* pool_of_thread = nullptr;

}  // namespace

class WorkerPool::OwnThread {
 public:
  OwnThread(std::shared_ptr<RunnableTask> task, const Clock& clock)
      : task_(std::move(task)), executor_("task-blocking", clock) {}

  void start() { post_step(); }
  void wake() {
    if (task_->run_state().wake()) post_step();
  }
  void remove() { task_->run_state().remove(); }
  bool ended() const { return task_->run_state().is_out(); }

 private:
  void post_step() {
    executor_.post("task_step", [this] {
      if (!task_->run_state().begin_step()) return;
      const StepResult result = task_->step();
      if (task_->run_state().end_step(result)) post_step();
    });
  }

  const std::shared_ptr<RunnableTask> task_;
  ThreadExecutor executor_;  // Last: joined first.
};

WorkerPool::WorkerPool(size_t threads, const Clock& clock)
    : clock_(clock), workers_(threads), stepping_(threads) {
  CHECK(threads > 0);
  try {
    for (size_t i = 0; i < threads; i++) {
      threads_.push_back(std::make_unique<ThreadExecutor>("worker-" + std::to_string(i), clock));
      threads_.back()->post("work", [this] { work(); });
    }
  } catch (...) {
    stop();  // No more threads may be had; those that there are would wait for ever.
    throw;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  std::map<const RunnableTask*, std::unique_ptr<OwnThread>> own_threads;
  std::deque<std::shared_ptr<RunnableTask>> dropped;
  std::vector<std::unique_ptr<ThreadExecutor>> stand_ins;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    stand_ins.swap(stand_ins_);
    own_threads.swap(own_threads_);
    dropped.swap(queue_);
  }
  changed_.notify_all();
  called_.notify_all();
  for (const auto& [task, thread] : own_threads) thread->remove();
  own_threads.clear();
  threads_.clear();
  stand_ins.clear();
}

void WorkerPool::add(std::shared_ptr<RunnableTask> task) {
  const auto ended = take_ended_threads();  // Joined here, outside the lock.
  task->run_state().attach();
  if (!task->blocking()) {
    enqueue(std::move(task));
    return;
  }
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  auto& thread = own_threads_[task.get()];
  thread = std::make_unique<OwnThread>(task, clock_);
  thread->start();
}

void WorkerPool::wake(const std::shared_ptr<RunnableTask>& task) {
  if (!task->blocking()) {
    if (task->run_state().wake()) enqueue(task);
    return;
  }
  std::lock_guard lock(mutex_);
  const auto found = own_threads_.find(task.get());
  if (found != own_threads_.end()) found->second->wake();
}

void WorkerPool::remove(const std::shared_ptr<RunnableTask>& task) { task->run_state().remove(); }

void WorkerPool::enqueue(std::shared_ptr<RunnableTask> task) {
  bool wake_worker = false;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(task));
    wake_worker = sleeping_ > 0;
  }
  if (wake_worker) changed_.notify_one();
}

/// Null when the pool stops. `put_back` may be null.
std::shared_ptr<RunnableTask> WorkerPool::take_next(std::shared_ptr<RunnableTask> put_back,
                                                    bool* waited) {
  std::unique_lock lock(mutex_);
  if (stopping_) return nullptr;
  if (put_back) {
    if (queue_.empty() && stepping_ <= workers_) return put_back;
    queue_.push_back(std::move(put_back));
  }
  while (!stopping_ && (queue_.empty() || stepping_ > workers_)) {
    *waited = true;
    if (stepping_ > workers_) {
      stand_by(lock);
    } else {
      ++sleeping_;
      changed_.wait(lock);
      --sleeping_;
    }
  }
  if (stopping_) return nullptr;
  std::shared_ptr<RunnableTask> task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

void WorkerPool::stand_by(std::unique_lock<std::mutex>& lock) {
  if (sleeping_ > 0 && !queue_.empty()) changed_.notify_one();  // It was woken, or put back.
  --stepping_;
  ++standing_by_;
  called_.wait(lock, [this] { return wanted_ > 0 || stopping_; });
  if (wanted_ > 0) --wanted_;
}

void WorkerPool::run_blocking(const std::function<void()>& function) {
  if (pool_of_thread != this) return function();
  struct Blocking {
    explicit Blocking(WorkerPool& pool) : pool(pool) { pool.begin_blocking(); }
    ~Blocking() { pool.end_blocking(); }
    WorkerPool& pool;
  } blocking(*this);
  function();
}

void WorkerPool::begin_blocking() {
  std::lock_guard lock(mutex_);
  --stepping_;
  if (stopping_) return;
  if (standing_by_ > 0) {
    --standing_by_;
    ++wanted_;
    ++stepping_;
    called_.notify_one();
  } else if (stand_ins_.size() < kStandInsMax) {
    ++stepping_;
    stand_ins_.push_back(
        std::make_unique<ThreadExecutor>("stand-in-" + std::to_string(stand_ins_.size()), clock_));
    stand_ins_.back()->post("work", [this] { work(); });
  }
}

void WorkerPool::end_blocking() {
  std::lock_guard lock(mutex_);
  ++stepping_;
}

void WorkerPool::work() {
  pool_of_thread = this;
  std::shared_ptr<RunnableTask> put_back;
  std::optional<TimePoint> end;  // Of the last step.
  while (true) {
    bool waited = false;
    std::shared_ptr<RunnableTask> task = take_next(std::move(put_back), &waited);
    if (!task) return;
    put_back = nullptr;
    if (waited) end.reset();
    if (!task->run_state().begin_step()) continue;
    const StepResult result = task->step_after(end);
    if (task->run_state().end_step(result)) put_back = std::move(task);
  }
}

std::vector<std::unique_ptr<WorkerPool::OwnThread>> WorkerPool::take_ended_threads() {
  std::vector<std::unique_ptr<OwnThread>> ended;
  std::lock_guard lock(mutex_);
  for (auto it = own_threads_.begin(); it != own_threads_.end();) {
    if (it->second->ended()) {
      ended.push_back(std::move(it->second));
      it = own_threads_.erase(it);
    } else {
      ++it;
    }
  }
  return ended;
}

}  // namespace freshet
