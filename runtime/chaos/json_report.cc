#include "runtime/chaos/json_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace freshet::chaos {

namespace {

using Json = nlohmann::ordered_json;  // Keys stay as they are written here.

template <class Number>
Json or_null(const std::optional<Number>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Three places are enough, and the same everywhere.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Json json_of(const Spread& spread) {
  return {{"count", spread.count},
          {"p50", rounded(spread.p50)},
          {"p95", rounded(spread.p95)},
          {"max", rounded(spread.max)}};
}

Json json_of(const VerdictRecord& verdict) {
  Json examples = Json::array();
  for (const auto& example : verdict.examples) {
    examples.push_back(
        {{"what", example.what}, {"record", example.record}, {"instead", example.instead}});
  }
  return {{"known", verdict.known},         {"exact", verdict.exact},
          {"expected", verdict.expected},   {"seen", verdict.seen},
          {"lost", verdict.lost},           {"doubled", verdict.doubled},
          {"altered", verdict.altered},     {"invented", verdict.invented},
          {"method", verdict.method},       {"summary", verdict.summary},
          {"examples", std::move(examples)}};
}

Json json_of(const FaultRecord& fault) {
  Json phases;
  for (size_t i = 0; i < kPhases; i++) {
    const auto phase = static_cast<Phase>(i);
    phases[std::string(to_string(phase))] = or_null(fault.times.of(phase));
  }
  return {{"number", fault.number},
          {"kind", fault.kind},
          {"target", fault.target},
          {"text", fault.text},
          {"planned_ms", or_null(fault.planned)},
          {"fired_ms", or_null(fault.fired)},
          {"lifted_ms", or_null(fault.lifted)},
          {"job_state", fault.job_state},
          {"end", to_string(fault.end)},
          {"merged_with", fault.merged_with},
          {"why", fault.why},
          {"phases_ms", std::move(phases)},
          {"tasks_restarted", fault.tasks_restarted},
          {"restarted", fault.restarted},
          {"records_reprocessed", fault.records_reprocessed}};
}

Json json_of(const RunSummary& summary) {
  Json phases;
  for (size_t i = 0; i < kPhases; i++)
    phases[std::string(to_string(static_cast<Phase>(i)))] = json_of(summary.phases[i]);
  return {{"fired", summary.fired},
          {"recovered", summary.recovered},
          {"phases_ms", std::move(phases)},
          {"tasks_restarted", json_of(summary.tasks_restarted)},
          {"records_reprocessed", json_of(summary.records_reprocessed)},
          {"latency_p95_ms", json_of(summary.latency_p95_ms)},
          {"latency_max_ms", rounded(summary.latency_max_ms)},
          {"source_per_second", rounded(summary.source_per_second)}};
}

Json json_of(const SeriesPoint& point) {
  Json json = {{"at_ms", point.at},
               {"source_per_second", rounded(point.source_per_second)},
               {"sink_per_second", rounded(point.sink_per_second)},
               {"source_records", point.source_records},
               {"sink_records", point.sink_records},
               {"tasks_running", point.tasks_running},
               {"latency_ms", nullptr}};
  if (point.latency) {
    json["latency_ms"] = {{"p50", rounded(point.latency->p50_ms)},
                          {"p95", rounded(point.latency->p95_ms)},
                          {"max", rounded(point.latency->max_ms)}};
  }
  return json;
}

Json json_of(const RunRecord& run) {
  Json faults = Json::array(), restarts = Json::array(), series = Json::array();
  for (const FaultRecord& fault : run.faults) faults.push_back(json_of(fault));
  for (const RestartRecord& one : run.restarted) {
    restarts.push_back({{"begun_ms", one.begun},
                        {"ended_ms", or_null(one.ended)},
                        {"tasks", one.tasks},
                        {"cause", one.cause}});
  }
  for (const SeriesPoint& point : run.series) series.push_back(json_of(point));
  return {{"strategy", run.strategy},
          {"exit_code", run.exit_code},
          {"problem", run.problem},
          {"job_state", run.job_state},
          {"length_ms", run.length},
          {"reference_length_ms", run.reference_length},
          {"tasks", run.tasks},
          {"restarts", run.restarts},
          {"scheduled", run.scheduled},
          {"verdict", json_of(run.verdict)},
          {"summary", json_of(summarize(run))},
          {"faults", std::move(faults)},
          {"restarted", std::move(restarts)},
          {"series", std::move(series)}};
}

}  // namespace

std::string json_report(const ChaosRecord& record) {
  Json runs = Json::array();
  for (const RunRecord& run : record.runs) runs.push_back(json_of(run));
  const Json json = {{"version", record.version},
                     {"started", record.started},
                     {"command", record.command},
                     {"exit_code", record.exit_code},
                     {"interrupted", record.interrupted},
                     {"seed", record.seed},
                     {"plan", record.plan},
                     {"job",
                      {{"name", record.job},
                       {"module", record.module},
                       {"mode", record.mode},
                       {"arguments", record.arguments},
                       {"parallelism", record.parallelism}}},
                     {"cluster",
                      {{"task_managers", record.task_managers},
                       {"slots", record.slots},
                       {"settings", record.settings}}},
                     {"runs", std::move(runs)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace freshet::chaos
