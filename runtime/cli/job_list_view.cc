#include "runtime/cli/job_list_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "runtime/cli/answer.h"
#include "runtime/cli/terminal_text.h"

namespace freshet::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Of its life, in whole percent.
uint64_t percent(uint64_t part_ms, const TaskReport& task) {
  const uint64_t life = task.busy_ms + task.idle_ms + task.back_pressured_ms;
  return life == 0 ? 0 : (100 * part_ms + life / 2) / life;
}

struct VertexSum {
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t busy_percent = 0;  // Most.
  uint64_t back_pressured_percent = 0;
};

VertexSum sum_of(std::span<const TaskReport> subtasks) {
  VertexSum sum;
  for (const TaskReport& task : subtasks) {
    sum.records_in += task.records_in;
    sum.records_out += task.records_out;
    sum.busy_percent = std::max(sum.busy_percent, percent(task.busy_ms, task));
    sum.back_pressured_percent =
        std::max(sum.back_pressured_percent, percent(task.back_pressured_ms, task));
  }
  return sum;
}

/// The tasks of each vertex, which stand together.
std::vector<std::span<const TaskReport>> by_vertex(const std::vector<TaskReport>& tasks) {
  std::vector<std::span<const TaskReport>> vertices;
  for (size_t begin = 0; begin < tasks.size();) {
    size_t end = begin + 1;
    while (end < tasks.size() &&
           tasks[end].attempt.subtask.vertex == tasks[begin].attempt.subtask.vertex)
      ++end;
    vertices.push_back(std::span(tasks).subspan(begin, end - begin));
    begin = end;
  }
  return vertices;
}

std::string name_of(TaskManagerId id, const TaskManagerNames& names) {
  if (id == TaskManagerId()) return "";
  const auto found = names.find(id);
  return found == names.end() ? to_string(id) : found->second;
}

/// Of the table of tasks.
template <class... Columns>
std::string task_line(const Columns&... columns) {
  std::string line =
      fmt::format("    {:<34} {:<12} {:>7} {:>14} {:>14} {:>5} {:>7}  {}", columns...);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

Json subtask_json(const TaskReport& task, const TaskManagerNames& names) {
  Json json;
  json["subtask"] = task.attempt.subtask.index;
  json["status"] = to_string(task.state);
  json["attempt"] = task.attempt.attempt;
  json["taskmanager-id"] = task.task_manager == TaskManagerId() ? "" : to_string(task.task_manager);
  json["taskmanager"] = name_of(task.task_manager, names);
  json["metrics"] = {{"read-bytes", task.bytes_in},
                     {"write-bytes", task.bytes_out},
                     {"read-records", task.records_in},
                     {"write-records", task.records_out},
                     {"accumulated-backpressured-time", task.back_pressured_ms},
                     {"accumulated-idle-time", task.idle_ms},
                     {"accumulated-busy-time", task.busy_ms}};
  return json;
}

Json vertices_json(const JobDetails& details, const TaskManagerNames& names) {
  Json vertices = Json::array();
  for (const auto subtasks : by_vertex(details.tasks)) {
    Json vertex;
    vertex["vertex"] = subtasks.front().attempt.subtask.vertex.value;
    vertex["name"] = subtasks.front().name;
    vertex["parallelism"] = subtasks.size();
    vertex["subtasks"] = Json::array();
    for (const TaskReport& task : subtasks) vertex["subtasks"].push_back(subtask_json(task, names));
    vertices.push_back(std::move(vertex));
  }
  return vertices;
}

}  // namespace

std::string job_list_text(const std::vector<JobReport>& jobs) {
  std::string text = fmt::format("{:<32}  {:<10}  {:>9}  {:>8}  {:>14}  {}\n", "JOB", "STATE",
                                 "TASKS", "RESTARTS", "RECORDS READ", "NAME");
  for (const JobReport& job : jobs) {
    text += fmt::format("{:<32}  {:<10}  {:>9}  {:>8}  {:>14}  {}\n", job.id.to_string(),
                        to_string(job.state),
                        fmt::format("{}/{}", job.tasks_running + job.tasks_finished, job.tasks),
                        job.restarts, job.source_records, job.name);
    if (!job.waiting_for.empty()) text += fmt::format("    waits for {}\n", job.waiting_for);
    if (!job.cause.ok()) text += fmt::format("    {}\n", terminal_text(job.cause.message()));
  }
  return text;
}

std::string task_list_text(const JobDetails& details, const TaskManagerNames& names) {
  std::string text = task_line("VERTEX, SUBTASK", "STATE", "ATTEMPT", "RECORDS IN", "RECORDS OUT",
                               "BUSY", "BACKPR.", "TASKMANAGER");
  for (const auto subtasks : by_vertex(details.tasks)) {
    const VertexSum sum = sum_of(subtasks);
    const uint32_t vertex = subtasks.front().attempt.subtask.vertex.value;
    text += task_line(fmt::format("{}: {}", vertex, terminal_line(subtasks.front().name)), "", "",
                      sum.records_in, sum.records_out, fmt::format("{} %", sum.busy_percent),
                      fmt::format("{} %", sum.back_pressured_percent), "");
    for (const TaskReport& task : subtasks) {
      text += task_line(fmt::format("  {}", to_string(task.attempt.subtask)), to_string(task.state),
                        task.attempt.attempt, task.records_in, task.records_out,
                        fmt::format("{} %", percent(task.busy_ms, task)),
                        fmt::format("{} %", percent(task.back_pressured_ms, task)),
                        name_of(task.task_manager, names));
    }
  }
  if (details.tasks.size() < details.job.tasks)
    text += fmt::format("    ... and {} tasks more\n", details.job.tasks - details.tasks.size());
  return text;
}

Json job_json(const JobReport& job) {
  Json json;
  json["jid"] = job.id.to_string();
  json["name"] = job.name;
  json["state"] = to_string(job.state);
  json["start-time"] = job.submitted;
  json["end-time"] = job.ended == 0 ? -1 : job.ended;
  json["tasks"] = {
      {"total", job.tasks}, {"running", job.tasks_running}, {"finished", job.tasks_finished}};
  json["restarts"] = job.restarts;
  json["source-records"] = job.source_records;
  json["waiting-for"] = job.waiting_for;
  json["failure-cause"] = job.cause.ok() ? "" : job.cause.message();
  return json;
}

std::string job_list_json(const std::vector<JobDetails>& jobs, bool with_tasks,
                          const TaskManagerNames& names) {
  Json list = Json::array();
  for (const JobDetails& details : jobs) {
    Json json = job_json(details.job);
    if (with_tasks) json["vertices"] = vertices_json(details, names);
    list.push_back(std::move(json));
  }
  return document_text({{"jobs", std::move(list)}});
}

}  // namespace freshet::cli
