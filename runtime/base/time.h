#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/base/status.h"

namespace freshet {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;  // 10ms, 1s

/// Marks the time scale of `Clock`; it never ticks by itself.
struct MonotonicScale {
  using rep = int64_t;
  using period = std::nano;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicScale>;
  static constexpr bool is_steady = true;
};

/// A reading of `Clock::now()`: monotonic, its zero means nothing.
using TimePoint = MonotonicScale::time_point;

/// Milliseconds since 1970 UTC: event time, processing time as operators see it, log lines.
using EpochMillis = int64_t;

/// Of records that have no event time.
inline constexpr EpochMillis kNoTimestamp = INT64_MIN;

inline int64_t to_millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// `250 ms`, `10 s`, `1 min`, `2 h`, `100us`; a bare number is milliseconds, as in Flink.
Result<Duration> parse_duration(const std::string& text);
std::string format_duration(Duration);

}  // namespace freshet
