#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/clock.h"
#include "runtime/base/time.h"

namespace freshet {

/// How late records come, measured from the times that they were scheduled for: their timestamps.
/// Milliseconds, of which 32 and more are known within 6 %.
///
/// One thread adds; any may read meanwhile.
class LatencyMeter {
 public:
  static constexpr size_t kBuckets = 448;
  using Counts = std::array<uint64_t, kBuckets>;

  /// What was added between two readings.
  struct Summary {
    uint64_t records = 0;  // 0: nothing else has a meaning.
    double p50_ms = 0;
    double p95_ms = 0;
    double max_ms = 0;
  };

  explicit LatencyMeter(const Clock& clock) : clock_(clock) {}

  /// Records that are there now.
  void add(std::span<const EpochMillis> scheduled);

  /// Since `before`, which becomes what there is now.
  Summary since(Counts* before) const;

 private:
  const Clock& clock_;
  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
};

}  // namespace freshet
