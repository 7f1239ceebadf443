#include "jobmanager/cluster_view.h"

#include <algorithm>
#include <utility>

#include "jobmanager/job_dispatcher.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/graph/json_plan.h"

namespace freshet {

namespace {

/// Wall-clock times of what the JobMaster's clock says.
class WallClock {
 public:
  explicit WallClock(const Clock& clock) : now_(clock.now()), epoch_(clock.epoch_millis()) {}
  EpochMillis at(TimePoint time) const { return epoch_ - to_millis(now_ - time); }
  EpochMillis at(const std::optional<TimePoint>& time) const { return time ? at(*time) : kNever; }
  EpochMillis now() const { return epoch_; }

 private:
  const TimePoint now_;
  const EpochMillis epoch_;
};

/// `submitted` is when first attempts were made.
SubtaskView view_of(uint32_t index, const Execution& execution, EpochMillis submitted,
                    const WallClock& clock) {
  SubtaskView view;
  view.index = index;
  view.state = execution.state;
  view.attempt = execution.attempt;
  view.task_manager = execution.task_manager;
  for (size_t state = 0; state < view.entered.size(); ++state) {
    view.entered[state] = clock.at(execution.entered[state]);
    if (is_terminal(static_cast<TaskState>(state)))
      view.ended = std::max(view.ended, view.entered[state]);
  }
  // What it stays for after that is no work of its own, and takes as long as its job.
  const EpochMillis processed = view.entered[static_cast<size_t>(TaskState::kEndOfData)];
  if (processed != kNever &&
      (execution.state == TaskState::kEndOfData || execution.state == TaskState::kFinished))
    view.ended = processed;
  view.started = view.entered[static_cast<size_t>(TaskState::kDeploying)];
  EpochMillis& created = view.entered[static_cast<size_t>(TaskState::kCreated)];
  if (created == kNever) created = submitted;
  view.progress = execution.progress;
  if (is_terminal(execution.state)) view.progress.gauges = {};  // Nothing happens any more.
  return view;
}

TaskCounts counts_of(const ExecutionGraph& graph) {
  TaskCounts counts{};
  for (size_t state = 0; state < counts.size(); ++state)
    counts[state] = graph.count(static_cast<TaskState>(state));
  for (const JobVertex& vertex : graph.job_graph().vertices) {
    if (!vertex.hidden) continue;
    for (uint32_t i = 0; i < vertex.parallelism; ++i)
      --counts[static_cast<size_t>(graph.at({vertex.id, i}).state)];
  }
  return counts;
}

VertexView view_of(const JobVertex& vertex, const ExecutionGraph& graph, EpochMillis submitted,
                   const WallClock& clock) {
  VertexView view;
  view.id = vertex_hex_id(vertex);
  view.name = vertex_description(vertex);
  view.slot_sharing_group = vertex.slot_sharing_group;
  view.parallelism = vertex.parallelism;
  view.max_parallelism = vertex.max_parallelism;
  for (size_t i = 0; i < vertex.operators.size(); ++i) {
    const ChainedOperator& one = vertex.operators[i];
    if (i == 0 || one.source)
      view.operators.push_back({operator_description(one), i == 0, one.source});
  }
  view.subtasks.reserve(vertex.parallelism);
  for (uint32_t i = 0; i < vertex.parallelism; ++i) {
    view.subtasks.push_back(view_of(i, graph.at({vertex.id, i}), submitted, clock));
    ++view.counts[static_cast<size_t>(view.subtasks.back().state)];
  }
  return view;
}

JobNumbers numbers_of(const JobMaster& job, const TaskCounts& counts, const WallClock& clock) {
  JobNumbers numbers;
  numbers.restarts = job.restarts();
  // While it publishes its results, it still runs.
  const bool runs = job.state() == JobState::kRunning || job.state() == JobState::kCommitting;
  const auto entered = job.history().entered(runs ? JobState::kRunning : job.state());
  const int64_t since = entered ? std::max<int64_t>(0, clock.now() - clock.at(*entered)) : 0;
  const auto count = [&](TaskState state) { return counts[static_cast<size_t>(state)]; };
  const bool deploys = count(TaskState::kScheduled) + count(TaskState::kDeploying) +
                           count(TaskState::kInitializing) !=
                       0;
  if (runs) {
    numbers.uptime_ms = numbers.running_ms = since;
    if (deploys) numbers.deploying_ms = since;
  }
  if (job.state() == JobState::kCreated) numbers.created_ms = since;
  if (job.state() == JobState::kRestarting) numbers.restarting_ms = since;
  if (job.state() == JobState::kFailing) numbers.failing_ms = since;
  if (job.state() == JobState::kCancelling) numbers.cancelling_ms = since;
  return numbers;
}

JobSummaryView summary_at(const JobMaster& job, const JobTimes& times, const WallClock& clock) {
  JobSummaryView view;
  view.id = job.id();
  view.name = job.submission().name;
  view.state = job.state();
  view.started = times.submitted;
  view.ended = times.ended;
  view.last_modification = clock.at(job.history().last_change());
  view.counts = counts_of(job.graph());
  view.numbers = numbers_of(job, view.counts, clock);
  return view;
}

JobTimes times_of(const JobRecord& record) {
  return {record.submitted, record.ended == 0 ? kNever : record.ended};
}

}  // namespace

JobSummaryView summary_of(const JobRecord& record, const Clock& clock) {
  return summary_at(*record.master, times_of(record), WallClock(clock));
}

JobView view_of(const JobRecord& record, const Clock& clock) {
  return view_of(*record.master, times_of(record), clock, record.graph);
}

JobView view_of(const JobMaster& job, const JobTimes& times, const Clock& machine_clock,
                std::shared_ptr<const JobGraph> graph) {
  const WallClock clock(machine_clock);
  const JobHistory& history = job.history();
  JobView view;
  view.summary = summary_at(job, times, clock);
  view.now = clock.now();
  view.batch = job.graph().job_graph().mode == RuntimeMode::kBatch;
  view.restarts = job.restarts();
  view.waiting_for = job.waiting_for();
  for (size_t i = 0; i <= static_cast<size_t>(JobState::kRestarting); ++i) {
    const auto state = static_cast<JobState>(i);
    if (const auto entered = history.entered(state))
      view.entered.push_back({state, clock.at(*entered)});
  }
  for (const JobVertex& vertex : job.graph().job_graph().vertices) {
    if (!vertex.hidden)
      view.vertices.push_back(view_of(vertex, job.graph(), times.submitted, clock));
  }
  for (const JobFailure& failure : history.failures()) {
    view.failures.push_back({clock.at(failure.at), std::string(to_string(failure.cause.code())),
                             failure.cause.message(), failure.details, failure.task,
                             failure.task_manager, failure.task_manager_id, failure.endpoint});
  }
  view.failures_truncated = history.truncated();
  view.graph = std::move(graph);
  for (const auto& [name, value] : job.submission().build.configuration) {
    if (name != config::kSecret.name) view.settings.push_back({name, value});
  }
  return view;
}

std::vector<TaskManagerView> task_managers_of(const JobDispatcher& jobs) {
  auto taken = jobs.resources().slots_taken();
  std::vector<TaskManagerView> views;
  for (const TaskManagerInfo& info : jobs.resources().task_managers()) {
    TaskManagerView view;
    view.id = info.id;
    view.name = info.name;
    view.data_host = info.data_host;
    view.data_port = info.data_port;
    view.slots = info.slots;
    view.pid = info.pid;
    view.host_id = info.host_id;
    view.log_path = info.log_path;
    view.jobs = std::move(taken[info.id]);
    const auto held = static_cast<uint32_t>(view.jobs.size());
    view.withheld = jobs.resources().is_withheld(info.id);
    view.slots_free = view.withheld ? 0 : info.slots - std::min(info.slots, held);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace freshet
