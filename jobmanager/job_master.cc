#include "jobmanager/job_master.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "network/transport.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

JobMaster::JobMaster(Options options, std::unique_ptr<RestartBackoff> backoff)
    : options_(std::move(options)),
      backoff_(std::move(backoff)),
      graph_(options_.submission.graph, options_.cycles),
      schedule_(graph_) {}

JobCommands JobMaster::start(TimePoint now) {
  CHECK(state_ == JobState::kCreated && !slot_deadline_);
  set_now(now);
  history_.note_state(now, state_);
  JobCommands commands;
  LOG_INFO("job_submitted", {{"job", id()},
                             {"name", options_.submission.name},
                             {"tasks", graph_.task_count()},
                             {"regions", graph_.regions().count()},
                             {"slots", schedule_.slots_needed()}});
  note_slot_wait(now, commands);
  return commands;
}

// ---- TaskManagers ----

JobCommands JobMaster::on_task_manager_registered(TimePoint now, const TaskManagerInfo& info) {
  set_now(now);
  JobCommands commands;
  const auto it = std::find(task_managers_.begin(), task_managers_.end(), info.id);
  if (it == task_managers_.end()) task_managers_.push_back(info.id);
  known_[info.id] = info;
  if (state_ == JobState::kCommitting) pursue_commit(now, commands);
  return commands;
}

JobCommands JobMaster::on_task_manager_lost(TimePoint now, TaskManagerId lost,
                                            const TaskManagerLoss& loss) {
  set_now(now);
  JobCommands commands;
  TaskFailure failure;
  failure.task_manager = lost;
  failure.task_manager_text = describe(lost);
  failure.endpoint = endpoint_of(lost);
  std::erase(task_managers_, lost);
  known_.erase(lost);
  if (is_terminal(state_)) return commands;
  blame(loss, &failure);
  Loss gone = take_away(lost);
  failure.subtasks = std::move(gone.failed);
  if (state_ == JobState::kCommitting) {
    commits_.on_task_manager_lost(lost);
    if (!failure.permanent) {
      pursue_commit(now, commands);
    } else {
      note_failure(failure, failure.cause);
      begin_failing(now, failure.cause, commands);
    }
    return commands;
  }
  fail(now, failure, commands, gone.outputs);
  advance(now, commands);
  start_regions(now, commands);  // A region may have finished with it.
  return commands;
}

void JobMaster::blame(const TaskManagerLoss& loss, TaskFailure* failure) {
  const std::string& who = failure->task_manager_text;
  failure->cause = unavailable(loss.why.message()).with_context(who + " was lost");
  if (!loss.crash) return;
  const CrashReport& crash = *loss.crash;
  const bool ours = crash.job == id();
  const bool known = ours && crash.attempt && graph_.contains(crash.attempt->subtask);
  const std::string task = known ? name_of(crash.attempt->subtask) : "";
  std::string text = describe_crash(crash, id(), task, who);
  failure->details = crash_frames_text(crash);
  if (ours) {
    failure->operator_name = crash.code_name;
    failure->permanent = crash_limit_.on_crash(now_, crash);
  }
  if (failure->permanent) {
    text +=
        fmt::format(" (not restarted: it did so {} times within an hour)", CrashLimit::kCrashesMax);
  }
  failure->cause = ours ? user_error(text) : unavailable(text);
}

