#include "runtime/rest/rest_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "runtime/base/version.h"
#include "runtime/graph/json_plan.h"
#include "runtime/rest/vertex_json.h"

namespace freshet::rest {

namespace {

constexpr TaskState kTaskStates[] = {
    TaskState::kCreated,  TaskState::kScheduled, TaskState::kDeploying, TaskState::kInitializing,
    TaskState::kRunning,  TaskState::kEndOfData, TaskState::kFinished,  TaskState::kCanceling,
    TaskState::kCanceled, TaskState::kFailed};

uint32_t count(const TaskCounts& counts, TaskState state) {
  return counts[static_cast<size_t>(state)];
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// All of Flink's task states; `name` makes a key of each.
template <class Name>
Json counts_json(const TaskCounts& counts, Name&& name) {
  Json json = Json::object();
  for (const TaskState state : kTaskStates) {
    const std::string key = name(task_state_name(state));
    if (!json.contains(key)) json[key] = 0;
    json[key] = json[key].get<uint32_t>() + count(counts, state);
  }
  json[name("RECONCILING")] = 0;
  return json;
}

}  // namespace

std::string job_state_name(JobState state) {
  return std::string(to_string(state == JobState::kCommitting ? JobState::kRunning : state));
}

std::string task_state_name(TaskState state) {
  return std::string(to_string(state == TaskState::kEndOfData ? TaskState::kFinished : state));
}

std::string vertex_state_name(const TaskCounts& counts, uint32_t parallelism) {
  for (const TaskState state : {TaskState::kFailed, TaskState::kCanceling, TaskState::kCanceled,
                                TaskState::kInitializing, TaskState::kRunning}) {
    if (count(counts, state) > 0) return task_state_name(state);
  }
  const uint32_t finished =
      count(counts, TaskState::kFinished) + count(counts, TaskState::kEndOfData);
  if (finished == 0) return task_state_name(TaskState::kCreated);
  return task_state_name(finished == parallelism ? TaskState::kFinished : TaskState::kRunning);
}

Json task_counts_json(const TaskCounts& counts) {
  return counts_json(counts, [](const std::string& name) { return name; });
}

EpochMillis duration(EpochMillis begin, EpochMillis end, EpochMillis now) {
  if (begin == kNever) return kNever;
  return std::max<EpochMillis>(0, (end == kNever ? now : end) - begin);
}

Json job_overview_json(const JobSummaryView& job, EpochMillis now) {
  uint32_t total = 0;
  for (const uint32_t one : job.counts) total += one;
  Json json;
  json["jid"] = job.id.to_string();
  json["name"] = job.name;
  json["start-time"] = job.started;
  json["end-time"] = job.ended;
  json["duration"] = duration(job.started, job.ended, now);
  json["state"] = job_state_name(job.state);
  json["last-modification"] = job.last_modification;
  json["tasks"] = counts_json(job.counts, in_lower_case);
  json["tasks"]["total"] = total;
  return json;
}

Json job_json(const JobView& job) {
  const JobSummaryView& summary = job.summary;
  Json json;
  json["jid"] = summary.id.to_string();
  json["name"] = summary.name;
  json["isStoppable"] = false;
  json["state"] = job_state_name(summary.state);
  json["job-type"] = job.batch ? "BATCH" : "STREAMING";
  json["start-time"] = summary.started;
  json["end-time"] = summary.ended;
  json["duration"] = duration(summary.started, summary.ended, job.now);
  json["maxParallelism"] = -1;
  json["now"] = job.now;
  json["timestamps"] = Json::object();
  for (const char* state : {"INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING",
                            "CANCELED", "FINISHED", "RESTARTING", "SUSPENDED", "RECONCILING"})
    json["timestamps"][state] = 0;
  json["timestamps"]["INITIALIZING"] = summary.started;  // Flink's, before it is CREATED.
  for (const auto& [state, at] : job.entered) {
    if (state != JobState::kCommitting) json["timestamps"][job_state_name(state)] = at;
  }
  json["restarts"] = job.restarts;
  json["waiting-for"] = job.waiting_for;
  json["vertices"] = Json::array();
  Json states = task_counts_json({});
  for (const VertexView& vertex : job.vertices) {
    json["vertices"].push_back(vertex_summary_json(vertex, job.now));
    Json& number = states[vertex_state_name(vertex.counts, vertex.parallelism)];
    number = number.get<uint32_t>() + 1;
  }
  json["status-counts"] = std::move(states);
  json["plan"] = Json::parse(json_plan(*job.graph, summary.id.to_string(), summary.name));
  return json;
}

Json job_exceptions_json(const JobView& job, size_t failures_max) {
  Json entries = Json::array();
  for (const FailureView& failure : job.failures) {
    if (entries.size() == failures_max) break;
    Json entry;
    entry["exceptionName"] = failure.kind;
    entry["stacktrace"] = failure.message + failure.details;
    entry["timestamp"] = failure.at;
    entry["failureLabels"] = Json::object();
    entry["taskName"] = failure.task.empty() ? Json() : Json(failure.task);
    entry["endpoint"] = failure.endpoint.empty() ? Json() : Json(failure.endpoint);
    entry["taskManagerId"] = failure.task_manager_id == TaskManagerId()
                                 ? Json()
                                 : Json(to_string(failure.task_manager_id));
    entry["concurrentExceptions"] = Json::array();
    entries.push_back(std::move(entry));
  }
  const bool truncated = job.failures_truncated || entries.size() < job.failures.size();
  return Json{{"exceptionHistory", {{"entries", std::move(entries)}, {"truncated", truncated}}}};
}

Json job_config_json(const JobView& job) {
  Json user = Json::object();
  for (const auto& [key, value] : job.settings) user[key] = value;
  return Json{{"jid", job.summary.id.to_string()},
              {"name", job.summary.name},
              {"execution-config", {{"user-config", std::move(user)}}}};
}

namespace {

int64_t megabytes(uint64_t bytes) { return static_cast<int64_t>(bytes >> 20); }

/// What its slots share, in megabytes as in Flink. Operators of batch jobs have an equal part in
/// each slot; memory for buffers is of nobody before it is used.
Json resource_json(uint64_t managed_bytes, uint64_t network_bytes) {
  return Json{{"managedMemory", megabytes(managed_bytes)},
              {"networkMemory", megabytes(network_bytes)},
              {"extendedResources", Json::object()}};
}

/// What its heartbeats say; nothing before the first.
void add_resources(const TaskManagerView& view, Json* json) {
  const TaskManagerNumbers& numbers = view.numbers;
  if (numbers.machine.cores == 0) return;
  const uint64_t free = view.slots == 0 ? 0 : numbers.managed_bytes * view.slots_free / view.slots;
  (*json)["totalResource"] = resource_json(numbers.managed_bytes, numbers.network_bytes);
  (*json)["freeResource"] = resource_json(free, numbers.network_bytes_free);
  (*json)["hardware"] = Json{{"cpuCores", numbers.machine.cores},
                             {"physicalMemory", numbers.machine.memory_bytes},
                             {"freeMemory", numbers.machine.memory_bytes_free},
                             {"managedMemory", numbers.managed_bytes}};
  (*json)["memoryConfiguration"] =
      Json{{"managedMemory", numbers.managed_bytes}, {"networkMemory", numbers.network_bytes}};
}

}  // namespace

Json task_manager_json(const TaskManagerView& view) {
  Json json;
  json["id"] = to_string(view.id);
  json["name"] = view.name;
  json["path"] = fmt::format("{}:{}", view.data_host, view.data_port);
  json["dataPort"] = view.data_port;
  json["timeSinceLastHeartbeat"] = view.last_heard;  // In Flink, too, a time and no duration.
  json["slotsNumber"] = view.slots;
  json["freeSlots"] = view.slots_free;
  add_resources(view, &json);
  json["blocked"] = view.withheld;
  json["pid"] = view.pid;
  json["allocatedSlots"] = Json::array();
  for (const JobId& job : view.jobs) json["allocatedSlots"].push_back({{"jobId", job.to_string()}});
  return json;
}

Json task_manager_details_json(const TaskManagerView& view) {
  constexpr uint64_t kSegmentBytes = 32u << 10;
  Json json = task_manager_json(view);
  const TaskManagerNumbers& numbers = view.numbers;
  if (numbers.machine.cores == 0) return json;
  const uint64_t used = numbers.network_bytes - numbers.network_bytes_free;
  json["metrics"] =
      Json{{"nettyShuffleMemorySegmentsAvailable", numbers.network_bytes_free / kSegmentBytes},
           {"nettyShuffleMemorySegmentsUsed", used / kSegmentBytes},
           {"nettyShuffleMemorySegmentsTotal", numbers.network_bytes / kSegmentBytes},
           {"nettyShuffleMemoryAvailable", numbers.network_bytes_free},
           {"nettyShuffleMemoryUsed", used},
           {"nettyShuffleMemoryTotal", numbers.network_bytes},
           {"garbageCollectors", Json::array()}};
  return json;
}

Json threads_json(const std::vector<ThreadView>& threads) {
  Json list = Json::array();
  for (const ThreadView& one : threads)
    list.push_back(Json{{"threadName", one.name}, {"stringifiedThreadInfo", one.text + "\n"}});
  return Json{{"threadInfos", std::move(list)}};
}

Json logs_json(const std::vector<LogFileView>& files) {
  Json logs = Json::array();
  for (const LogFileView& file : files) {
    Json log{{"name", file.name}, {"size", file.size_bytes}};
    if (file.modified != kNever) log["mtime"] = file.modified;
    logs.push_back(std::move(log));
  }
  return Json{{"logs", std::move(logs)}};
}

Json environment_json(const std::string& architecture,
                      const std::vector<std::pair<std::string, std::string>>& settings) {
  Json options = Json::array();
  for (const auto& [key, value] : settings) options.push_back("-D" + key + "=" + value);
  return Json{{"jvm",
               {{"version", "freshet " FRESHET_VERSION ", gcc " __VERSION__},
                {"arch", architecture},
                {"options", std::move(options)}}}};
}

Json settings_json(const std::vector<std::pair<std::string, std::string>>& settings) {
  Json json = Json::array();
  for (const auto& [key, value] : settings) json.push_back(Json{{"key", key}, {"value", value}});
  return json;
}

}  // namespace freshet::rest
