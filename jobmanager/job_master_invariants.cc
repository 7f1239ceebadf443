#include "jobmanager/job_master_invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace freshet {

namespace {

using Broken = std::optional<std::string>;

/// True when a chain of legal moves leads from one state to the other.
template <class State>
bool can_reach(State from, State to, uint32_t states) {
  std::vector<bool> reached(states, false);
  std::vector<State> open{from};
  reached[static_cast<size_t>(from)] = true;
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    if (state == to) return true;
    for (uint32_t next = 0; next < states; next++) {
      if (reached[next] || !can_move(state, static_cast<State>(next))) continue;
      reached[next] = true;
      open.push_back(static_cast<State>(next));
    }
  }
  return false;
}

constexpr uint32_t kTaskStates = 10;
constexpr uint32_t kJobStates = 9;

bool is_ended(TaskState s) { return s == TaskState::kEndOfData || s == TaskState::kFinished; }

/// Of what other regions make.
bool lacks_input(const ExecutionGraph& graph, uint32_t index) {
  const PipelinedRegions& regions = graph.regions();
  const SubtaskId reader = graph.subtask_at(index);
  for (const DatasetId dataset : graph.inputs_of(reader.vertex)) {
    const uint32_t g = graph.group_read_by(dataset, reader.index);
    if (!graph.is_blocking(dataset) || graph.has_read(g, reader.index)) continue;
    const ConsumedPartitionGroup& group = graph.group(g);
    const VertexId vertex = graph.job_graph().edges[dataset.value].producer;
    for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
      const uint32_t producer = graph.index_of({vertex, p});
      const Execution& made = graph.at(producer);
      if (regions.region_of(producer) == regions.region_of(index)) continue;
      if (!is_ended(made.state) || made.output_lost) return true;
    }
  }
  return false;
}

}  // namespace

Broken JobMasterInvariants::check(const JobMaster& job) {
  for (const auto rule : {&JobMasterInvariants::check_job, &JobMasterInvariants::check_tasks,
                          &JobMasterInvariants::check_regions, &JobMasterInvariants::check_slots,
                          &JobMasterInvariants::check_groups, &JobMasterInvariants::check_lost,
                          &JobMasterInvariants::check_delta}) {
    if (Broken broken = (this->*rule)(job)) return broken;
  }
  seen_any_ = true;
  job_state_ = job.state();
  restarts_ = job.restarts();
  seen_.resize(job.graph().task_count());
  for (uint32_t i = 0; i < seen_.size(); i++) {
    const Execution& execution = job.graph().at(i);
    seen_[i] = {execution.attempt, execution.version, execution.state};
  }
  return std::nullopt;
}

Broken JobMasterInvariants::check_job(const JobMaster& job) const {
  const ExecutionGraph& graph = job.graph();
  const JobState state = job.state();
  if (is_terminal(state)) {
    if (!job.slots().empty()) return "a job that has ended holds slots";
    if (graph.live_count() != 0) return "a job that has ended has live tasks";
    if (job.deadline()) return "a job that has ended waits for something";
  }
  if (state == JobState::kFinished && graph.count(TaskState::kFinished) != graph.task_count()) {
    return "a job is FINISHED, not all of its tasks are";
  }
  if (state == JobState::kFinished && !job.commits().empty()) {
    return "a job is FINISHED, not all of its results are published";
  }
  if (state == JobState::kCommitting && !graph.all_at_end_of_data()) {
    return "a job is COMMITTING before all tasks have ended";
  }
  if (job.commits().outstanding() != 0 && state != JobState::kCommitting &&
      state != JobState::kFailing && state != JobState::kFailed) {
    return "results are being published outside COMMITTING";
  }
  if (state == JobState::kCreated && graph.live_count() != 0) return "a task runs without slots";
  if (state == JobState::kFailed && job.cause().ok()) return "a job FAILED without a cause";
  return std::nullopt;
}

Broken JobMasterInvariants::check_tasks(const JobMaster& job) const {
  const ExecutionGraph& graph = job.graph();
  std::array<uint32_t, kTaskStates> counts{};
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    const Execution& execution = graph.at(i);
    counts[static_cast<size_t>(execution.state)]++;
    const std::string name = to_string(graph.subtask_at(i));
    if (execution.state == TaskState::kScheduled) return name + " stays SCHEDULED after an event";
    if (job.state() == JobState::kRunning && execution.state == TaskState::kCanceling)
      return name + " is canceled in a running job";
    if (job.state() == JobState::kCancelling || job.state() == JobState::kFailing) {
      const bool ends = is_terminal(execution.state) || !is_live(execution.state) ||
                        execution.state == TaskState::kCanceling;
      if (!ends) return name + " goes on in a job that ends";
    }
  }
  for (uint32_t s = 0; s < kTaskStates; s++) {
    if (counts[s] != graph.count(static_cast<TaskState>(s))) {
      return fmt::format("{} tasks are {}, {} are counted", counts[s],
                         to_string(static_cast<TaskState>(s)),
                         graph.count(static_cast<TaskState>(s)));
    }
  }
  return std::nullopt;
}

