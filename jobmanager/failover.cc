#include "jobmanager/failover.h"

#include <algorithm>

namespace freshet {

namespace {

class Planner {
 public:
  explicit Planner(const ExecutionGraph& graph)
      : graph_(graph),
        planned_(graph.regions().count(), false),
        read_(graph.group_count(), false),
        given_(graph.group_count(), false),
        wanted_(graph.group_count(), kUnknown) {}

  void add(uint32_t region) {
    if (planned_[region]) return;
    planned_[region] = true;
    plan_.regions.push_back(region);
  }

  /// Of an ended execution; only if somebody is still to read it.
  void add_if_wanted(uint32_t index) {
    const SubtaskId subtask = graph_.subtask_at(index);
    for (const DatasetId dataset : graph_.outputs_of(subtask.vertex)) {
      const IndexRange groups = graph_.groups_holding(dataset, subtask.index);
      for (uint32_t g = groups.begin; g < groups.end; g++) {
        if (is_wanted(g)) return add(graph_.regions().region_of(index));
      }
    }
  }

  FailoverPlan run() {
    for (size_t next = 0; next < plan_.regions.size(); next++) {
      for (const uint32_t member : graph_.regions().members(plan_.regions[next])) {
        plan_.steps++;
        add_lost_producers(graph_.subtask_at(member));
        add_consumers(graph_.subtask_at(member));
      }
    }
    std::sort(plan_.regions.begin(), plan_.regions.end());
    return std::move(plan_);
  }

 private:
  void add_lost_producers(SubtaskId subtask) {
    for (const DatasetId dataset : graph_.inputs_of(subtask.vertex)) {
      const uint32_t g = graph_.group_read_by(dataset, subtask.index);
      if (!graph_.is_blocking(dataset) || read_[g]) continue;
      read_[g] = true;
      const ConsumedPartitionGroup& group = graph_.group(g);
      const VertexId producer = graph_.job_graph().edges[dataset.value].producer;
      for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
        plan_.steps++;
        const uint32_t index = graph_.index_of({producer, p});
        if (graph_.at(index).output_lost || graph_.is_released(g, p))
          add(graph_.regions().region_of(index));
      }
    }
  }

  void add_consumers(SubtaskId subtask) {
    for (const DatasetId dataset : graph_.outputs_of(subtask.vertex)) {
      if (!graph_.is_blocking(dataset)) continue;  // In the same region.
      const IndexRange groups = graph_.groups_holding(dataset, subtask.index);
      for (uint32_t g = groups.begin; g < groups.end; g++) add_consumers_of(g);
    }
  }

  void add_consumers_of(uint32_t g) {
    if (given_[g]) return;
    given_[g] = true;
    const ConsumerVertexGroup& consumers = graph_.consumers_of_group(g);
    for (uint32_t c = consumers.consumers.begin; c < consumers.consumers.end; c++) {
      plan_.steps++;
      const uint32_t region = graph_.regions().region_of(graph_.index_of({consumers.vertex, c}));
      // Who has read all may have read the same; that is seen when it is made again.
      if (graph_.begun(region) != 0 && !graph_.has_read(g, c)) add(region);
    }
  }

  bool is_wanted(uint32_t g) {
    const ConsumerVertexGroup& consumers = graph_.consumers_of_group(g);
    if (!graph_.is_blocking(graph_.group(g).dataset)) return false;
    if (wanted_[g] != kUnknown) return wanted_[g] == kYes;
    wanted_[g] = kNo;
    for (uint32_t c = consumers.consumers.begin; c < consumers.consumers.end; c++) {
      plan_.steps++;
      if (graph_.has_read(g, c)) continue;
      wanted_[g] = kYes;
      break;
    }
    return wanted_[g] == kYes;
  }

  enum Wanted : uint8_t { kUnknown, kNo, kYes };

  const ExecutionGraph& graph_;
  std::vector<bool> planned_;   // By region.
  std::vector<bool> read_;      // By group: its producers were visited.
  std::vector<bool> given_;     // By group: its consumers were.
  std::vector<Wanted> wanted_;  // By group.
  FailoverPlan plan_;
};

}  // namespace

FailoverPlan plan_failover(const ExecutionGraph& graph, const std::vector<SubtaskId>& failed,
                           const std::vector<uint32_t>& lost) {
  Planner planner(graph);
  for (const SubtaskId subtask : failed)
    planner.add(graph.regions().region_of(graph.index_of(subtask)));
  for (const uint32_t index : lost) planner.add_if_wanted(index);
  return planner.run();
}

FailoverPlan plan_failover(const ExecutionGraph& graph, const std::vector<SubtaskId>& failed,
                           const std::vector<uint32_t>& lost, FailoverStrategy strategy) {
  FailoverPlan plan = plan_failover(graph, failed, lost);
  if (strategy == FailoverStrategy::kRegion || plan.regions.empty()) return plan;
  plan.regions.clear();
  for (uint32_t region = 0; region < graph.regions().count(); region++) {
    plan.steps++;
    if (graph.begun(region) != 0) plan.regions.push_back(region);
  }
  return plan;
}

std::vector<SubtaskId> misled_consumers(const ExecutionGraph& graph, DatasetId dataset,
                                        uint32_t producer) {
  std::vector<SubtaskId> misled;
  const VertexId vertex = graph.job_graph().edges[dataset.value].producer;
  const uint32_t own = graph.regions().region_of(graph.index_of({vertex, producer}));
  const IndexRange groups = graph.groups_holding(dataset, producer);
  for (uint32_t g = groups.begin; g < groups.end; g++) {
    const ConsumerVertexGroup& consumers = graph.consumers_of_group(g);
    if (!graph.is_read_by_some(g)) continue;
    for (uint32_t c = consumers.consumers.begin; c < consumers.consumers.end; c++) {
      const SubtaskId consumer{consumers.vertex, c};
      const uint32_t region = graph.regions().region_of(graph.index_of(consumer));
      if (region != own && graph.begun(region) != 0) misled.push_back(consumer);
    }
  }
  return misled;
}

}  // namespace freshet
