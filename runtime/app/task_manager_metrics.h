#pragma once

#include <vector>

#include "runtime/app/process_status.h"
#include "runtime/metrics/metric_registry.h"
#include "shuffle/shuffle_environment.h"

namespace freshet {

/// What a TaskManager says of its process and of its memory for buffers. Thread-safe.
class TaskManagerMetrics final : public MetricSource {
 public:
  /// All outlive release(). `managed_bytes`: for operators.
  TaskManagerMetrics(MetricLabels labels, FileSystem& files, const Clock& clock,
                     const ShuffleEnvironment* shuffle, uint64_t managed_bytes)
      : labels_(std::move(labels)),
        files_(files),
        managed_bytes_(managed_bytes),
        shuffle_(shuffle),
        process_(files, clock) {}

  /// All 0 after release().
  TaskManagerNumbers numbers();
  void read(TimePoint now, std::vector<MetricGroupReading>* groups) override;

  /// Waits until nobody reads any more.
  void release();

 private:
  const MetricLabels labels_;
  FileSystem& files_;
  const uint64_t managed_bytes_;
  Mutex mutex_;
  const ShuffleEnvironment* shuffle_ GUARDED_BY(mutex_);  // Null once it is released.
  ProcessStatus process_ GUARDED_BY(mutex_);
};

}  // namespace freshet
