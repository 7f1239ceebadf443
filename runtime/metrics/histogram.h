#pragma once

#include <array>
#include <cstddef>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "runtime/metrics/metric.h"

namespace freshet {

/// The distribution of the last values. Thread-safe; not for what happens per record.
class Histogram {
 public:
  static constexpr size_t kValuesMax = 256;
  static constexpr std::array kQuantiles = {.5, .75, .95, .98, .99, .999};

  void add(double value);
  HistogramSummary summary() const;

 private:
  mutable Mutex mutex_;
  std::array<double, kValuesMax> last_ GUARDED_BY(mutex_){};  // A ring.
  uint64_t count_ GUARDED_BY(mutex_) = 0;
  double sum_ GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet
