#include "runtime/rest/request_threads.h"

#include <utility>

namespace freshet::rest {

void RequestThreads::enqueue(std::function<void()> function) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(function));
  if (queue_.size() > idle_ && threads_.size() < threads_max_ && !shut_down_) {
    threads_.emplace_back([this] { work(); });
  } else {
    changed_.notify_one();
  }
}

void RequestThreads::shut_down() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

size_t RequestThreads::threads() {
  std::lock_guard lock(mutex_);
  return threads_.size();
}

void RequestThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return !queue_.empty() || shut_down_; });
    --idle_;
    if (queue_.empty()) return;
    const std::function<void()> function = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    function();
    lock.lock();
  }
}

}  // namespace freshet::rest
