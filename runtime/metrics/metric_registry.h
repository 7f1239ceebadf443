#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "runtime/base/time.h"
#include "runtime/metrics/histogram.h"
#include "runtime/metrics/metric.h"
#include "runtime/metrics/rate_window.h"

namespace freshet {

/// Who has metrics: reads them where they are counted, when somebody asks. Thread-safe.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  /// Adds groups. `now` may be a little before that of another call.
  virtual void read(TimePoint now, std::vector<MetricGroupReading>* groups) = 0;
};

/// All metrics of a process. Thread-safe; no source is called under its lock.
class MetricRegistry {
 public:
  /// Until its last owner lets it go.
  void add(const std::weak_ptr<MetricSource>& source);

  /// In the order in which they were added.
  std::vector<MetricGroupReading> read(TimePoint now);

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<MetricSource>> sources_ GUARDED_BY(mutex_);
};

/// A counter for what has none yet. Thread-safe; not for what happens per record.
class MetricCounter {
 public:
  void add(uint64_t more = 1) { count_.fetch_add(more, std::memory_order_relaxed); }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};
};

/// Metrics that are named one by one. Functions that are handed in are called on any thread.
class MetricGroup final : public MetricSource {
 public:
  MetricGroup(MetricScope scope, MetricLabels labels) : scope_(scope), labels_(std::move(labels)) {}

  void counter(const MetricInfo&, std::function<uint64_t()> read);
  void gauge(const MetricInfo&, std::function<double()> read);
  /// How fast what `read` gives rises, from `now` on.
  void meter(const MetricInfo&, TimePoint now, std::function<uint64_t()> read);
  void histogram(const MetricInfo&, std::shared_ptr<const Histogram>);

  void read(TimePoint now, std::vector<MetricGroupReading>* groups) override;

 private:
  struct Entry {
    MetricInfo info;
    std::function<double(TimePoint)> read;  // Not of a histogram.
    std::shared_ptr<const Histogram> histogram;
  };

  const MetricScope scope_;
  const MetricLabels labels_;
  Mutex mutex_;
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace freshet