Broken JobMasterInvariants::check_regions(const JobMaster& job) const {
  const ExecutionGraph& graph = job.graph();
  for (uint32_t r = 0; r < graph.regions().count(); r++) {
    const auto members = graph.regions().members(r);
    const Execution& first = graph.at(members[0]);
    uint32_t begun = 0, unended = 0;
    for (const uint32_t m : members) {
      const Execution& execution = graph.at(m);
      begun += execution.state != TaskState::kCreated;
      unended += !is_ended(execution.state) || execution.restarts;
      if (execution.attempt != first.attempt)
        return fmt::format("tasks of region {} have different attempts", r);
      const bool goes_on = is_live(execution.state) && execution.state != TaskState::kCanceling &&
                           graph.unended(r) != 0;  // Else all is read.
      const bool committing = job.state() == JobState::kCommitting;
      if (goes_on && graph.open_inputs(r) != 0 && !committing && lacks_input(graph, m))
        return fmt::format("region {} runs before its inputs are complete", r);
    }
    if (begun != graph.begun(r) || unended != graph.unended(r))
      return fmt::format("region {} is miscounted", r);
    if (begun != 0 && begun != members.size())
      return fmt::format("only a part of region {} is deployed", r);
  }
  return check_inputs(job);
}

/// What is lost and wanted is made again: else somebody would wait for it for ever.
Broken JobMasterInvariants::check_lost(const JobMaster& job) const {
  if (job.state() != JobState::kRunning && job.state() != JobState::kRestarting)
    return std::nullopt;
  const ExecutionGraph& graph = job.graph();
  for (uint32_t g = 0; g < graph.group_count(); g++) {
    const ConsumedPartitionGroup& group = graph.group(g);
    const ConsumerVertexGroup& readers = graph.consumers_of_group(g);
    if (!graph.is_blocking(group.dataset) || group.unread == 0) continue;
    const VertexId vertex = graph.job_graph().edges[group.dataset.value].producer;
    for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
      const Execution& made = graph.at(SubtaskId{vertex, p});
      if (!is_ended(made.state) || made.restarts || !(made.output_lost || graph.is_released(g, p)))
        continue;
      for (uint32_t c = readers.consumers.begin; c < readers.consumers.end; c++) {
        const SubtaskId reader{readers.vertex, c};
        if (!graph.has_read(g, c))
          return fmt::format("{} wants what {} made, which is lost", to_string(reader),
                             to_string(SubtaskId{vertex, p}));
      }
    }
  }
  return std::nullopt;
}

/// The counters against what the groups say.
Broken JobMasterInvariants::check_inputs(const JobMaster& job) const {
  const ExecutionGraph& graph = job.graph();
  const JobGraph& edges = graph.job_graph();
  std::vector<std::set<uint32_t>> open(graph.regions().count());
  for (uint32_t g = 0; g < graph.group_count(); g++) {
    const ConsumedPartitionGroup& group = graph.group(g);
    const JobEdge& edge = edges.edges[group.dataset.value];
    if (edge.exchange == Exchange::kPipelined || edge.feedback) continue;
    const ConsumerVertexGroup& readers = graph.consumers_of_group(g);
    for (uint32_t c = readers.consumers.begin; c < readers.consumers.end; c++) {
      const uint32_t region = graph.regions().region_of(graph.index_of({edge.consumer, c}));
      for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
        const uint32_t producer = graph.index_of({edge.producer, p});
        const Execution& made = graph.at(producer);
        const bool complete = is_ended(made.state) && !made.output_lost;
        if (!complete && graph.regions().region_of(producer) != region) open[region].insert(g);
      }
    }
  }
  for (uint32_t r = 0; r < open.size(); r++) {
    if (open[r].size() != graph.open_inputs(r)) {
      return fmt::format("region {} has {} open inputs and counts {}", r, open[r].size(),
                         graph.open_inputs(r));
    }
  }
  return std::nullopt;
}

