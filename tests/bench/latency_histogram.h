#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/time.h"

namespace freshet::bench {

/// Counts of latencies of up to two minutes, in cells whose width is at most 1/64 of the values in
/// them.
class LatencyHistogram {
 public:
  LatencyHistogram();

  /// Less than nothing counts as nothing.
  void add(Duration latency);

  uint64_t count() const { return count_; }
  /// The end of the cell that holds the latency below which `share` of all are; 0 when empty.
  Duration quantile(double share) const;

 private:
  std::vector<uint64_t> cells_;
  uint64_t count_ = 0;
};

}  // namespace freshet::bench