JobCommands JobMaster::on_hosted(TimePoint now, TaskManagerId from,
                                 std::span<const AttemptId> hosted) {
  set_now(now);
  JobCommands commands;
  if (is_terminal(state_)) return commands;
  std::vector<AttemptId> sorted(hosted.begin(), hosted.end());
  std::sort(sorted.begin(), sorted.end());
  job_commands::CancelTasks unknown{from, {}};
  for (const AttemptId& attempt : sorted) {
    if (current(from, attempt) == nullptr) unknown.attempts.push_back(attempt);
  }
  if (!unknown.attempts.empty()) {
    LOG_WARN("unknown_tasks_canceled",
             {{"job", id()}, {"task_manager", from}, {"tasks", unknown.attempts.size()}});
    commands.push_back(std::move(unknown));
  }
  const auto tasks = deployed_.find(from);
  if (tasks == deployed_.end() || state_ == JobState::kCommitting) return commands;
  TaskFailure failure;
  failure.cause = unavailable(describe(from) + " does not run tasks any more that it had started");
  for (const uint32_t index : tasks->second) {
    const Execution& execution = graph_.at(index);
    const AttemptId attempt = attempt_at(index);
    if (!execution.acknowledged || !is_live(execution.state) ||
        std::binary_search(sorted.begin(), sorted.end(), attempt)) {
      continue;
    }
    if (is_done(index)) {
      move_to_finished(index);
      continue;
    }
    if (execution.state != TaskState::kCanceling) failure.subtasks.push_back(attempt.subtask);
    move_task(index, TaskState::kFailed);
  }
  if (!failure.subtasks.empty()) fail(now, failure, commands);
  advance(now, commands);
  start_regions(now, commands);
  return commands;
}

// ---- Reports of tasks ----

const Execution* JobMaster::current(TaskManagerId from, const AttemptId& attempt) const {
  if (attempt.job != id() || !graph_.contains(attempt.subtask)) return nullptr;
  const Execution& execution = graph_.at(attempt.subtask);
  const bool same = execution.attempt == attempt.attempt && is_live(execution.state) &&
                    execution.task_manager == from;
  return same ? &execution : nullptr;
}

JobCommands JobMaster::on_task_state(TimePoint now, TaskManagerId from, TaskStateReport report) {
  set_now(now);
  JobCommands commands;
  const Execution* execution = current(from, report.attempt);
  if (execution == nullptr || is_terminal(state_)) return commands;
  const uint32_t index = graph_.index_of(report.attempt.subtask);
  graph_.acknowledge(index);
  if (report.progress) graph_.set_counts(index, *report.progress);
  if (state_ == JobState::kCommitting) return commands;  // All have their result in the ledger.
  const bool canceling = execution->state == TaskState::kCanceling;
  switch (report.state) {
    case TaskState::kInitializing:
    case TaskState::kRunning:
    case TaskState::kEndOfData: {
      if (canceling || report.state <= execution->state) break;
      while (execution->state != report.state) {
        move_task(index, static_cast<TaskState>(static_cast<uint8_t>(execution->state) + 1));
      }
      deployed_once_ = deployed_once_ || all_have_run();
      if (report.state == TaskState::kEndOfData) {
        on_end_of_data(now, index, std::move(report), commands);
      }
      break;
    }
    case TaskState::kCanceled:
    case TaskState::kFailed: {
      const bool failed = report.state == TaskState::kFailed;
      move_task(index, failed || !canceling ? TaskState::kFailed : TaskState::kCanceled);
      if (!canceling) {
        const Status cause = failed ? report.cause : aborted("was canceled by its TaskManager");
        fail(now, {{report.attempt.subtask}, cause, report.operator_name, {}, {}, {}}, commands);
      }
      advance(now, commands);
      break;
    }
    case TaskState::kFinished:
      if (canceling) {  // It had been told to finish before.
        move_task(index, TaskState::kCanceled);
        release_outputs({index}, commands);
        advance(now, commands);
      } else if (is_finishing(index)) {
        on_finished(now, index, commands);
      }
      break;
    default:
      LOG_WARN("task_state_ignored",
               {{"job", id()}, {"attempt", report.attempt}, {"state", to_string(report.state)}});
  }
  return commands;
}

void JobMaster::on_progress(TimePoint now, TaskManagerId from, const AttemptId& attempt,
                            const ExecutionProgress& progress) {
  set_now(now);
  const Execution* execution = current(from, attempt);
  if (execution == nullptr) return;
  const uint32_t index = graph_.index_of(attempt.subtask);
  note_inputs_read(index, progress.inputs_read & ~execution->progress.inputs_read);
  graph_.set_progress(index, progress);
}