Broken JobMasterInvariants::check_slots(const JobMaster& job) const {
  const ExecutionGraph& graph = job.graph();
  const std::vector<Slot> slots = job.slots();
  const std::set<Slot> held(slots.begin(), slots.end());
  if (held.size() != slots.size()) return "a job holds a slot twice";
  std::set<std::tuple<VertexId, TaskManagerId, uint32_t>> used;
  std::map<Slot, std::string> group_of_slot;
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    const Execution& execution = graph.at(i);
    if (!is_live(execution.state)) continue;
    const SubtaskId subtask = graph.subtask_at(i);
    if (execution.allocation == AllocationId{}) return to_string(subtask) + " runs without a slot";
    if (!used.insert({subtask.vertex, execution.task_manager, execution.slot}).second) {
      return to_string(subtask) + " shares a slot with another subtask of its vertex";
    }
    const Slot slot{execution.allocation, execution.task_manager, execution.slot};
    if (!held.contains(slot)) return to_string(subtask) + " runs in a slot that the job lacks";
    const std::string& group = graph.job_graph().vertices[subtask.vertex.value].slot_sharing_group;
    if (group_of_slot.emplace(slot, group).first->second != group) {
      return to_string(subtask) + " shares a slot with another slot sharing group";
    }
  }
  return std::nullopt;
}

Broken JobMasterInvariants::check_groups(const JobMaster& job) const {
  const ExecutionGraph& graph = job.graph();
  for (uint32_t g = 0; g < graph.group_count(); g++) {
    const ConsumedPartitionGroup& group = graph.group(g);
    const VertexId producer = graph.job_graph().edges[group.dataset.value].producer;
    uint32_t unfinished = 0;
    for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
      const Execution& execution = graph.at(SubtaskId{producer, p});
      if (!is_ended(execution.state) || execution.output_lost) unfinished++;
    }
    if (unfinished != group.unfinished) {
      return fmt::format("group {} has {} unfinished producers and counts {}", g, unfinished,
                         group.unfinished);
    }
  }
  return std::nullopt;
}

Broken JobMasterInvariants::check_delta(const JobMaster& job) const {
  if (!seen_any_) return std::nullopt;
  if (!can_reach(job_state_, job.state(), kJobStates)) {
    return fmt::format("the job went from {} to {}", to_string(job_state_), to_string(job.state()));
  }
  if (is_terminal(job_state_) && job.state() != job_state_) return "a job that had ended moved";
  if (job.restarts() < restarts_ || job.restarts() > restarts_ + 1)
    return "restarts were miscounted";
  for (uint32_t i = 0; i < seen_.size(); i++) {
    const Execution& now = job.graph().at(i);
    const Seen& before = seen_[i];
    const std::string name = to_string(job.graph().subtask_at(i));
    if (now.version < before.version) return name + ": its version fell";
    if (now.attempt == before.attempt) {
      if (!can_reach(before.state, now.state, kTaskStates)) {
        return fmt::format("{} went from {} to {}", name, to_string(before.state),
                           to_string(now.state));
      }
      continue;
    }
    if (now.attempt != before.attempt + 1) return name + ": attempts do not rise by one";
    if (now.version == 0) return name + ": a new attempt without a decision to restart";
    if (job_state_ == JobState::kCommitting) return name + " restarts though results are published";
  }
  return std::nullopt;
}

Broken JobMasterInvariants::check_commands(const JobMaster& job,
                                           const JobCommands& commands) const {
  for (const JobCommand& command : commands) {
    if (const auto* deploy = std::get_if<job_commands::DeployTasks>(&command)) {
      for (const auto& task : deploy->tasks) {
        const Execution& execution = job.graph().at(task.attempt.subtask);
        if (execution.attempt != task.attempt.attempt) return "an old attempt is deployed";
        if (execution.task_manager != deploy->to) return "a task is deployed where its slot is not";
        if (task.allocation == AllocationId{}) return "a task is deployed without a slot";
        for (const uint32_t group : task.groups) {
          if (group >= deploy->groups.size()) return "a task reads a group that was not sent";
        }
      }
    } else if (std::holds_alternative<job_commands::Commit>(command)) {
      if (job.state() != JobState::kCommitting)
        return "results are published too early or too late";
    } else if (const auto* finish = std::get_if<job_commands::FinishTasks>(&command)) {
      for (const AttemptId& attempt : finish->attempts) {
        const uint32_t region =
            job.graph().regions().region_of(job.graph().index_of(attempt.subtask));
        if (job.graph().unended(region) != 0) return "tasks are told to finish too early";
      }
    }
  }
  return std::nullopt;
}

}  // namespace freshet
