// What a failure means for a job: which regions are cancelled, and when they run again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "jobmanager/job_master.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

/// What fails while it is being cancelled is decided already; nobody calls this for it.
void JobMaster::fail(TimePoint now, const TaskFailure& failure, JobCommands& commands,
                     const std::vector<uint32_t>& lost_outputs) {
  if (state_ != JobState::kRunning && state_ != JobState::kRestarting) return;
  for (const SubtaskId subtask : failure.subtasks)
    LOG_DEBUG("execution_failed",
              {{"job", id()}, {"attempt", attempt_at(graph_.index_of(subtask))}});
  for (const uint32_t index : lost_outputs)
    LOG_DEBUG("output_lost", {{"job", id()}, {"attempt", attempt_at(index)}});
  const FailoverPlan plan =
      plan_failover(graph_, failure.subtasks, lost_outputs, options_.failover);
  if (plan.regions.empty()) return;  // Nobody wants what was lost.
  cause_ = failure.cause;
  if (!failure.task_manager) cause_ = cause_.with_context(describe(failure.subtasks.front()));
  note_failure(failure, cause_);
  LOG_WARN("tasks_failed", {{"job", id()},
                            {"tasks", failure.subtasks.size()},
                            {"lost_outputs", lost_outputs.size()},
                            {"regions", plan.regions.size()},
                            {"operator", failure.operator_name},
                            {"cause", cause_}});
  if (failure.permanent || cause_.code() == StatusCode::kInvalidArgument) {
    begin_failing(now, cause_, commands);
    return;
  }
  const RestartBackoff::Decision decision = backoff_->on_failure(now);
  if (!decision.restart) {
    begin_failing(now,
                  Status(cause_.code(), fmt::format("{} (not restarted: {})", cause_.message(),
                                                    backoff_->describe())),
                  commands);
    return;
  }
  if (decision.new_round) restarts_++;
  begin_restart(now, plan, decision.delay, commands);
}

/// What was read of an earlier attempt stays, unless this one made something else.
void JobMaster::note_outputs(TimePoint now, uint32_t index, const std::vector<OutputHash>& outputs,
                             JobCommands& commands) {
  const SubtaskId subtask = graph_.subtask_at(index);
  std::vector<SubtaskId> misled;
  std::vector<uint32_t> datasets;
  for (const DatasetId dataset : graph_.outputs_of(subtask.vertex)) {
    if (!graph_.is_blocking(dataset)) continue;
    const auto made = std::find_if(outputs.begin(), outputs.end(),
                                   [&](const OutputHash& one) { return one.dataset == dataset; });
    const bool same = graph_.note_output(index, dataset, made == outputs.end() ? 0 : made->hash);
    if (same || graph_.at(index).attempt == 0) continue;
    datasets.push_back(dataset.value);
    for (const SubtaskId consumer : misled_consumers(graph_, dataset, subtask.index))
      misled.push_back(consumer);
  }
  if (misled.empty()) return;
  LOG_WARN("output_differs", {{"job", id()},
                              {"attempt", attempt_at(index)},
                              {"task", name_of(subtask)},
                              {"datasets", fmt::format("{}", fmt::join(datasets, ","))},
                              {"consumers", misled.size()}});
  begin_restart(now, plan_failover(graph_, misled, {}, options_.failover), Duration::zero(),
                commands);
}

void JobMaster::begin_restart(TimePoint now, const FailoverPlan& plan, Duration delay,
                              JobCommands& commands) {
  if (state_ != JobState::kRestarting) move(JobState::kRestarting);
  failovers_.decided++;
  LOG_INFO("job_restarts", {{"job", id()},
                            {"restart", restarts_},
                            {"regions", plan.regions.size()},
                            {"delay_ms", to_millis(delay)}});
  slot_deadline_.reset();
  if (!pending_restart_) pending_restart_ = PendingRestart{now + delay, {}};
  pending_restart_->due = std::max(pending_restart_->due, now + delay);
  add_to_restart(plan, commands);
}

void JobMaster::add_to_restart(const FailoverPlan& plan, JobCommands& commands) {
  std::vector<uint32_t> executions, finished;
  for (const uint32_t region : plan.regions) {
    finishing_.erase(region);
    for (const uint32_t index : graph_.regions().members(region)) {
      LOG_DEBUG("execution_restarts", {{"job", id()}, {"attempt", attempt_at(index)}});
      graph_.decide_restart(index);
      pending_restart_->versions.push_back({index, graph_.at(index).version});
      executions.push_back(index);
      // Of others it is their TaskManager that does it.
      if (graph_.at(index).state == TaskState::kFinished) finished.push_back(index);
    }
  }
  std::sort(executions.begin(), executions.end());
  cancel_live(executions, commands);
  release_outputs(finished, commands);
}

void JobMaster::cancel_all(JobCommands& commands) {
  std::vector<uint32_t> executions(graph_.task_count());
  for (uint32_t i = 0; i < executions.size(); i++) executions[i] = i;
  cancel_live(executions, commands);
}

void JobMaster::cancel_live(const std::vector<uint32_t>& executions, JobCommands& commands) {
  std::map<TaskManagerId, std::vector<AttemptId>> by_task_manager;
  for (const uint32_t index : executions) {
    const Execution& execution = graph_.at(index);
    if (!is_live(execution.state) || execution.state == TaskState::kCanceling) continue;
    move_task(index, TaskState::kCanceling);
    by_task_manager[execution.task_manager].push_back(attempt_at(index));
  }
  for (auto& [to, attempts] : by_task_manager) {
    commands.push_back(job_commands::CancelTasks{to, std::move(attempts)});
  }
}

void JobMaster::advance(TimePoint now, JobCommands& commands) {
  switch (state_) {
    case JobState::kFailing:
      if (graph_.live_count() == 0) end(JobState::kFailed, commands);
      return;
    case JobState::kCancelling:
      if (graph_.live_count() == 0) end(JobState::kCanceled, commands);
      return;
    case JobState::kRestarting:
      // Only what restarts is being cancelled.
      if (pending_restart_ && graph_.count(TaskState::kCanceling) == 0 &&
          now >= pending_restart_->due)
        restart(now, commands);
      return;
    default:
      return;
  }
}

void JobMaster::restart(TimePoint now, JobCommands& commands) {
  std::vector<uint32_t> regions;
  for (const auto& [index, version] : pending_restart_->versions) {
    if (graph_.at(index).version != version) continue;  // Decided anew since.
    reset(index);
    committables_.erase(index);
    const uint32_t region = graph_.regions().region_of(index);
    if (regions.empty() || regions.back() != region) regions.push_back(region);
  }
  pending_restart_.reset();
  for (auto& [id, tasks] : deployed_)
    std::erase_if(tasks, [&, to = id](uint32_t i) { return graph_.at(i).task_manager != to; });
  for (const uint32_t region : regions) schedule_.stop_region(region, /*again=*/true);
  release_partitions(commands);
  failovers_.done++;
  commands.push_back(slots_required());
  slot_deadline_ = now + options_.slot_timeout;
  start_regions(now, commands);
  if (state_ == JobState::kRestarting && graph_.live_count() > 0) move(JobState::kRunning);
}

}  // namespace freshet