void JobMaster::note_inputs_read(uint32_t index, uint64_t inputs) {
  const auto all = graph_.inputs_of(graph_.subtask_at(index).vertex);
  for (size_t i = 0; i < std::min<size_t>(all.size(), 64) && inputs >> i != 0; i++) {
    const bool is_new = (inputs >> i & 1) != 0 && graph_.is_blocking(all[i]) &&
                        graph_.note_input_read(index, all[i]);
    if (!is_new) continue;
    LOG_DEBUG("input_read",
              {{"job", id()}, {"attempt", attempt_at(index)}, {"dataset", all[i].value}});
  }
}

JobCommands JobMaster::on_channels_lost(TimePoint now, TaskManagerId from,
                                        const ChannelsLostReport& report) {
  set_now(now);
  JobCommands commands;
  const bool alive =
      std::count(task_managers_.begin(), task_managers_.end(), report.producer_task_manager) > 0;
  // Wrong bytes are the failure itself: no other report explains them.
  const bool patient = alive && !report.output_gone();
  PendingLoss loss{now + (patient ? kLossPatience : Duration::zero()), from, report};
  if (!matters(loss)) return commands;
  std::erase_if(losses_, [this](const PendingLoss& old) { return !matters(old); });
  const auto same = std::find_if(losses_.begin(), losses_.end(), [&](const PendingLoss& old) {
    return old.report.consumer == report.consumer;
  });
  if (same == losses_.end()) {
    losses_.push_back(std::move(loss));
  } else if (loss.due < same->due) {
    *same = std::move(loss);
  }
  std::stable_sort(losses_.begin(), losses_.end(),
                   [](const PendingLoss& a, const PendingLoss& b) { return a.due < b.due; });
  fail_for_losses(now, commands);
  advance(now, commands);
  return commands;
}

bool JobMaster::matters(const PendingLoss& loss) const {
  const Execution* execution = current(loss.from, loss.report.consumer);
  const bool runs = state_ == JobState::kRunning || state_ == JobState::kRestarting;
  if (!runs || execution == nullptr || execution->state == TaskState::kCanceling) return false;
  // At the end of its data a task has all that it needs; not when some of it was wrong.
  return execution->state != TaskState::kEndOfData || loss.report.wrong_bytes();
}

void JobMaster::fail_for_losses(TimePoint now, JobCommands& commands) {
  while (!losses_.empty() && losses_.front().due <= now) {
    const PendingLoss loss = std::move(losses_.front());
    losses_.erase(losses_.begin());
    if (!matters(loss)) continue;
    TaskFailure failure;
    failure.subtasks.push_back(loss.report.consumer.subtask);
    failure.cause =
        unavailable(loss.report.cause.message())
            .with_context("lost its channels from " + describe(loss.report.producer_task_manager));
    fail(now, failure, commands, lose_outputs(loss.report));
  }
}

std::vector<uint32_t> JobMaster::lose_outputs(const ChannelsLostReport& report) {
  std::vector<uint32_t> lost;
  const JobGraph& graph = graph_.job_graph();
  // It came in a message, which may name what the job does not have.
  if (!report.output_gone() || report.dataset.value >= graph.edges.size()) return lost;
  const JobEdge& edge = graph.edges[report.dataset.value];
  if (!graph_.is_blocking(edge.id) || edge.consumer != report.consumer.subtask.vertex) return lost;
  const VertexId producer = edge.producer;
  const uint32_t end = std::min(report.producers.end, graph.vertices[producer.value].parallelism);
  for (uint32_t p = report.producers.begin; p < end; p++) {
    const uint32_t index = graph_.index_of({producer, p});
    graph_.lose_output(index);
    if (graph_.at(index).output_lost) lost.push_back(index);
  }
  return lost;
}

// ---- States of the job ----

void JobMaster::set_now(TimePoint now) {
  now_ = now;
  graph_.set_now(now);
}

void JobMaster::move_task(uint32_t index, TaskState to) {
  graph_.move(index, to);
  log_state(index);
}

