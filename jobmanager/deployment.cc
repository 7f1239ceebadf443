#include "jobmanager/deployment.h"

#include <map>
#include <memory>
#include <utility>

namespace freshet {

namespace {

using job_commands::DeployTasks;
using job_commands::GateGroup;

/// Of one message, in tasks, references to groups, producers and their places: some 100 bytes each.
constexpr size_t kPiecesMax = 50'000;

class DeploymentBuilder {
 public:
  DeploymentBuilder(const ExecutionGraph& graph, JobId job, bool check)
      : graph_(graph),
        job_(job),
        check_(check),
        groups_(graph.group_count()),
        places_(graph.group_count()) {}

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
    auto& [number, place] = places_[group];
    if (number != message_number_) {
      if (groups_[group] == nullptr) groups_[group] = locate(graph_.group(group));
      number = message_number_;
      place = static_cast<uint32_t>(message.groups.size());
      message.groups.push_back(groups_[group]);
      pieces_ += groups_[group]->task_managers.size() + groups_[group]->producers.size();
    }
    return place;
  }

  std::shared_ptr<const GateGroup> locate(const ConsumedPartitionGroup& group) const {
    auto located = std::make_shared<GateGroup>();
    located->dataset = group.dataset;
    located->stored = group.unfinished == 0 &&
                      graph_.job_graph().edges[group.dataset.value].exchange == Exchange::kBlocking;
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
  std::vector<std::shared_ptr<const GateGroup>> groups_;  // By index of the group, once needed.
  std::vector<std::pair<uint32_t, uint32_t>> places_;     // Message number, place in that message.
  std::vector<DeployTasks> messages_;
  uint32_t message_number_ = 0;
  size_t pieces_ = 0;  // Of the last message.
};

}  // namespace

std::vector<DeployTasks> build_deployment(const ExecutionGraph& graph, JobId job, bool check,
                                          const std::vector<uint32_t>& executions) {
  return DeploymentBuilder(graph, job, check).build(executions);
}

}  // namespace freshet
