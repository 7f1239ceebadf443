#pragma once

#include <string>
#include <vector>

#include "runtime/metrics/metric.h"

namespace freshet {

/// As the version of the text format says that this is.
inline constexpr char kPrometheusContentType[] = "text/plain; version=0.0.4; charset=utf-8";

/// In the text format of Prometheus, with the names, labels and types of Flink's
/// PrometheusReporter, so that boards and alerts made for it work: `flink_<scope>_<name>`;
/// counters, gauges and meters are gauges, histograms are summaries; in names and in values of
/// labels each character but letters, digits, `:` and `_` is a `_`.
std::string prometheus_text(const std::vector<MetricGroupReading>& groups);

}  // namespace freshet
