#include "runtime/rest/vertex_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace freshet::rest {

namespace {

constexpr TaskState kBeforeTheEnd[] = {TaskState::kCreated, TaskState::kScheduled,
                                       TaskState::kDeploying, TaskState::kInitializing,
                                       TaskState::kRunning};

constexpr std::pair<const char*, uint64_t TaskNumbers::*> kTypical[] = {
    {"read-bytes", &TaskNumbers::bytes_in},
    {"write-bytes", &TaskNumbers::bytes_out},
    {"read-records", &TaskNumbers::records_in},
    {"write-records", &TaskNumbers::records_out},
    {"accumulated-backpressured-time", &TaskNumbers::back_pressured_ms},
    {"accumulated-idle-time", &TaskNumbers::idle_ms},
    {"accumulated-busy-time", &TaskNumbers::busy_ms}};

Json metrics_json(const ExecutionProgress& progress) {
  return Json{{"read-bytes", progress.bytes_in},
              {"read-bytes-complete", true},
              {"write-bytes", progress.bytes_out},
              {"write-bytes-complete", true},
              {"read-records", progress.records_in},
              {"read-records-complete", true},
              {"write-records", progress.records_out},
              {"write-records-complete", true},
              {"accumulated-backpressured-time", progress.back_pressured_ms},
              {"accumulated-idle-time", progress.idle_ms},
              {"accumulated-busy-time", progress.busy_ms}};
}

ExecutionProgress sum_of(const std::vector<SubtaskView>& subtasks) {
  ExecutionProgress sum;
  for (const SubtaskView& one : subtasks) {
    sum.records_in += one.progress.records_in;
    sum.records_out += one.progress.records_out;
    sum.bytes_in += one.progress.bytes_in;
    sum.bytes_out += one.progress.bytes_out;
    sum.busy_ms += one.progress.busy_ms;
    sum.idle_ms += one.progress.idle_ms;
    sum.back_pressured_ms += one.progress.back_pressured_ms;
  }
  return sum;
}

/// Of the first that started and the last that ended, if all have.
std::pair<EpochMillis, EpochMillis> times_of(const std::vector<SubtaskView>& subtasks) {
  EpochMillis begin = kNever;
  EpochMillis end = kNever;
  bool all_ended = true;
  for (const SubtaskView& one : subtasks) {
    if (one.started != kNever && (begin == kNever || one.started < begin)) begin = one.started;
    all_ended = all_ended && one.ended != kNever;
    end = std::max(end, one.ended);
  }
  return {begin, all_ended ? end : kNever};
}

/// How long the attempt was, or is, in a state; kNever: it did not come to it.
EpochMillis duration_in(const SubtaskView& subtask, TaskState state, EpochMillis now) {
  const auto at = static_cast<size_t>(state);
  EpochMillis end = kNever;
  for (size_t later = at + 1; later < subtask.entered.size(); ++later) {
    const EpochMillis entered = subtask.entered[later];
    if (entered != kNever && (end == kNever || entered < end)) end = entered;
  }
  return duration(subtask.entered[at], end, now);
}

/// Of values in ascending order, between the two that are nearest.
int64_t percentile(const std::vector<int64_t>& sorted, double percent) {
  const double place = percent / 100 * static_cast<double>(sorted.size() + 1);
  if (place < 1) return sorted.front();
  if (place >= static_cast<double>(sorted.size())) return sorted.back();
  const auto below = static_cast<size_t>(place);
  const auto low = static_cast<double>(sorted[below - 1]);
  const auto high = static_cast<double>(sorted[below]);
  return static_cast<int64_t>(low + (place - static_cast<double>(below)) * (high - low));
}

Json statistics_json(std::vector<int64_t> values) {
  std::ranges::sort(values);
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  if (values.empty()) values.push_back(0);
  Json json;
  json["min"] = values.front();
  json["max"] = values.back();
  json["avg"] = sum / static_cast<int64_t>(values.size());
  json["sum"] = sum;
  for (const auto& [name, percent] :
       {std::pair("median", 50), {"p25", 25}, {"p75", 75}, {"p95", 95}})
    json[name] = percentile(values, percent);
  return json;
}

/// Of each number and each duration of subtasks, what is typical.
Json aggregated_json(const std::vector<SubtaskView>& subtasks, EpochMillis now) {
  Json metrics = Json::object();
  for (const auto& [name, member] : kTypical) {
    std::vector<int64_t> values;
    for (const SubtaskView& one : subtasks)
      values.push_back(static_cast<int64_t>(one.progress.*member));
    metrics[name] = statistics_json(std::move(values));
  }
  Json durations = Json::object();
  for (const TaskState state : kBeforeTheEnd) {
    std::vector<int64_t> values;
    for (const SubtaskView& one : subtasks) values.push_back(duration_in(one, state, now));
    durations[task_state_name(state)] = statistics_json(std::move(values));
  }
  return Json{{"metrics", std::move(metrics)}, {"status-duration", std::move(durations)}};
}

std::string endpoint_of(TaskManagerId id, const std::vector<TaskManagerView>& task_managers) {
  for (const TaskManagerView& one : task_managers) {
    if (one.id == id) return fmt::format("{}:{}", one.data_host, one.data_port);
  }
  return "(unassigned)";
}

std::string id_of(TaskManagerId id) {
  return id == TaskManagerId() ? "(unassigned)" : to_string(id);
}

/// With the subtasks that it has.
Json task_manager_of_vertex_json(TaskManagerId id, const std::vector<SubtaskView>& subtasks,
                                 EpochMillis now,
                                 const std::vector<TaskManagerView>& task_managers) {
  TaskCounts counts{};
  for (const SubtaskView& one : subtasks) ++counts[static_cast<size_t>(one.state)];
  const auto [begin, end] = times_of(subtasks);
  Json json;
  json["endpoint"] = endpoint_of(id, task_managers);
  json["status"] = vertex_state_name(counts, static_cast<uint32_t>(subtasks.size()));
  json["start-time"] = begin;
  json["end-time"] = end;
  json["duration"] = duration(begin, end, now);
  json["metrics"] = metrics_json(sum_of(subtasks));
  json["status-counts"] = task_counts_json(counts);
  json["taskmanager-id"] = id_of(id);
  json["aggregated"] = aggregated_json(subtasks, now);
  return json;
}

Json vertex_head_json(const JobView& job, const VertexView& vertex) {
  return Json{{"id", vertex.id}, {"name", vertex.name}, {"now", job.now}};
}

}  // namespace

