#include "runtime/task/latency_meter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace freshet {

namespace {

// Below 32 each value has its bucket, above there are 16 for each doubling.
constexpr uint64_t kExact = 32;
constexpr uint64_t kParts = 16;
constexpr int kPartsBits = 4;
static_assert(1 << kPartsBits == kParts && kExact == 2 * kParts);

size_t bucket_of(EpochMillis latency) {
  if (latency <= 0) return 0;
  const auto value = static_cast<uint64_t>(latency);
  if (value < kExact) return value;
  const int shift = std::bit_width(value) - 1 - kPartsBits;
  const uint64_t bucket =
      kExact + static_cast<uint64_t>(shift - 1) * kParts + (value >> shift) - kParts;
  return std::min<uint64_t>(bucket, LatencyMeter::kBuckets - 1);
}

/// The middle of what a bucket holds.
double value_of(size_t bucket) {
  if (bucket < kExact) return static_cast<double>(bucket);
  const uint64_t shift = (bucket - kExact) / kParts + 1;
  const uint64_t part = (bucket - kExact) % kParts + kParts;
  return std::ldexp(static_cast<double>(part) + 0.5, static_cast<int>(shift));
}

double quantile(const LatencyMeter::Counts& counts, uint64_t records, double part) {
  const auto rank = static_cast<uint64_t>(std::ceil(part * static_cast<double>(records)));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts.size(); i++) {
    seen += counts[i];
    if (seen >= std::max<uint64_t>(rank, 1)) return value_of(i);
  }
  return 0;
}

}  // namespace

void LatencyMeter::add(std::span<const EpochMillis> scheduled) {
  const EpochMillis now = clock_.epoch_millis();
  for (const EpochMillis time : scheduled) {
    if (time == kNoTimestamp) continue;
    std::atomic<uint64_t>& count = counts_[bucket_of(now - time)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

LatencyMeter::Summary LatencyMeter::since(Counts* before) const {
  Counts more{};
  Summary summary;
  for (size_t i = 0; i < kBuckets; i++) {
    const uint64_t count = counts_[i].load(std::memory_order_relaxed);
    more[i] = count - std::exchange((*before)[i], count);
    summary.records += more[i];
    if (more[i] != 0) summary.max_ms = value_of(i);
  }
  summary.p50_ms = quantile(more, summary.records, 0.5);
  summary.p95_ms = quantile(more, summary.records, 0.95);
  return summary;
}

}  // namespace freshet
