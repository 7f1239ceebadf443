#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/base/executor.h"

namespace freshet {

/// One thread that runs what is posted to it.
class ThreadExecutor final : public Executor {
 public:
  /// `name` (at most 15 characters) is the thread's name in logs and debuggers.
  ThreadExecutor(std::string name, const Clock& clock);

  /// Stops, if that was not done.
  ~ThreadExecutor() override;

  void post(std::string_view name, UniqueFunction<void()> function) override;
  TimerId schedule(Duration delay, std::string_view name, UniqueFunction<void()> function) override;
  void cancel(TimerId) override;
  bool on_thread() const override;
  TimePoint now() const override { return clock_.now(); }

  /// Runs what is queued already, drops timers and everything posted later, joins. Not from its own
  /// thread.
  void stop();

 private:
  struct Item {
    uint64_t id;  // Of a timer; 0: posted.
    UniqueFunction<void()> function;
  };

  void run();

  const std::string name_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  // A timer that is due waits here, and can still be cancelled.
  std::multimap<TimePoint, Item> timers_;
  uint64_t next_timer_ = 1;
  bool stopping_ = false;
  std::thread thread_;  // Last: starts when everything else is there.
};

}  // namespace freshet