void JobMaster::reset(uint32_t index) {
  graph_.reset(index);
  log_state(index);
}

void JobMaster::log_state(uint32_t index) const {
  LOG_DEBUG("execution_state", {{"job", id()},
                                {"attempt", attempt_at(index)},
                                {"state", to_string(graph_.at(index).state)}});
}

AttemptId JobMaster::attempt_at(uint32_t index) const {
  return {id(), graph_.subtask_at(index), graph_.at(index).attempt};
}

void JobMaster::move(JobState to) {
  CHECK(can_move(state_, to));
  const JobState from = std::exchange(state_, to);
  history_.note_state(now_, to);
  LOG_INFO("job_state_changed", {{"job", id()}, {"from", to_string(from)}, {"to", to_string(to)}});
}

void JobMaster::note_failure(const TaskFailure& failure, const Status& cause) {
  JobFailure noted{now_, cause, "", failure.task_manager_text, failure.details};
  noted.task_manager_id = failure.task_manager.value_or(TaskManagerId());
  noted.endpoint = failure.endpoint;
  if (!failure.task_manager && !failure.subtasks.empty()) {
    const SubtaskId subtask = failure.subtasks.front();
    noted.task = name_of(subtask);
    noted.task_manager_id = graph_.at(subtask).task_manager;
    noted.task_manager = describe(noted.task_manager_id);
    noted.endpoint = endpoint_of(noted.task_manager_id);
  }
  history_.note_failure(std::move(noted));
}

void JobMaster::begin_failing(TimePoint now, const Status& cause, JobCommands& commands) {
  cause_ = cause;
  slot_deadline_.reset();
  pending_restart_.reset();
  move(JobState::kFailing);
  cancel_all(commands);
  advance(now, commands);
}

Result<JobCommands> JobMaster::cancel(TimePoint now) {
  set_now(now);
  JobCommands commands;
  if (is_terminal(state_)) {
    return failed_precondition(
        fmt::format("job {} has ended already: {}", id().to_string(), to_string(state_)));
  }
  if (state_ == JobState::kCommitting) {
    return failed_precondition(fmt::format(
        "job {} is publishing its results and cannot be canceled any more", id().to_string()));
  }
  if (state_ == JobState::kCancelling || state_ == JobState::kFailing) return commands;
  slot_deadline_.reset();
  pending_restart_.reset();
  move(JobState::kCancelling);
  cancel_all(commands);
  advance(now, commands);
  return commands;
}

Result<JobCommands> JobMaster::provoke(TimePoint, SubtaskId subtask,
                                       ProvokedFailure failure) const {
  CHECK(graph_.contains(subtask));
  const Execution& execution = graph_.at(subtask);
  const bool runs = execution.state == TaskState::kRunning ||
                    execution.state == TaskState::kInitializing ||
                    execution.state == TaskState::kEndOfData;
  if (state_ != JobState::kRunning || !runs) {
    return failed_precondition(
        fmt::format("{} is {}, and the job {}; only a task that runs can fail", name_of(subtask),
                    to_string(execution.state), to_string(state_)));
  }
  LOG_INFO("failure_provoked",
           {{"job", id()}, {"task", describe(subtask)}, {"failure", to_string(failure)}});
  JobCommands commands;
  commands.push_back(job_commands::ProvokeFailure{
      execution.task_manager, AttemptId{id(), subtask, execution.attempt}, failure});
  return commands;
}

void JobMaster::end(JobState state, JobCommands& commands) {
  move(state);
  if (state == JobState::kFailed) LOG_ERROR("job_failed", {{"job", id()}, {"cause", cause_}});
  schedule_.slots().clear();
  deployed_.clear();
  committables_.clear();
  finishing_.clear();
  located_.clear();
  commands.push_back(job_commands::ReleaseJob{});
  commands.push_back(job_commands::RequireSlots{});
}

// ---- End of the data, commit ----

