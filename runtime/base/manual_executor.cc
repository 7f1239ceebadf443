#include "runtime/base/manual_executor.h"

#include <algorithm>
#include <iterator>

#include "runtime/base/check.h"

namespace freshet {

ManualExecutor::~ManualExecutor() { stop(); }

void ManualExecutor::post(std::string_view name, UniqueFunction<void()> function) {
  std::lock_guard lock(mutex_);
  if (!stopped_) queue_.push_back(Item{0, name, std::move(function)});
}

TimerId ManualExecutor::schedule(Duration delay, std::string_view name,
                                 UniqueFunction<void()> function) {
  std::lock_guard lock(mutex_);
  if (stopped_) return TimerId{};
  const TimerId id{next_timer_++};
  timers_.emplace(clock_.now() + delay, Item{id.value, name, std::move(function)});
  return id;
}

void ManualExecutor::cancel(TimerId timer) {
  if (timer == TimerId{}) return;
  Item dropped{};  // Destroyed outside the lock.
  std::lock_guard lock(mutex_);
  const auto is_it = [timer](const Item& item) { return item.timer == timer.value; };
  const auto due = std::find_if(queue_.begin(), queue_.end(), is_it);
  if (due != queue_.end()) {
    dropped = std::move(*due);
    queue_.erase(due);
    return;
  }
  const auto later = std::find_if(timers_.begin(), timers_.end(),
                                  [&](const auto& entry) { return is_it(entry.second); });
  if (later == timers_.end()) return;
  dropped = std::move(later->second);
  timers_.erase(later);
}

bool ManualExecutor::on_thread() const { return running_.load() == std::this_thread::get_id(); }

void ManualExecutor::collect_due_timers() {
  const TimePoint now = clock_.now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    queue_.push_back(std::move(timers_.begin()->second));
    timers_.erase(timers_.begin());
  }
}

bool ManualExecutor::run_one() {
  CHECK(running_.load() == std::thread::id());
  UniqueFunction<void()> function;
  {
    std::lock_guard lock(mutex_);
    collect_due_timers();
    if (queue_.empty()) return false;
    function = std::move(queue_.front().function);
    queue_.pop_front();
  }
  running_.store(std::this_thread::get_id());
  function();
  function = nullptr;
  running_.store(std::thread::id());
  return true;
}

size_t ManualExecutor::run_ready() {
  size_t count = 0;
  while (run_one()) ++count;
  return count;
}

void ManualExecutor::advance(Duration duration) {
  CHECK(duration.count() >= 0);
  const TimePoint target = clock_.now() + duration;
  run_ready();
  while (true) {
    const std::optional<TimePoint> next = next_timer();
    if (!next.has_value() || *next > target) break;
    clock_.advance_to(std::max(clock_.now(), *next));
    run_ready();
  }
  clock_.advance_to(std::max(clock_.now(), target));
}

size_t ManualExecutor::ready_count() const {
  std::lock_guard lock(mutex_);
  const auto due = std::distance(timers_.begin(), timers_.upper_bound(clock_.now()));
  return queue_.size() + static_cast<size_t>(due);
}

std::optional<TimePoint> ManualExecutor::next_timer() const {
  std::lock_guard lock(mutex_);
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first;
}

std::string_view ManualExecutor::next_name() const {
  std::lock_guard lock(mutex_);
  if (!queue_.empty()) return queue_.front().name;
  if (!timers_.empty() && timers_.begin()->first <= clock_.now()) {
    return timers_.begin()->second.name;
  }
  return {};
}

void ManualExecutor::stop() {
  std::deque<Item> queue;  // Destroyed outside the lock: destructors may post.
  std::multimap<TimePoint, Item> timers;
  std::lock_guard lock(mutex_);
  stopped_ = true;
  queue.swap(queue_);
  timers.swap(timers_);
}

}  // namespace freshet
