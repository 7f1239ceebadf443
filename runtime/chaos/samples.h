#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/time.h"
#include "runtime/chaos/run_record.h"

namespace freshet::chaos {

/// What one task had done at one time.
struct TaskSample {
  uint32_t attempt = 0;
  uint64_t records = 0;  // Taken in; of a source: made.
  bool ended = false;    // At the end of its data.
  bool operator==(const TaskSample&) const = default;
};

/// All tasks of a job at one time; `tasks` is parallel to Samples::tasks.
struct Sample {
  EpochMillis at = 0;
  std::vector<TaskSample> tasks;
  uint32_t tasks_running = 0;
  std::optional<SeriesPoint::Latency> latency;
};

/// What was seen of a job while it ran, in order of time. While nobody answered there are none.
struct Samples {
  struct Task {
    SubtaskId subtask;
    bool source = false;
    bool sink = false;
  };
  std::vector<Task> tasks;  // By vertex and subtask; the same in all samples.
  std::vector<Sample> samples;

  /// The last one not after `at`; null before the first.
  const Sample* at(EpochMillis at) const;
};

/// What tasks of a kind have taken or made between a sample and the one before it. One whose
/// attempt is another one now began from nothing.
uint64_t records_between(const Samples&, size_t index, bool Samples::Task::*kind);

/// Rates and sums for a report.
std::vector<SeriesPoint> series_of(const Samples&, EpochMillis start);

}  // namespace freshet::chaos
