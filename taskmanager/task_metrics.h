#pragma once

#include <memory>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "runtime/graph/job_graph.h"
#include "runtime/metrics/metric_registry.h"
#include "runtime/metrics/numbers.h"
#include "runtime/metrics/rate_window.h"
#include "runtime/task/latency_meter.h"
#include "runtime/task/task_progress.h"

namespace freshet {

class StreamTask;

/// Without what only comes of a longer time.
TaskNumbers numbers_of(const TaskProgress&);

/// The metrics of one task: reads what it counts, and remembers some of it for rates. Thread-safe:
/// heartbeats read it on the main thread, endpoints on theirs.
class TaskMetrics final : public MetricSource {
 public:
  /// `labels`: of the TaskManager. `task` must not go before release().
  TaskMetrics(MetricLabels labels, const AttemptId&, const std::string& job_name, const JobVertex&,
              const StreamTask& task, TimePoint now);

  TaskNumbers numbers(TimePoint now);
  void read(TimePoint now, std::vector<MetricGroupReading>* groups) override;

  /// Waits until nobody reads the task any more. Nothing comes of it from then on.
  void release();

 private:
  struct Times {
    TimePoint at;
    uint64_t busy_ms = 0;
    uint64_t idle_ms = 0;
    uint64_t back_pressured_ms = 0;
    uint64_t hard_back_pressured_ms = 0;
  };

  TaskNumbers numbers_now(TimePoint now, LatencyMeter::Counts* latency) REQUIRES(mutex_);
  void add_latency(LatencyMeter::Counts* before, TaskGauges* gauges) REQUIRES(mutex_);
  void add_rates(TimePoint now, TaskNumbers* numbers) REQUIRES(mutex_);
  void add_times(TimePoint now, TaskNumbers* numbers) REQUIRES(mutex_);
  void read_operators(const TaskNumbers&, std::vector<MetricGroupReading>* groups) const;

  MetricLabels labels_;
  std::vector<ChainedOperator> operators_;  // The head, and sources.
  Mutex mutex_;
  const StreamTask* task_ GUARDED_BY(mutex_);  // Null once it is released.
  RateWindow<10> rates_ GUARDED_BY(mutex_);
  // The last two looks at the times that were a second apart.
  Times earlier_ GUARDED_BY(mutex_);
  Times last_ GUARDED_BY(mutex_);
  // What those who ask had seen; empty in a task without sink.
  std::unique_ptr<LatencyMeter::Counts> reported_ GUARDED_BY(mutex_);
  std::unique_ptr<LatencyMeter::Counts> scraped_ GUARDED_BY(mutex_);
};

}  // namespace freshet
