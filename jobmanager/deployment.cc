#include "jobmanager/deployment.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

namespace freshet {

namespace {

using job_commands::DeployTasks;
using job_commands::GateGroup;

/// Of one message, in tasks, references to groups, producers and their places: some 100 bytes each.
constexpr size_t kPiecesMax = 50'000;

/// Smaller groups are sent each time.
constexpr uint32_t kKeptProducersMin = 8;

class DeploymentBuilder {
 public:
  DeploymentBuilder(const ExecutionGraph& graph, JobId job, bool check, LocatedGroups* located)
      : graph_(graph), job_(job), check_(check), located_(*located) {}

  std::vector<DeployTasks> build(const std::vector<uint32_t>& executions) {
    std::map<TaskManagerId, size_t> number_of;
    std::vector<std::pair<TaskManagerId, std::vector<uint32_t>>> tasks_of;
    for (const uint32_t i : executions) {
      const TaskManagerId to = graph_.at(i).task_manager;
      const auto [it, added] = number_of.try_emplace(to, tasks_of.size());
      if (added) tasks_of.push_back({to, {}});
      tasks_of[it->second].second.push_back(i);
    }
    for (const auto& [to, tasks] : tasks_of) add_messages(to, tasks);
    return std::move(messages_);
  }

 private:
  struct Placed {
    std::shared_ptr<const GateGroup> group;
    uint32_t message = 0;  // In which it is last, numbered from 1.
    uint32_t place = 0;    // In that.
  };

  void add_messages(TaskManagerId to, const std::vector<uint32_t>& tasks) {
    begin_message(to);
    for (const uint32_t index : tasks) {
      if (pieces_ >= kPiecesMax) begin_message(to);
      DeployTasks& message = messages_.back();
      const Execution& execution = graph_.at(index);
      const SubtaskId subtask = graph_.subtask_at(index);
      job_commands::TaskDeployment task;
      task.attempt = {job_, subtask, execution.attempt};
      task.allocation = execution.allocation;
      task.slot = execution.slot;
      for (const DatasetId dataset : graph_.inputs_of(subtask.vertex)) {
        task.groups.push_back(place_in(message, graph_.group_read_by(dataset, subtask.index)));
      }
      pieces_ += 1 + task.groups.size();
      message.tasks.push_back(std::move(task));
    }
  }

  void begin_message(TaskManagerId to) {
    messages_.push_back({to, {}, {}, check_});
    message_number_++;
    pieces_ = 0;
  }

  uint32_t place_in(DeployTasks& message, uint32_t group) {
    Placed& placed = groups_[group];
    if (placed.message != message_number_) {
      if (placed.group == nullptr) placed.group = find_or_locate(group);
      placed.message = message_number_;
      placed.place = static_cast<uint32_t>(message.groups.size());
      const bool known = placed.group->kept && located_.tell(group, message.to);
      message.groups.push_back({placed.group, known});
      pieces_ += 1;
      if (!known) pieces_ += placed.group->task_managers.size() + placed.group->producers.size();
    }
    return placed.place;
  }

  std::shared_ptr<const GateGroup> find_or_locate(uint32_t index) {
    if (auto known = located_.find(index)) return known;
    auto located = locate(index);
    if (located->kept) located_.keep(index, located);
    return located;
  }

  std::shared_ptr<const GateGroup> locate(uint32_t index) const {
    const ConsumedPartitionGroup& group = graph_.group(index);
    auto located = std::make_shared<GateGroup>();
    located->dataset = group.dataset;
    located->stored = group.unfinished == 0 &&
                      graph_.job_graph().edges[group.dataset.value].exchange == Exchange::kBlocking;
    located->kept = located->stored && group.producers.size() >= kKeptProducersMin &&
                    graph_.consumers_of_group(index).consumers.size() > 1;
    std::map<TaskManagerId, uint32_t> location_of;
    const VertexId producer = graph_.job_graph().edges[group.dataset.value].producer;
    for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
      const Execution& execution = graph_.at(SubtaskId{producer, p});
      const auto [it, added] = location_of.try_emplace(
          execution.task_manager, static_cast<uint32_t>(located->task_managers.size()));
      if (added) located->task_managers.push_back(execution.task_manager);
      auto& ranges = located->producers;
      if (!ranges.empty() && ranges.back().location == it->second &&
          ranges.back().attempt == execution.attempt) {
        ranges.back().producers.end = p + 1;
      } else {
        ranges.push_back({{p, p + 1}, it->second, execution.attempt});
      }
    }
    return located;
  }

  const ExecutionGraph& graph_;
  const JobId job_;
  const bool check_;
  LocatedGroups& located_;
  // Those that are needed; looked up only.
  std::unordered_map<uint32_t, Placed> groups_;
  std::vector<DeployTasks> messages_;
  uint32_t message_number_ = 0;
  size_t pieces_ = 0;  // Of the last message.
};

}  // namespace

std::vector<DeployTasks> build_deployment(const ExecutionGraph& graph, JobId job, bool check,
                                          const std::vector<uint32_t>& executions,
                                          LocatedGroups* located) {
  return DeploymentBuilder(graph, job, check, located).build(executions);
}

}  // namespace freshet
