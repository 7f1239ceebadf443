#include "runtime/chaos/run_record.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/check.h"

namespace freshet::chaos {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kDetect:
      return "detect";
    case Phase::kCancel:
      return "cancel";
    case Phase::kRedeploy:
      return "redeploy";
    case Phase::kRestore:
      return "restore";
    case Phase::kFirstRecord:
      return "first_record";
    case Phase::kCaughtUp:
      return "caught_up";
  }
  check_failed(__FILE__, __LINE__, "a value of the enumeration");
}

const std::optional<int64_t>& RecoveryTimes::of(Phase phase) const {
  switch (phase) {
    case Phase::kDetect:
      return detect;
    case Phase::kCancel:
      return cancel;
    case Phase::kRedeploy:
      return redeploy;
    case Phase::kRestore:
      return restore;
    case Phase::kFirstRecord:
      return first_record;
    case Phase::kCaughtUp:
      return caught_up;
  }
  check_failed(__FILE__, __LINE__, "a value of the enumeration");
}

std::optional<int64_t>& RecoveryTimes::of(Phase phase) {
  return const_cast<std::optional<int64_t>&>(std::as_const(*this).of(phase));
}

std::string_view to_string(FaultEnd end) {
  switch (end) {
    case FaultEnd::kNotFired:
      return "not fired";
    case FaultEnd::kHarmless:
      return "harmless";
    case FaultEnd::kRecovered:
      return "recovered";
    case FaultEnd::kMerged:
      return "merged";
    case FaultEnd::kNotRecovered:
      return "not recovered";
  }
  check_failed(__FILE__, __LINE__, "a value of the enumeration");
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double part) {
    const auto place = static_cast<size_t>(std::ceil(part * static_cast<double>(values.size())));
    return values[std::max<size_t>(place, 1) - 1];
  };
  return {values.size(), rank(0.5), rank(0.95), values.back()};
}

RunSummary summarize(const RunRecord& run) {
  RunSummary summary;
  std::vector<double> phases[kPhases], reprocessed, restarted, latencies;
  for (const FaultRecord& fault : run.faults) {
    if (fault.fired) summary.fired++;
    if (fault.end == FaultEnd::kNotFired || fault.end == FaultEnd::kNotRecovered) continue;
    summary.recovered++;
    if (fault.end != FaultEnd::kRecovered) continue;
    for (size_t i = 0; i < kPhases; i++) {
      const auto& time = fault.times.of(static_cast<Phase>(i));
      if (time) phases[i].push_back(static_cast<double>(*time));
    }
    reprocessed.push_back(static_cast<double>(fault.records_reprocessed));
    restarted.push_back(fault.tasks_restarted);
  }
  double records = 0;
  RunMillis before = 0;
  for (const SeriesPoint& point : run.series) {
    records += point.source_per_second * static_cast<double>(point.at - before) / 1000;
    before = point.at;
    if (!point.latency) continue;
    latencies.push_back(point.latency->p95_ms);
    summary.latency_max_ms = std::max(summary.latency_max_ms, point.latency->max_ms);
  }
  for (size_t i = 0; i < kPhases; i++) summary.phases[i] = spread_of(std::move(phases[i]));
  summary.records_reprocessed = spread_of(std::move(reprocessed));
  summary.tasks_restarted = spread_of(std::move(restarted));
  summary.latency_p95_ms = spread_of(std::move(latencies));
  if (before > 0) summary.source_per_second = records * 1000 / static_cast<double>(before);
  return summary;
}

}  // namespace freshet::chaos
