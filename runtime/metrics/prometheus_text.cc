#include "runtime/metrics/prometheus_text.h"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>
#include <unordered_map>

namespace freshet {

namespace {

constexpr std::string_view kPrefix = "flink";

std::string allowed(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != ':') c = '_';
  }
  return result;
}

std::vector<prometheus::ClientMetric::Label> labels_of(const MetricLabels& from) {
  std::vector<prometheus::ClientMetric::Label> labels;
  for (const auto& [name, value] : from) labels.push_back({allowed(name), allowed(value)});
  return labels;
}

prometheus::ClientMetric metric_of(const MetricReading& reading) {
  prometheus::ClientMetric metric;
  if (!reading.histogram) {
    metric.gauge.value = reading.value;
    return metric;
  }
  metric.summary.sample_count = reading.histogram->count;
  metric.summary.sample_sum = reading.histogram->sum;
  for (const auto& [quantile, value] : reading.histogram->quantiles)
    metric.summary.quantile.push_back({quantile, value});
  return metric;
}

}  // namespace

std::string prometheus_text(const std::vector<MetricGroupReading>& groups) {
  std::vector<prometheus::MetricFamily> families;  // In the order in which they appear.
  std::unordered_map<std::string, size_t> index;
  for (const MetricGroupReading& group : groups) {
    const auto labels = labels_of(group.labels);
    for (const MetricReading& reading : group.metrics) {
      std::string name =
          fmt::format("{}_{}_{}", kPrefix, scope_name(group.scope), allowed(reading.name));
      const auto [at, is_new] = index.try_emplace(name, families.size());
      if (is_new) {
        const auto type =
            reading.histogram ? prometheus::MetricType::Summary : prometheus::MetricType::Gauge;
        families.push_back({std::move(name), reading.meaning, type, {}});
      }
      prometheus::ClientMetric metric = metric_of(reading);
      metric.label = labels;
      families[at->second].metric.push_back(std::move(metric));
    }
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

}  // namespace freshet
