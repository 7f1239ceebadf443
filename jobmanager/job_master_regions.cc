// When the regions of a job run: slots, deployment, and what becomes of a region that has ended.
#include <algorithm>
#include <utility>

#include "jobmanager/deployment.h"
#include "jobmanager/job_master.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace freshet {

bool JobMaster::waits_for_slots() const { return slot_deadline_.has_value(); }

bool JobMaster::accepts_tasks() const {
  return state_ == JobState::kCreated || state_ == JobState::kRunning ||
         state_ == JobState::kRestarting;
}

job_commands::RequireSlots JobMaster::slots_required() const {
  // What it holds beyond what it can use is not free yet.
  const uint32_t total = std::max(schedule_.slots_wanted(), schedule_.slots().held_count());
  return {total, schedule_.slots_needed(), graph_.live_count() == 0, {}};
}

JobCommands JobMaster::on_slots(TimePoint now, const SlotReport& report) {
  set_now(now);
  JobCommands commands;
  if (is_terminal(state_)) return commands;
  schedule_.slots().update(report.slots);
  cluster_slots_ = report.cluster_slots;
  cluster_slots_free_ = report.cluster_slots_free;
  start_regions(now, commands);
  return commands;
}

void JobMaster::start_regions(TimePoint now, JobCommands& commands) {
  if (!accepts_tasks()) return;
  const auto placements = schedule_.start_regions();
  if (!placements.empty()) deploy(placements, commands);
  note_slot_wait(now, commands);
  return_surplus(commands);
}

/// Towards the end of a batch job others can use what it holds.
void JobMaster::return_surplus(JobCommands& commands) {
  if (pending_restart_) return;
  std::vector<Slot> surplus = schedule_.take_surplus();
  if (surplus.empty()) return;
  job_commands::RequireSlots fewer = slots_required();
  fewer.returned = std::move(surplus);
  commands.push_back(std::move(fewer));
}

void JobMaster::deploy(const std::vector<RegionSchedule::Placement>& placements,
                       JobCommands& commands) {
  std::vector<uint32_t> executions;
  for (const auto& [index, slot] : placements) executions.push_back(index);
  std::sort(executions.begin(), executions.end());
  const bool was_idle = graph_.live_count() == 0;
  for (const auto& [index, slot] : placements) {
    move_task(index, TaskState::kScheduled);
    graph_.assign(index, slot.allocation, slot.task_manager, slot.index);
    move_task(index, TaskState::kDeploying);
    LOG_DEBUG("execution_deployed",
              {{"job", id()}, {"attempt", attempt_at(index)}, {"task_manager", slot.task_manager}});
  }
  for (const uint32_t index : executions) deployed_[graph_.at(index).task_manager].push_back(index);
  if (!pending_restart_ && state_ != JobState::kRunning) move(JobState::kRunning);
  // What it runs on must not be taken back for want of more.
  const bool lacks_some = schedule_.slots().held_count() < schedule_.slots_needed();
  if (was_idle && lacks_some) commands.push_back(slots_required());
  for (const uint32_t group : graph_.take_reopened_groups()) located_.drop(group);
  if (!options_.share_groups) located_.clear();
  for (auto& message : build_deployment(graph_, id(), !deployed_once_, executions, &located_)) {
    LOG_INFO("tasks_deployed", {{"job", id()},
                                {"task_manager", message.to},
                                {"attempt", message.tasks.front().attempt.attempt},
                                {"tasks", message.tasks.size()}});
    commands.push_back(std::move(message));
  }
}

/// Nothing goes on before there are slots: for a bounded time.
void JobMaster::note_slot_wait(TimePoint now, JobCommands& commands) {
  const bool goes_on = schedule_.frees_slots() && graph_.live_count() > 0;
  if (!schedule_.any_ready() || goes_on) {
    slot_deadline_.reset();
  } else if (!slot_deadline_) {
    slot_deadline_ = now + options_.slot_timeout;
    commands.push_back(slots_required());
  }
}

bool JobMaster::all_have_run() const {
  return graph_.count(TaskState::kRunning) + graph_.count(TaskState::kEndOfData) +
             graph_.count(TaskState::kFinished) ==
         graph_.task_count();
}

// ---- Regions that have ended ----

bool JobMaster::is_done(uint32_t index) const {
  return graph_.at(index).state == TaskState::kEndOfData &&
         graph_.unended(graph_.regions().region_of(index)) == 0;
}

bool JobMaster::is_finishing(uint32_t index) const {
  return finishing_.contains(graph_.regions().region_of(index)) &&
         graph_.at(index).state == TaskState::kEndOfData;
}

