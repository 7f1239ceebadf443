#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/time.h"

namespace freshet {

/// How fast some counts rise, over the last `kSpan`; over their life when that is shorter. What is
/// remembered of the past is read from the counts whenever somebody asks, so nothing is counted for
/// it.
template <size_t kCounts>
class RateWindow {
 public:
  using Counts = std::array<uint64_t, kCounts>;
  using Rates = std::array<double, kCounts>;

  static constexpr Duration kSpan = 60s;

  /// All counts are 0 at `begin`.
  explicit RateWindow(TimePoint begin) : size_(1) { samples_[0].at = begin; }

  /// Per second; `now` and the counts never go back. To be called every few seconds at least, or
  /// the past is seen less exactly.
  Rates read(TimePoint now, const Counts& counts) {
    while (size_ > 1 && now - at(1).at >= kSpan) drop_oldest();
    const Sample& oldest = at(0);
    const double seconds = std::chrono::duration<double>(now - oldest.at).count();
    Rates rates{};
    for (size_t i = 0; i < kCounts && seconds > 0; i++) {
      const uint64_t more = counts[i] - std::min(oldest.counts[i], counts[i]);
      rates[i] = static_cast<double>(more) / seconds;
    }
    if (now - at(size_ - 1).at >= kStep) add({now, counts});
    return rates;
  }

 private:
  static constexpr Duration kStep = 5s;  // At least, between two samples.
  static constexpr size_t kSamplesMax = kSpan / kStep + 1;

  struct Sample {
    TimePoint at{};
    Counts counts{};
  };

  const Sample& at(size_t index) const { return samples_[(first_ + index) % kSamplesMax]; }
  void drop_oldest() {
    first_ = (first_ + 1) % kSamplesMax;
    size_--;
  }
  void add(const Sample& sample) {
    if (size_ == kSamplesMax) drop_oldest();
    samples_[(first_ + size_++) % kSamplesMax] = sample;
  }

  std::array<Sample, kSamplesMax> samples_;
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace freshet
