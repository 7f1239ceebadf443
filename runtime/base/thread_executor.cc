#include "runtime/base/thread_executor.h"

#include "runtime/base/check.h"
#include "runtime/base/crash_handler.h"

namespace freshet {

namespace {
thread_local const ThreadExecutor* current_executor = nullptr;
}

ThreadExecutor::ThreadExecutor(std::string name, const Clock& clock)
    : name_(std::move(name)), clock_(clock), thread_([this] { run(); }) {}

ThreadExecutor::~ThreadExecutor() { stop(); }

void ThreadExecutor::post(std::string_view, UniqueFunction<void()> function) {
  // Told under the lock: what was posted may let somebody destroy the executor.
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  queue_.push_back({0, std::move(function)});
  changed_.notify_one();
}

TimerId ThreadExecutor::schedule(Duration delay, std::string_view,
                                 UniqueFunction<void()> function) {
  TimerId id;
  std::lock_guard lock(mutex_);
  if (stopping_) return TimerId{};
  id.value = next_timer_++;
  timers_.emplace(clock_.now() + delay, Item{id.value, std::move(function)});
  changed_.notify_one();
  return id;
}

void ThreadExecutor::cancel(TimerId timer) {
  if (timer == TimerId{}) return;
  UniqueFunction<void()> dropped;  // Destroyed outside the lock.
  std::lock_guard lock(mutex_);
  for (auto it = timers_.begin(); it != timers_.end(); ++it) {
    if (it->second.id != timer.value) continue;
    dropped = std::move(it->second.function);
    timers_.erase(it);
    return;
  }
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    if (it->id != timer.value) continue;
    dropped = std::move(it->function);
    queue_.erase(it);
    return;
  }
}

bool ThreadExecutor::on_thread() const { return current_executor == this; }

void ThreadExecutor::stop() {
  CHECK(!on_thread());
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  queue_.clear();
  timers_.clear();
}

void ThreadExecutor::run() {
  begin_thread(name_);
  current_executor = this;
  std::unique_lock lock(mutex_);
  while (true) {
    while (!timers_.empty() && timers_.begin()->first <= clock_.now()) {
      queue_.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    if (!queue_.empty()) {
      UniqueFunction<void()> function = std::move(queue_.front().function);
      queue_.pop_front();
      lock.unlock();
      function();
      function = nullptr;
      lock.lock();
    } else if (stopping_) {
      return;
    } else if (timers_.empty()) {
      changed_.wait(lock);
    } else {
      const Duration wait = timers_.begin()->first - clock_.now();
      if (wait.count() > 0) changed_.wait_for(lock, wait);
    }
  }
}

}  // namespace freshet
