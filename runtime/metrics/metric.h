#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace freshet {

enum class MetricKind : uint8_t {
  kCounter,    // Only rises.
  kGauge,      // Any value.
  kMeter,      // Something per second, over the last minute.
  kHistogram,  // How many of which size.
};

/// What a metric belongs to, and so which labels it has.
enum class MetricScope : uint8_t { kJobManager, kJob, kTaskManager, kTask, kOperator };

/// As in names of Prometheus: `taskmanager_job_task`.
std::string_view scope_name(MetricScope scope);
/// `counter`
std::string_view kind_name(MetricKind kind);

/// A metric as it is documented.
struct MetricInfo {
  std::string_view name;
  MetricKind kind = MetricKind::kGauge;
  std::string_view unit;
  std::string_view meaning;
};

/// Of the last values of a histogram.
struct HistogramSummary {
  uint64_t count = 0;                  // Of all values there ever were.
  double sum = 0;                      // Of all of them.
  std::map<double, double> quantiles;  // Empty: there are no values.
};

/// The value of a metric at one moment.
struct MetricReading {
  std::string name;
  MetricKind kind = MetricKind::kGauge;
  double value = 0;                           // Of a histogram: how many values.
  std::optional<HistogramSummary> histogram;  // Of a histogram.
  std::string meaning;
};

/// In the order of their names in Flink's scope formats: `host`, `tm_id`, `job_id`, ...
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// What one thing (a task, a process) has, at one moment.
struct MetricGroupReading {
  MetricScope scope = MetricScope::kJobManager;
  MetricLabels labels;
  std::vector<MetricReading> metrics;
};

}  // namespace freshet
