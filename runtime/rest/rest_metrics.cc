#include "runtime/rest/rest_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

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

std::vector<Metric> metrics_of(const SubtaskView& subtask) {
  const ExecutionProgress& progress = subtask.progress;
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  return {{"numRecordsIn", number(progress.records_in)},
          {"numRecordsInPerSecond", subtask.records_in_per_second},
          {"numRecordsOut", number(progress.records_out)},
          {"numRecordsOutPerSecond", subtask.records_out_per_second},
          {"numBytesIn", number(progress.bytes_in)},
          {"numBytesInPerSecond", subtask.bytes_in_per_second},
          {"numBytesOut", number(progress.bytes_out)},
          {"numBytesOutPerSecond", subtask.bytes_out_per_second},
          {"busyTimeMsPerSecond", 1000 * subtask.shares.busy},
          {"idleTimeMsPerSecond", 1000 * subtask.shares.idle},
          {"backPressuredTimeMsPerSecond", 1000 * subtask.shares.back_pressured},
          {"accumulateBusyTimeMs", number(progress.busy_ms)},
          {"accumulateIdleTimeMs", number(progress.idle_ms)},
          {"accumulateBackPressuredTimeMs", number(progress.back_pressured_ms)}};
}

std::vector<Metric> metrics_of(const JobView& job) {
  const JobSummaryView& summary = job.summary;
  // Publishing its results a job still runs, as Flink sees it.
  const bool runs = summary.state == JobState::kRunning || summary.state == JobState::kCommitting;
  double running = -1;
  for (const auto& [state, at] : job.entered) {
    if (runs && state == JobState::kRunning) running = static_cast<double>(job.now - at);
  }
  return {{"numRestarts", job.restarts}, {"uptime", running}, {"runningTime", running}};
}

Json metrics_json(const std::vector<Metric>& metrics, const std::vector<std::string>& wanted) {
  const Names names = names_of(wanted);
  Json json = Json::array();
  for (const auto& [name, value] : metrics) {
    if (wanted.empty()) {
      json.push_back(Json{{"id", name}});
    } else if (names.contains(name)) {
      json.push_back(Json{{"id", name}, {"value", value_text(value)}});
    }
  }
  return json;
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
    for (const auto& [name, value] : metrics) {
      auto at = std::find_if(sums.begin(), sums.end(),
                             [&name = name](const auto& one) { return one.first == name; });
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
