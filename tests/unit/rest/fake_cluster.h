#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rest/cluster_queries.h"
#include "tests/unit/graph/sample_graphs.h"

namespace freshet::rest {

/// A cluster of one TaskManager that counts words, as the test says.
class FakeCluster final : public ClusterQueries {
 public:
  static constexpr EpochMillis kNow = 100'000;

  FakeCluster() {
    GraphSketch sketch;
    const uint32_t source = sketch.source();
    sketch.at(source).name = "text";
    const uint32_t sink = sketch.sink(source, Partitioning::kRebalance);
    sketch.at(sink).name = "files";
    (void)assign_operator_ids(sketch.graph);
    job_view.graph =
        std::make_shared<const JobGraph>(*build_job_graph(sketch.graph, {.parallelism = 2}));
    job_view.now = kNow;
    job_view.summary.id = {1, 2};
    job_view.summary.name = "words";
    job_view.summary.state = JobState::kRunning;
    job_view.summary.started = 40'000;
    job_view.summary.last_modification = 45'000;
    job_view.summary.numbers.uptime_ms = 55'000;
    job_view.summary.numbers.restarts = 2;
    job_view.summary.counts[static_cast<size_t>(TaskState::kRunning)] = 3;
    job_view.summary.counts[static_cast<size_t>(TaskState::kEndOfData)] = 1;
    job_view.entered = {{JobState::kCreated, 40'000}, {JobState::kRunning, 45'000}};
    job_view.vertices = {vertex("000000000000000000000000000000aa", "Source: text"),
                         vertex("000000000000000000000000000000bb", "Sink: files")};
    job_view.vertices[0].operators = {{"Source: text", true, true}};
    job_view.settings = {{"execution.buffer-timeout.interval", "10 ms"}};
    TaskManagerView one;
    one.id = TaskManagerId{7};
    one.name = "taskmanager-1";
    one.data_host = "127.0.0.1";
    one.data_port = 4711;
    one.slots = 3;
    one.slots_free = 1;
    one.jobs = {{1, 2}, {1, 2}};
    one.numbers.process.resident_bytes = 50 << 20;
    one.numbers.network_bytes = 10 * (32 << 10);
    one.numbers.network_bytes_free = 4 * (32 << 10);
    one.numbers.managed_bytes = 96 << 20;
    one.numbers.machine = {8, uint64_t{16} << 30, uint64_t{5} << 30};
    task_manager_views.push_back(one);
  }

  static VertexView vertex(const std::string& id, const std::string& name) {
    VertexView view;
    view.id = id;
    view.name = name;
    view.parallelism = 2;
    view.max_parallelism = 128;
    view.counts[static_cast<size_t>(TaskState::kRunning)] = 2;
    for (uint32_t i = 0; i < 2; ++i) {
      SubtaskView subtask;
      subtask.index = i;
      subtask.state = TaskState::kRunning;
      subtask.task_manager = TaskManagerId{7};
      subtask.started = 45'000 + i;
      subtask.entered = {40'000, 44'000, 45'000 + i, 45'100, 45'300 + i,
                         kNever, kNever, kNever,     kNever, kNever};
      subtask.progress.records_in = 10 + i;
      subtask.progress.busy_ms = 50;
      TaskGauges& gauges = subtask.progress.gauges;
      gauges.busy_per_second = 250;
      gauges.idle_per_second = 500.f - 500.f * i;
      gauges.back_pressured_per_second = 250.f + 500.f * i;
      gauges.records_in_per_second = 0.5;
      subtask.progress.source_records = 100 * (i + 1);
      view.subtasks.push_back(subtask);
    }
    return view;
  }

  EpochMillis now() const override { return kNow; }
  /// While others ask.
  void set_state(JobState state, EpochMillis at) {
    const std::lock_guard lock(mutex);
    job_view.summary.state = state;
    job_view.entered.push_back({state, at});
  }
  Result<std::vector<JobSummaryView>> jobs() override {
    const std::lock_guard lock(mutex);
    if (!error.ok()) return error;
    return std::vector{job_view.summary};
  }
  Result<JobView> job(JobId id) override {
    const std::lock_guard lock(mutex);
    if (!error.ok()) return error;
    if (id != job_view.summary.id) return not_found("no job has the id " + id.to_string());
    return job_view;
  }
  Status cancel(JobId id) override {
    RETURN_IF_ERROR(job(id).status());
    if (is_terminal(job_view.summary.state)) return failed_precondition("it has ended already");
    cancelled.push_back(id);
    return Status();
  }
  Result<std::vector<TaskManagerView>> task_managers() override {
    if (!error.ok()) return error;
    return task_manager_views;
  }
  Result<std::vector<LogFileView>> logs(std::optional<TaskManagerId> id) override {
    const std::string stem = id ? "taskmanager-" + std::to_string(id->value) : "jobmanager";
    return std::vector<LogFileView>{{stem + ".log", 12, 99'000}, {stem + ".out", 0}};
  }
  Result<std::string> log_text(std::optional<TaskManagerId> id, const std::string& name) override {
    if (!log.empty()) return log;
    if (name == "none.log") return not_found("there is no log 'none.log'");
    return (id ? std::to_string(id->value) : "jm") + " " + name + "\n";
  }
  Result<std::vector<ThreadView>> threads(std::optional<TaskManagerId> id) override {
    const std::string name = id ? "tm-main" : "jm-main";
    return std::vector<ThreadView>{{name, "\"" + name + "\" Id=12 SLEEPING cpu=5ms"}};
  }
  std::string architecture() const override { return "x86_64"; }
  Status shut_down() override {
    shut_downs++;
    return error;
  }
  ProcessNumbers process() override { return {.cpu_load = 0.125, .threads = 9}; }
  std::vector<std::pair<std::string, std::string>> job_manager_settings() const override {
    return {{"heartbeat.interval", "2 s"}};
  }

  std::mutex mutex;
  JobView job_view;
  std::vector<TaskManagerView> task_manager_views;
  std::vector<JobId> cancelled;
  int shut_downs = 0;
  std::string log;  // Empty: a line for each.
  Status error;
};

}  // namespace freshet::rest
