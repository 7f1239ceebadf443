#pragma once

#include <atomic>
#include <memory>

#include "runtime/base/time.h"

namespace freshet {

/// The only source of time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Never goes back.
  virtual TimePoint now() const = 0;

  /// Wall-clock time; may jump.
  virtual EpochMillis epoch_millis() const = 0;
};

/// The clock of the machine.
std::unique_ptr<Clock> make_system_clock();

/// Stands still until told. Thread-safe.
class ManualClock final : public Clock {
 public:
  /// `epoch` is the wall-clock time at TimePoint zero.
  explicit ManualClock(EpochMillis epoch = 1'700'000'000'000) : epoch_(epoch) {}

  TimePoint now() const override { return TimePoint(Duration(nanos_.load())); }
  EpochMillis epoch_millis() const override { return epoch_ + nanos_.load() / 1'000'000; }

  void advance(Duration duration) { nanos_.fetch_add(duration.count()); }
  void advance_to(TimePoint time) { nanos_.store(time.time_since_epoch().count()); }

 private:
  const EpochMillis epoch_;
  std::atomic<int64_t> nanos_{0};
};

}  // namespace freshet
