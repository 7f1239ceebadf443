// What a JobMaster says to people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "jobmanager/job_master.h"
#include "network/transport.h"

namespace freshet {

std::string JobMaster::describe_slots() const {
  std::string there = fmt::format("the cluster has {}", cluster_slots_);
  if (cluster_slots_ >= schedule_.slots_needed()) {
    there += fmt::format(", of which {} {} free", cluster_slots_free_,
                         cluster_slots_free_ == 1 ? "is" : "are");
  }
  return there;
}

std::string JobMaster::waiting_for() const {
  if (waits_for_slots()) {
    return fmt::format("{}, {}", schedule_.slots_text(), describe_slots());
  }
  const size_t live = graph_.count(TaskState::kCanceling);
  if (state_ == JobState::kRestarting && live > 0) {
    return fmt::format("{} task{} to end", live, live == 1 ? "" : "s");
  }
  if (state_ == JobState::kRestarting) return "the delay before its restart";
  if (state_ == JobState::kCommitting && commits_.outstanding() == 0) return "a TaskManager";
  const bool begins = state_ == JobState::kCreated || state_ == JobState::kRunning;
  if (begins && graph_.live_count() == 0) return describe_cycle();
  return "";
}

/// A subtask of the region, and one of another region whose data it lacks.
std::optional<std::pair<SubtaskId, SubtaskId>> JobMaster::missing_input(uint32_t region) const {
  const PipelinedRegions& regions = graph_.regions();
  for (const uint32_t member : regions.members(region)) {
    const SubtaskId subtask = graph_.subtask_at(member);
    for (const DatasetId dataset : graph_.inputs_of(subtask.vertex)) {
      const auto& group = graph_.group(graph_.group_read_by(dataset, subtask.index));
      if (!graph_.is_blocking(dataset) || group.unfinished == 0) continue;
      const VertexId vertex = graph_.job_graph().edges[dataset.value].producer;
      for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
        const uint32_t index = graph_.index_of({vertex, p});
        const TaskState state = graph_.at(index).state;
        const bool ended = state == TaskState::kEndOfData || state == TaskState::kFinished;
        if (!ended && regions.region_of(index) != region)
          return std::pair(subtask, graph_.subtask_at(index));
      }
    }
  }
  return std::nullopt;
}

/// Regions that wait for each other; empty when there are none.
std::string JobMaster::describe_cycle() const {
  uint32_t region = 0;
  while (region < graph_.regions().count() && graph_.unended(region) == 0) region++;
  std::map<uint32_t, size_t> step_of_region;
  std::vector<std::string> steps;
  while (region < graph_.regions().count()) {
    const auto [known, added] = step_of_region.try_emplace(region, steps.size());
    if (!added) {
      steps.erase(steps.begin(), steps.begin() + static_cast<long>(known->second));
      return fmt::format("what waits for itself: {}", fmt::join(steps, "; "));
    }
    const auto missing = missing_input(region);
    if (!missing) return "";
    steps.push_back(
        fmt::format("{} for all that {} makes", name_of(missing->first), name_of(missing->second)));
    region = graph_.regions().region_of(graph_.index_of(missing->second));
  }
  return "";
}

std::string JobMaster::describe(TaskManagerId task_manager) const {
  const auto it = known_.find(task_manager);
  if (it == known_.end() || it->second.name.empty()) return to_string(task_manager);
  const TaskManagerInfo& info = it->second;
  return fmt::format("{} ({}, {})", info.name, to_string(task_manager), endpoint_of(task_manager));
}

std::string JobMaster::endpoint_of(TaskManagerId task_manager) const {
  const auto it = known_.find(task_manager);
  if (it == known_.end()) return "";
  return Address{it->second.data_host, it->second.data_port}.to_string();
}

uint64_t JobMaster::source_records() const {
  uint64_t records = 0;
  for (const JobVertex& vertex : graph_.job_graph().vertices) {
    for (uint32_t i = 0; !vertex.hidden && i < vertex.parallelism; i++) {
      records += graph_.at({vertex.id, i}).progress.source_records;
    }
  }
  return records;
}

std::string JobMaster::name_of(SubtaskId subtask) const {
  const JobVertex& vertex = graph_.job_graph().vertices[subtask.vertex.value];
  return fmt::format("{} ({}/{})", vertex.name(), subtask.index + 1, vertex.parallelism);
}

std::string JobMaster::describe(SubtaskId subtask) const {
  std::string text = name_of(subtask);
  const auto it = known_.find(graph_.at(subtask).task_manager);
  if (it != known_.end() && !it->second.name.empty()) text += " on " + it->second.name;
  return text;
}

Result<SubtaskId> JobMaster::find_subtask(const std::string& vertex, uint32_t index) const {
  std::vector<const JobVertex*> found;
  std::vector<std::string> known;
  for (const JobVertex& one : graph_.job_graph().vertices) {
    if (one.hidden) {
      if (std::to_string(one.id.value) != vertex && one.name() != vertex) continue;
      return not_found(
          fmt::format("vertex {} '{}' is a coordinator of the runtime; it cannot be "
                      "told to fail",
                      one.id.value, one.name()));
    }
    known.push_back(fmt::format("{} '{}'", one.id.value, one.name()));
    if (one.name() == vertex || std::to_string(one.id.value) == vertex) found.push_back(&one);
  }
  if (found.size() != 1) {
    return not_found(fmt::format("{} vertex '{}' in job {}; there are {}",
                                 found.empty() ? "no" : "more than one", vertex, id().to_string(),
                                 fmt::join(known, ", ")));
  }
  if (index >= found[0]->parallelism) {
    return not_found(fmt::format("no subtask {} of vertex '{}'; they go from 0 to {}", index,
                                 found[0]->name(), found[0]->parallelism - 1));
  }
  return SubtaskId{found[0]->id, index};
}

}  // namespace freshet
