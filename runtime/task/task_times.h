#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/base/time.h"

namespace freshet {

/// Where the time of a task goes, from its first step to its last. Written by who steps the task,
/// and read by any thread, which never holds it up.
class TaskTimes {
 public:
  enum class Kind : uint8_t { kBusy, kIdle, kBackPressured, kNone };
  struct Times {
    Duration busy{};
    Duration idle{};
    Duration back_pressured{};
    Duration hard_back_pressured{};  // Of that, the waiting within steps.
    Kind now = Kind::kNone;
  };

  /// The step is busy as long as nobody says something else.
  void begin_step(TimePoint now);
  /// Of the step `kind`, but for what it waited for a disk, which is hard back pressure: its thread
  /// is held in the middle of an element. What follows it is `next`; kNone:
  /// nothing.
  void end_step(TimePoint now, Kind kind, Duration waited, Kind next);

  /// When the step that is going on began; nullopt between steps.
  std::optional<TimePoint> step_began() const {
    const int64_t began = step_began_.load(std::memory_order_acquire);
    if (began == kNoStep) return std::nullopt;
    return TimePoint(Duration(began));
  }

  /// Up to `now`: also what is not over yet. When the task changes them again and again meanwhile,
  /// or was stopped inside a change, they are about right.
  Times read(TimePoint now) const;
  /// Exact; false when they changed meanwhile.
  bool try_read(TimePoint now, Times* times) const;

 private:
  // A reader looks again when the version was odd, or has changed meanwhile. All stores release and
  // all loads acquire, so whoever sees a new value sees the odd version before it.
  void change(TimePoint since, Kind kind, Kind ended, Duration time, Duration waited = {});
  void add(Kind kind, Duration time);

  static constexpr int64_t kNoStep = INT64_MIN;

  std::atomic<int64_t> step_began_{kNoStep};
  std::atomic<uint32_t> version_{0};
  std::atomic<int64_t> since_{0};
  std::atomic<Kind> kind_{Kind::kNone};
  std::array<std::atomic<int64_t>, 3> nanos_{};  // Of what is over, by Kind.
  std::atomic<int64_t> waited_nanos_{0};         // Within steps.
};

}  // namespace freshet