/// Its slots are free for another one when all of its tasks are gone; what they made stays.
void JobMaster::finish_region(uint32_t region, JobCommands& commands) {
  std::map<TaskManagerId, std::vector<AttemptId>> by_task_manager;
  uint32_t tasks = 0;
  for (const uint32_t index : graph_.regions().members(region)) {
    const Execution& execution = graph_.at(index);
    CHECK(execution.state == TaskState::kEndOfData);
    by_task_manager[execution.task_manager].push_back(attempt_at(index));
    tasks++;
  }
  finishing_[region] = tasks;
  for (auto& [to, attempts] : by_task_manager)
    commands.push_back(job_commands::FinishTasks{to, std::move(attempts)});
}

void JobMaster::move_to_finished(uint32_t index) {
  move_task(index, TaskState::kFinished);
  const auto found = finishing_.find(graph_.regions().region_of(index));
  if (found == finishing_.end()) return;  // It keeps its slots.
  if (--found->second != 0) return;
  schedule_.stop_region(found->first, /*again=*/false);
  finishing_.erase(found);
}

void JobMaster::on_finished(TimePoint now, uint32_t index, JobCommands& commands) {
  move_to_finished(index);
  release_partitions(commands);
  start_regions(now, commands);
}

namespace {

using Releases = std::map<TaskManagerId, std::vector<job_commands::ReleasePartitions::Range>>;

void add_release(const ExecutionGraph& graph, DatasetId dataset, uint32_t producer,
                 Releases* releases) {
  const VertexId vertex = graph.job_graph().edges[dataset.value].producer;
  const Execution& execution = graph.at(SubtaskId{vertex, producer});
  auto& ranges = (*releases)[execution.task_manager];
  const bool goes_on = !ranges.empty() && ranges.back().dataset == dataset &&
                       ranges.back().attempt == execution.attempt &&
                       ranges.back().producers.end == producer;
  if (goes_on) {
    ranges.back().producers.end++;
  } else {
    ranges.push_back({dataset, {producer, producer + 1}, execution.attempt});
  }
}

}  // namespace

void JobMaster::release_partitions(JobCommands& commands) {
  Releases releases;
  for (const uint32_t g : graph_.take_read_groups()) {
    const ConsumedPartitionGroup& group = graph_.group(g);
    if (group.unread != 0 || group.unfinished != 0 || !graph_.is_kept(g)) continue;
    LOG_DEBUG("partitions_released", {{"job", id()},
                                      {"dataset", group.dataset.value},
                                      {"first_producer", group.producers.begin},
                                      {"producers", group.producers.size()}});
    for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
      if (!graph_.is_released(g, p)) add_release(graph_, group.dataset, p, &releases);
    }
    graph_.note_released(g);
    located_.drop(g);
  }
  for (auto& [to, ranges] : releases) {
    if (known_.contains(to))
      commands.push_back(job_commands::ReleasePartitions{to, std::move(ranges)});
  }
}

void JobMaster::release_outputs(const std::vector<uint32_t>& executions, JobCommands& commands) {
  Releases releases;
  for (const uint32_t index : executions) {
    const SubtaskId subtask = graph_.subtask_at(index);
    for (const DatasetId dataset : graph_.outputs_of(subtask.vertex)) {
      if (graph_.is_blocking(dataset)) add_release(graph_, dataset, subtask.index, &releases);
    }
  }
  for (auto& [to, ranges] : releases) {
    if (known_.contains(to))
      commands.push_back(job_commands::ReleasePartitions{to, std::move(ranges)});
  }
}

// ---- What is lost with a TaskManager ----

JobMaster::Loss JobMaster::take_away(TaskManagerId lost) {
  Loss loss;
  schedule_.slots().lose(lost);
  located_.on_task_manager_lost(lost);
  const auto tasks = deployed_.extract(lost);
  if (tasks.empty()) return loss;
  for (const uint32_t index : tasks.mapped()) {
    const TaskState state = graph_.at(index).state;
    if (state_ == JobState::kCommitting) {
      if (is_live(state)) move_task(index, TaskState::kFinished);  // Its result is in the ledger.
      continue;
    }
    if (is_done(index)) {
      move_to_finished(index);
    } else if (is_live(state)) {
      if (state != TaskState::kCanceling) loss.failed.push_back(graph_.subtask_at(index));
      move_task(index, TaskState::kFailed);
    }
    if (graph_.at(index).state == TaskState::kFinished && !graph_.at(index).output_lost) {
      graph_.lose_output(index);
      loss.outputs.push_back(index);
    }
  }
  return loss;
}

}  // namespace freshet