void JobMaster::on_end_of_data(TimePoint now, uint32_t index, TaskStateReport report,
                               JobCommands& commands) {
  if (!report.committables.empty()) committables_[index] = std::move(report.committables);
  note_outputs(now, index, report.outputs, commands);
  const uint32_t region = graph_.regions().region_of(index);
  if (state_ == JobState::kRunning && graph_.all_at_end_of_data()) {
    begin_commit(now, commands);
    return;
  }
  if (schedule_.frees_slots() && graph_.unended(region) == 0) finish_region(region, commands);
  start_regions(now, commands);
  advance(now, commands);
}

void JobMaster::begin_commit(TimePoint now, JobCommands& commands) {
  move(JobState::kCommitting);
  std::map<TaskManagerId, std::vector<JobCommittable>> by_task_manager;
  for (auto& [index, committables] : committables_) {
    auto& all = by_task_manager[graph_.at(index).task_manager];
    std::move(committables.begin(), committables.end(), std::back_inserter(all));
  }
  committables_.clear();
  for (auto& [task_manager, all] : by_task_manager) commits_.add(task_manager, std::move(all));
  pursue_commit(now, commands);
}

void JobMaster::pursue_commit(TimePoint now, JobCommands& commands) {
  commits_.expire(now);
  if (commits_.failure()) {
    note_failure({}, *commits_.failure());
    begin_failing(now, *commits_.failure(), commands);
    return;
  }
  for (JobCommand& commit : commits_.dispatch(now, task_managers_)) {
    commands.push_back(std::move(commit));
  }
  if (commits_.empty()) finish(commands);
}

JobCommands JobMaster::on_commit_done(TimePoint now, TaskManagerId from, uint64_t commit_id,
                                      const Status& status) {
  set_now(now);
  JobCommands commands;
  if (state_ != JobState::kCommitting) return commands;
  if (!status.ok()) {
    LOG_WARN("commit_failed", {{"job", id()}, {"task_manager", from}, {"cause", status}});
  }
  commits_.on_done(now, from, commit_id, status);
  pursue_commit(now, commands);
  return commands;
}

void JobMaster::finish(JobCommands& commands) {
  for (const auto& [to, tasks] : deployed_) {
    job_commands::FinishTasks message{to, {}};
    for (const uint32_t index : tasks) {
      if (!is_live(graph_.at(index).state)) continue;
      move_task(index, TaskState::kFinished);
      message.attempts.push_back(attempt_at(index));
    }
    if (!message.attempts.empty()) commands.push_back(std::move(message));
  }
  end(JobState::kFinished, commands);
}

// ---- Time ----

std::optional<TimePoint> JobMaster::deadline() const {
  if (is_terminal(state_)) return std::nullopt;
  if (state_ == JobState::kCommitting) {
    // Nothing can be sent to nobody: the next registration is what it waits for.
    return task_managers_.empty() ? std::nullopt : commits_.deadline();
  }
  std::optional<TimePoint> first = slot_deadline_;
  const auto consider = [&first](TimePoint due) { first = first ? std::min(*first, due) : due; };
  if (pending_restart_ && graph_.count(TaskState::kCanceling) == 0) consider(pending_restart_->due);
  if (!losses_.empty()) consider(losses_.front().due);
  return first;
}

JobCommands JobMaster::on_time(TimePoint now) {
  set_now(now);
  JobCommands commands;
  if (is_terminal(state_)) return commands;
  if (slot_deadline_ && now >= *slot_deadline_) {
    Status cause = resource_exhausted(
        fmt::format("needs {}, {}: start more TaskManagers or lower the parallelism",
                    schedule_.slots_text(), describe_slots()));
    if (!cause_.ok()) {
      cause = Status(cause.code(),
                     fmt::format("{} (restart after: {})", cause.message(), cause_.message()));
    }
    note_failure({}, cause);
    begin_failing(now, cause, commands);
    return commands;
  }
  if (state_ == JobState::kCommitting) pursue_commit(now, commands);
  fail_for_losses(now, commands);
  advance(now, commands);
  return commands;
}

}  // namespace freshet
