#include "runtime/rest/rest_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "runtime/metrics/metric_catalog.h"
#include "runtime/rest/json_text.h"

namespace freshet::rest {

namespace {

/// Whole numbers without a point.
std::string value_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

using Names = std::unordered_set<std::string>;

Names names_of(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }

struct Aggregate {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  size_t count = 0;

  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
    ++count;
  }
  double get(std::string_view name) const {
    if (name == "min") return min;
    if (name == "max") return max;
    return name == "sum" ? sum : sum / static_cast<double>(count);
  }
};

Result<uint32_t> parse_index(std::string_view text, uint32_t count) {
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid_argument(fmt::format("'{}' is no index of a subtask", text.substr(0, 64)));
  if (index >= count)
    return invalid_argument(fmt::format("there is no subtask {}; there are {}", index, count));
  return index;
}

}  // namespace

namespace {

template <class Numbers>
void append(std::span<const CatalogEntry<Numbers>> catalog, const Numbers& numbers,
            const std::string& before, std::vector<Metric>* metrics) {
  for (const CatalogEntry<Numbers>& one : catalog)
    metrics->push_back({before + std::string(one.info.name), one.value(numbers)});
}

/// As Flink writes the name of an operator before that of a metric.
std::string metric_prefix(std::string name) {
  for (char& c : name) {
    if (c == ' ' || c == '.' || c == ':' || c == ',') c = '_';
  }
  return name + ".";
}

}  // namespace

std::vector<Metric> metrics_of(const VertexView& vertex, const SubtaskView& subtask) {
  std::vector<Metric> metrics;
  append(task_metrics(), subtask.progress, "", &metrics);
  for (const OperatorView& one : vertex.operators) {
    const std::string before = metric_prefix(one.name);
    if (one.head) append(head_metrics(), subtask.progress, before, &metrics);
    if (one.source) append(source_metrics(), subtask.progress, before, &metrics);
  }
  return metrics;
}

std::vector<Metric> metrics_of(const JobSummaryView& job) {
  std::vector<Metric> metrics;
  append(job_metrics(), job.numbers, "", &metrics);
  return metrics;
}

std::vector<Metric> metrics_of(const TaskManagerView& task_manager) {
  std::vector<Metric> metrics;
  append(process_metrics(), task_manager.numbers.process, "", &metrics);
  append(network_metrics(), task_manager.numbers, "", &metrics);
  return metrics;
}

std::vector<Metric> metrics_of(const ClusterNumbers& cluster, const ProcessNumbers& process) {
  std::vector<Metric> metrics;
  append(cluster_metrics(), cluster, "", &metrics);
  append(process_metrics(), process, "", &metrics);
  return metrics;
}

ClusterNumbers numbers_of(const std::vector<JobSummaryView>& jobs,
                          const std::vector<TaskManagerView>& task_managers) {
  ClusterNumbers numbers;
  numbers.task_managers = task_managers.size();
  for (const TaskManagerView& one : task_managers) {
    numbers.slots += one.slots;
    numbers.slots_free += one.slots_free;
  }
  for (const JobSummaryView& one : jobs) numbers.jobs_running += is_terminal(one.state) ? 0 : 1;
  return numbers;
}

std::string metrics_text(const std::vector<Metric>& metrics,
                         const std::vector<std::string>& wanted) {
  const Names names = names_of(wanted);
  JsonText text;
  text.begin_array();
  for (const auto& [name, value] : metrics) {
    if (wanted.empty()) {
      text.begin_object().add("id", name).end_object();
    } else if (names.contains(name)) {
      text.begin_object().add("id", name).add("value", value_text(value)).end_object();
    }
  }
  text.end_array();
  return text.take();
}

Result<Json> aggregated_metrics_json(const std::vector<std::vector<Metric>>& all,
                                     const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& aggregations) {
  static constexpr const char* kAll[] = {"min", "max", "avg", "sum"};
  for (const std::string& one : aggregations) {
    if (std::find(std::begin(kAll), std::end(kAll), one) == std::end(kAll))
      return invalid_argument(fmt::format("'{}' is no aggregation; there are min, max, avg and sum",
                                          one.substr(0, 64)));
  }
  std::vector<std::pair<std::string, Aggregate>> sums;  // In the order of the first that has them.
  for (const std::vector<Metric>& metrics : all) {
    size_t next = 0;  // Most have the same ones in the same order.
    for (const auto& [name, value] : metrics) {
      auto at = sums.begin() + static_cast<ptrdiff_t>(std::min(next++, sums.size()));
      if (at == sums.end() || at->first != name)
        at = std::ranges::find(sums, name, &std::pair<std::string, Aggregate>::first);
      if (at == sums.end()) at = sums.insert(sums.end(), {name, {}});
      at->second.add(value);
    }
  }
  const Names names = names_of(wanted);
  const Names shown = names_of(aggregations);
  Json json = Json::array();
  for (const auto& [name, sum] : sums) {
    if (!wanted.empty() && !names.contains(name)) continue;
    Json entry{{"id", name}};
    for (const char* one : kAll) {
      if (!wanted.empty() && (aggregations.empty() || shown.contains(one)))
        entry[one] = sum.get(one);
    }
    json.push_back(std::move(entry));
  }
  return json;
}

Result<std::vector<uint32_t>> parse_indices(std::string_view text, uint32_t count) {
  std::vector<bool> chosen(count);
  for (const std::string& part : split_list(text)) {
    const size_t dash = part.find('-');
    ASSIGN_OR_RETURN(const uint32_t first, parse_index(part.substr(0, dash), count));
    uint32_t last = first;
    if (dash != part.npos) {
      ASSIGN_OR_RETURN(last, parse_index(part.substr(dash + 1), count));
    }
    if (last < first)
      return invalid_argument(fmt::format("'{}' ends before it begins", part.substr(0, 64)));
    std::fill(chosen.begin() + first, chosen.begin() + last + 1, true);
  }
  std::vector<uint32_t> indices;
  for (uint32_t index = 0; index < count; ++index) {
    if (chosen[index]) indices.push_back(index);
  }
  return indices;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return parts;
}

}  // namespace freshet::rest
