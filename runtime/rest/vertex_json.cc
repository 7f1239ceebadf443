#include "runtime/rest/vertex_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "runtime/rest/json_text.h"

namespace freshet::rest {

namespace {

constexpr size_t kHeadBytes = 4096;    // Of an answer, besides its subtasks.
constexpr size_t kSubtaskBytes = 640;  // Usually.

constexpr TaskState kBeforeTheEnd[] = {TaskState::kCreated, TaskState::kScheduled,
                                       TaskState::kDeploying, TaskState::kInitializing,
                                       TaskState::kRunning};

struct ShownNumber {
  const char* name;
  uint64_t TaskNumbers::*number;
  const char* complete = nullptr;  // The key that says that it is.
};
constexpr ShownNumber kNumbers[] = {
    {"read-bytes", &TaskNumbers::bytes_in, "read-bytes-complete"},
    {"write-bytes", &TaskNumbers::bytes_out, "write-bytes-complete"},
    {"read-records", &TaskNumbers::records_in, "read-records-complete"},
    {"write-records", &TaskNumbers::records_out, "write-records-complete"},
    {"accumulated-backpressured-time", &TaskNumbers::back_pressured_ms},
    {"accumulated-idle-time", &TaskNumbers::idle_ms},
    {"accumulated-busy-time", &TaskNumbers::busy_ms}};

Json metrics_json(const ExecutionProgress& progress) {
  Json json;
  for (const ShownNumber& one : kNumbers) {
    json[one.name] = progress.*one.number;
    if (one.complete != nullptr) json[one.complete] = true;
  }
  return json;
}

void add_metrics(const ExecutionProgress& progress, JsonText& text) {
  text.begin_object("metrics");
  for (const ShownNumber& one : kNumbers) {
    text.add(one.name, progress.*one.number);
    if (one.complete != nullptr) text.add(one.complete, true);
  }
  text.end_object();
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
  for (const ShownNumber& shown : kNumbers) {
    std::vector<int64_t> values;
    for (const SubtaskView& one : subtasks)
      values.push_back(static_cast<int64_t>(one.progress.*shown.number));
    metrics[shown.name] = statistics_json(std::move(values));
  }
  Json durations = Json::object();
  for (const TaskState state : kBeforeTheEnd) {
    std::vector<int64_t> values;
    for (const SubtaskView& one : subtasks) values.push_back(duration_in(one, state, now));
    durations[task_state_name(state)] = statistics_json(std::move(values));
  }
  return Json{{"metrics", std::move(metrics)}, {"status-duration", std::move(durations)}};
}

/// Where TaskManagers are.
class Endpoints {
 public:
  explicit Endpoints(const std::vector<TaskManagerView>& task_managers) {
    for (const TaskManagerView& one : task_managers)
      places_[one.id] = fmt::format("{}:{}", one.data_host, one.data_port);
  }
  std::string_view of(TaskManagerId id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? std::string_view("(unassigned)") : found->second;
  }

 private:
  std::map<TaskManagerId, std::string> places_;
};

std::string id_of(TaskManagerId id) {
  return id == TaskManagerId() ? "(unassigned)" : to_string(id);
}

/// With the subtasks that it has.
Json task_manager_of_vertex_json(TaskManagerId id, const std::vector<SubtaskView>& subtasks,
                                 EpochMillis now, const Endpoints& endpoints) {
  TaskCounts counts{};
  for (const SubtaskView& one : subtasks) ++counts[static_cast<size_t>(one.state)];
  const auto [begin, end] = times_of(subtasks);
  Json json;
  json["endpoint"] = endpoints.of(id);
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

/// Without its bracket at the beginning.
void add_subtask(const SubtaskView& subtask, EpochMillis now, const Endpoints& endpoints,
                 JsonText& text) {
  text.add("subtask", subtask.index)
      .add("status", task_state_name(subtask.state))
      .add("attempt", subtask.attempt)
      .add("endpoint", endpoints.of(subtask.task_manager))
      .add("start-time", subtask.started)
      .add("end-time", subtask.ended)
      .add("duration", duration(subtask.started, subtask.ended, now));
  add_metrics(subtask.progress, text);
  text.add("taskmanager-id", id_of(subtask.task_manager)).begin_object("status-duration");
  for (const TaskState state : kBeforeTheEnd)
    text.add(task_state_name(state), duration_in(subtask, state, now));
  text.end_object().end_object();
}

/// When it came to each state; 0 for those that it did not come to.
void add_times(const SubtaskView& subtask, JsonText& text) {
  const auto entered = [&](TaskState state) {
    return std::max<EpochMillis>(0, subtask.entered[static_cast<size_t>(state)]);
  };
  text.begin_object("timestamps");
  for (const TaskState state : kBeforeTheEnd) text.add(task_state_name(state), entered(state));
  const EpochMillis finished = entered(TaskState::kFinished);
  text.add("FINISHED", finished != 0 ? finished : entered(TaskState::kEndOfData));
  for (const TaskState state : {TaskState::kCanceling, TaskState::kCanceled, TaskState::kFailed})
    text.add(task_state_name(state), entered(state));
  text.add("RECONCILING", int64_t{0}).end_object();
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

std::string subtask_text(const SubtaskView& subtask, EpochMillis now,
                         const std::vector<TaskManagerView>& task_managers) {
  JsonText text;
  add_subtask(subtask, now, Endpoints(task_managers), text.begin_object());
  return text.take();
}

std::string vertex_text(const JobView& job, const VertexView& vertex,
                        const std::vector<TaskManagerView>& task_managers) {
  const Endpoints endpoints(task_managers);
  JsonText text;
  text.reserve(kHeadBytes + kSubtaskBytes * vertex.subtasks.size());
  text.begin_object()
      .add("id", vertex.id)
      .add("name", vertex.name)
      .add("parallelism", vertex.parallelism)
      .add("maxParallelism", vertex.max_parallelism)
      .add("now", job.now)
      .begin_array("subtasks");
  for (const SubtaskView& one : vertex.subtasks)
    add_subtask(one, job.now, endpoints, text.begin_object());
  text.end_array().add_json("aggregated", aggregated_json(vertex.subtasks, job.now)).end_object();
  return text.take();
}

std::string subtask_times_text(const JobView& job, const VertexView& vertex,
                               const std::vector<TaskManagerView>& task_managers) {
  const Endpoints endpoints(task_managers);
  JsonText text;
  text.reserve(kHeadBytes + kSubtaskBytes / 2 * vertex.subtasks.size());
  text.begin_object().add("id", vertex.id).add("name", vertex.name).add("now", job.now);
  text.begin_array("subtasks");
  for (const SubtaskView& one : vertex.subtasks) {
    text.begin_object()
        .add("subtask", one.index)
        .add("endpoint", endpoints.of(one.task_manager))
        .add("duration", duration(one.started, one.ended, job.now));
    add_times(one, text);
    text.end_object();
  }
  text.end_array().end_object();
  return text.take();
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
  const Endpoints endpoints(task_managers);
  Json json{{"id", vertex.id}, {"name", vertex.name}, {"now", job.now}};
  json["taskmanagers"] = Json::array();
  for (const TaskManagerId id : order)
    json["taskmanagers"].push_back(
        task_manager_of_vertex_json(id, by_place[id], job.now, endpoints));
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
