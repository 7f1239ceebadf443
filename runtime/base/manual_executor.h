#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/base/executor.h"

namespace freshet {

/// Runs what is posted to it when told, on the thread that tells; time is a ManualClock. Equal
/// calls give equal runs: functions in the order of their posting, timers by time and then in the
/// order of their scheduling.
///
/// Functions of Executor are thread-safe. Those that run something are called by one thread at a
/// time, and not from inside a function that runs here. Several executors may share a clock.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(ManualClock& clock) : clock_(clock) {}

  /// Stops, if that was not done.
  ~ManualExecutor() override;

  void post(std::string_view name, UniqueFunction<void()> function) override;
  TimerId schedule(Duration delay, std::string_view name, UniqueFunction<void()> function) override;
  void cancel(TimerId) override;
  bool on_thread() const override;
  TimePoint now() const override { return clock_.now(); }

  /// Runs the next function: first what was posted or became due before. False when nothing is
  /// ready.
  bool run_one();

  /// Runs until nothing is ready, including what the functions post. Returns how many ran.
  size_t run_ready();

  /// Lets `duration` pass: runs what is ready, then each timer at its time and what it posts, and
  /// leaves the clock at the new time. Timers set meanwhile take part.
  void advance(Duration duration);

  /// Functions that are ready now, due timers among them.
  size_t ready_count() const;

  /// When the earliest timer is due, if there is one.
  std::optional<TimePoint> next_timer() const;

  /// The name under which the next ready function was posted; empty when there is none.
  std::string_view next_name() const;

  /// Destroys unrun what is queued, timers, and everything posted later: as a crashed process does.
  void stop();

 private:
  struct Item {
    uint64_t timer;  // Zero: was posted.
    std::string_view name;
    UniqueFunction<void()> function;
  };

  void collect_due_timers();

  ManualClock& clock_;
  mutable std::mutex mutex_;
  std::deque<Item> queue_;
  std::multimap<TimePoint, Item> timers_;  // Equal times keep the order of insertion.
  uint64_t next_timer_ = 1;
  bool stopped_ = false;
  std::atomic<std::thread::id> running_{};
};

}  // namespace freshet
