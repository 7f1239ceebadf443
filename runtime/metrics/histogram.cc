#include "runtime/metrics/histogram.h"

#include <algorithm>
#include <cmath>

namespace freshet {

void Histogram::add(double value) {
  MutexLock lock(mutex_);
  last_[count_++ % kValuesMax] = value;
  sum_ += value;
}

HistogramSummary Histogram::summary() const {
  HistogramSummary summary;
  std::vector<double> values;
  {
    MutexLock lock(mutex_);
    summary.count = count_;
    summary.sum = sum_;
    const auto size = static_cast<std::ptrdiff_t>(std::min<uint64_t>(count_, kValuesMax));
    values.assign(last_.begin(), last_.begin() + size);
  }
  if (values.empty()) return summary;
  std::sort(values.begin(), values.end());
  for (const double quantile : kQuantiles) {
    // The least value that so many are not above.
    const double rank = std::ceil(quantile * static_cast<double>(values.size()));
    summary.quantiles[quantile] = values[static_cast<size_t>(std::max(rank, 1.0)) - 1];
  }
  return summary;
}

}  // namespace freshet
