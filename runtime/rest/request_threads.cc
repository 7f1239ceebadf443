#include "runtime/rest/request_threads.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "runtime/base/log.h"

namespace freshet::rest {

void RequestThreads::enqueue(std::function<void()> function) {
  std::unique_lock lock(mutex_);
  // Those who connect wait then, and take no descriptor of this process.
  room_.wait(lock, [this] { return queue_.size() < waiting_max_ || shut_down_; });
  queue_.push_back(std::move(function));
  if (queue_.size() > idle_ && threads_.size() < threads_max_ && !shut_down_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      LOG_WARN("rest_thread_not_made", {{"cause", error.what()}});
    }
  }
  changed_.notify_one();
}

void RequestThreads::shut_down() {
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  room_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

size_t RequestThreads::threads() {
  std::lock_guard lock(mutex_);
  return threads_.size();
}

size_t RequestThreads::waiting() {
  std::lock_guard lock(mutex_);
  const size_t free = idle_ + threads_max_ - std::min(threads_.size(), threads_max_);
  return queue_.size() > free ? queue_.size() - free : 0;
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
    room_.notify_one();
    lock.unlock();
    try {
      function();
    } catch (const std::exception& error) {
      LOG_ERROR("rest_request_failed", {{"cause", error.what()}});
    }
    lock.lock();
  }
}

}  // namespace freshet::rest
