#include "runtime/chaos/samples.h"

#include <algorithm>

namespace freshet::chaos {

const Sample* Samples::at(EpochMillis at) const {
  const auto after =
      std::upper_bound(samples.begin(), samples.end(), at,
                       [](EpochMillis time, const Sample& sample) { return time < sample.at; });
  return after == samples.begin() ? nullptr : &*(after - 1);
}

uint64_t records_between(const Samples& samples, size_t index, bool Samples::Task::*kind) {
  const Sample& now = samples.samples[index];
  uint64_t records = 0;
  for (size_t i = 0; i < now.tasks.size(); i++) {
    if (!(samples.tasks[i].*kind)) continue;
    const uint64_t count = now.tasks[i].records;
    uint64_t before = 0;
    if (index > 0 && i < samples.samples[index - 1].tasks.size()) {
      const TaskSample& then = samples.samples[index - 1].tasks[i];
      if (then.attempt == now.tasks[i].attempt) before = std::min(then.records, count);
    }
    records += count - before;
  }
  return records;
}

std::vector<SeriesPoint> series_of(const Samples& samples, EpochMillis start) {
  std::vector<SeriesPoint> series;
  EpochMillis before = start;
  for (size_t i = 0; i < samples.samples.size(); i++) {
    const Sample& sample = samples.samples[i];
    const double millis = static_cast<double>(std::max<int64_t>(1, sample.at - before));
    SeriesPoint point;
    point.at = sample.at - start;
    for (size_t t = 0; t < sample.tasks.size(); t++) {
      if (samples.tasks[t].source) point.source_records += sample.tasks[t].records;
      if (samples.tasks[t].sink) point.sink_records += sample.tasks[t].records;
    }
    const auto rate = [&](bool Samples::Task::*kind) {
      return static_cast<double>(records_between(samples, i, kind)) * 1000 / millis;
    };
    point.source_per_second = rate(&Samples::Task::source);
    point.sink_per_second = rate(&Samples::Task::sink);
    point.tasks_running = sample.tasks_running;
    point.latency = sample.latency;
    series.push_back(point);
    before = sample.at;
  }
  return series;
}

}  // namespace freshet::chaos
