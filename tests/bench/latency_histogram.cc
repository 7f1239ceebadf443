#include "tests/bench/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace freshet::bench {

namespace {

constexpr uint32_t kCellBits = 6;    // Cells per power of two.
constexpr uint32_t kNanosBits = 37;  // 2^37 ns are 137 s.
constexpr uint64_t kNanosMax = (uint64_t{1} << kNanosBits) - 1;
constexpr uint32_t kCells = (kNanosBits - kCellBits + 1) << kCellBits;

// Of values below 2^kCellBits each has a cell; from there on a power of two has 2^kCellBits.
uint32_t cell_of(uint64_t nanos) {
  const auto width = static_cast<uint32_t>(std::bit_width(nanos));
  if (width <= kCellBits) return static_cast<uint32_t>(nanos);
  const uint32_t shift = width - kCellBits - 1;
  return (shift << kCellBits) + static_cast<uint32_t>(nanos >> shift);
}

uint64_t end_of(uint32_t cell) {
  if (cell < (1u << kCellBits)) return uint64_t{cell} + 1;
  const uint32_t shift = (cell >> kCellBits) - 1;
  const uint64_t scaled = (cell & ((1u << kCellBits) - 1)) + (1u << kCellBits);
  return (scaled + 1) << shift;
}

}  // namespace

LatencyHistogram::LatencyHistogram() : cells_(kCells) {}

void LatencyHistogram::add(Duration latency) {
  const auto nanos = static_cast<uint64_t>(std::max<int64_t>(0, latency.count()));
  ++cells_[cell_of(std::min(nanos, kNanosMax))];
  ++count_;
}

Duration LatencyHistogram::quantile(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (uint32_t cell = 0; cell < cells_.size(); ++cell) {
    seen += cells_[cell];
    if (seen >= std::max<uint64_t>(1, wanted)) return Duration(end_of(cell));
  }
  return Duration(0);
}

}  // namespace freshet::bench