std::string back_pressure_level(double share) {
  if (share <= 0.1) return "ok";
  return share <= 0.5 ? "low" : "high";
}

Json vertex_summary_json(const VertexView& vertex, EpochMillis now) {
  const auto [begin, end] = times_of(vertex.subtasks);
  Json json;
  json["id"] = vertex.id;
  json["slotSharingGroupId"] = vertex.slot_sharing_group;
  json["name"] = vertex.name;
  json["maxParallelism"] = vertex.max_parallelism;
  json["parallelism"] = vertex.parallelism;
  json["status"] = vertex_state_name(vertex.counts, vertex.parallelism);
  json["start-time"] = begin;
  json["end-time"] = end;
  json["duration"] = duration(begin, end, now);
  json["tasks"] = task_counts_json(vertex.counts);
  json["metrics"] = metrics_json(sum_of(vertex.subtasks));
  return json;
}

Json subtask_json(const SubtaskView& subtask, EpochMillis now,
                  const std::vector<TaskManagerView>& task_managers) {
  Json json;
  json["subtask"] = subtask.index;
  json["status"] = task_state_name(subtask.state);
  json["attempt"] = subtask.attempt;
  json["endpoint"] = endpoint_of(subtask.task_manager, task_managers);
  json["start-time"] = subtask.started;
  json["end-time"] = subtask.ended;
  json["duration"] = duration(subtask.started, subtask.ended, now);
  json["metrics"] = metrics_json(subtask.progress);
  json["taskmanager-id"] = id_of(subtask.task_manager);
  json["status-duration"] = Json::object();
  for (const TaskState state : kBeforeTheEnd)
    json["status-duration"][task_state_name(state)] = duration_in(subtask, state, now);
  return json;
}

Json vertex_json(const JobView& job, const VertexView& vertex,
                 const std::vector<TaskManagerView>& task_managers) {
  Json json;
  json["id"] = vertex.id;
  json["name"] = vertex.name;
  json["parallelism"] = vertex.parallelism;
  json["maxParallelism"] = vertex.max_parallelism;
  json["now"] = job.now;
  json["subtasks"] = Json::array();
  for (const SubtaskView& one : vertex.subtasks)
    json["subtasks"].push_back(subtask_json(one, job.now, task_managers));
  json["aggregated"] = aggregated_json(vertex.subtasks, job.now);
  return json;
}

Json subtask_times_json(const JobView& job, const VertexView& vertex,
                        const std::vector<TaskManagerView>& task_managers) {
  Json json = vertex_head_json(job, vertex);
  json["subtasks"] = Json::array();
  for (const SubtaskView& one : vertex.subtasks) {
    Json times = task_counts_json({});  // Every state, with 0 for those that it did not come to.
    for (size_t i = 0; i < one.entered.size(); ++i) {
      if (one.entered[i] != kNever)
        times[task_state_name(static_cast<TaskState>(i))] = one.entered[i];
    }
    json["subtasks"].push_back(Json{{"subtask", one.index},
                                    {"endpoint", endpoint_of(one.task_manager, task_managers)},
                                    {"duration", duration(one.started, one.ended, job.now)},
                                    {"timestamps", std::move(times)}});
  }
  return json;
}

Json vertex_task_managers_json(const JobView& job, const VertexView& vertex,
                               const std::vector<TaskManagerView>& task_managers) {
  std::vector<TaskManagerId> order;
  std::map<TaskManagerId, std::vector<SubtaskView>> by_place;
  for (const SubtaskView& one : vertex.subtasks) {
    std::vector<SubtaskView>& there = by_place[one.task_manager];
    if (there.empty()) order.push_back(one.task_manager);
    there.push_back(one);
  }
  Json json = vertex_head_json(job, vertex);
  json["taskmanagers"] = Json::array();
  for (const TaskManagerId id : order)
    json["taskmanagers"].push_back(
        task_manager_of_vertex_json(id, by_place[id], job.now, task_managers));
  return json;
}

Json back_pressure_json(const VertexView& vertex, EpochMillis now) {
  double most = 0;
  Json subtasks = Json::array();
  for (const SubtaskView& one : vertex.subtasks) {
    const TaskGauges& gauges = one.progress.gauges;
    const auto ratio = [](float millis_per_second) { return millis_per_second / 1000.0; };
    const double waited = ratio(gauges.back_pressured_per_second);
    most = std::max(most, waited);
    subtasks.push_back(Json{{"subtask", one.index},
                            {"attempt-number", one.attempt},
                            {"backpressureLevel", back_pressure_level(waited)},
                            {"ratio", waited},
                            {"idleRatio", ratio(gauges.idle_per_second)},
                            {"busyRatio", ratio(gauges.busy_per_second)}});
  }
  Json json;
  json["status"] = "ok";
  json["backpressureLevel"] = back_pressure_level(most);
  json["end-timestamp"] = now;
  json["subtasks"] = std::move(subtasks);
  return json;
}

}  // namespace freshet::rest
