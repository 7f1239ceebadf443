#pragma once

#include <cstdint>

#include "runtime/base/time.h"

namespace freshet {

/// One reader's part of a rate that holds for all readers of a source. The source has places in
/// time, the first at once and then `per_second` of them in each second; reader `share` of `shares`
/// has each `shares`-th. So all readers together keep the rate exactly, also below one per second.
/// Pure: no clock.
///
/// What was not taken in time may be taken later, but no more than one second's worth of it. A
/// clock that goes back costs nothing but the time that passes between two looks at it. With a
/// schedule no place is ever lost or moved.
class RateLimiter {
 public:
  /// `per_second` is from kPerSecondMin to kPerSecondMax.
  RateLimiter(double per_second, uint32_t share, uint32_t shares, EpochMillis start,
              bool scheduled = false);

  /// How many may be taken at `now`.
  uint64_t available(EpochMillis now);

  /// At most as many as the last available() said.
  void take(uint64_t count) { taken_ += count; }

  /// When the next one may be taken; after `now`, and some time after it at high rates, where
  /// several are then available: whoever waits waits at most a hundred times per second.
  EpochMillis next(EpochMillis now) const;

  /// The time of the place that comes `ahead` places after the next one; kNoTimestamp without a
  /// schedule.
  EpochMillis scheduled(uint64_t ahead) const;

  static constexpr double kPerSecondMin = 1e-6;  // One in 11 days.
  static constexpr double kPerSecondMax = 1e9;

 private:
  uint64_t places_until(EpochMillis now) const;
  double due(uint64_t place) const;  // Milliseconds after the start.

  const double per_millisecond_;
  const uint64_t share_;
  const uint64_t shares_;
  const uint64_t burst_;
  const bool scheduled_;
  EpochMillis start_;
  EpochMillis last_;
  uint64_t taken_ = 0;  // Places of this reader that are used or lost.
};

}  // namespace freshet
