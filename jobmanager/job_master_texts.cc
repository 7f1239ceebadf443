// What a JobMaster says to people.
#include <fmt/format.h>

#include "jobmanager/job_master.h"
#include "network/transport.h"

namespace freshet {

std::string JobMaster::describe_slots() const {
  std::string there = fmt::format("the cluster has {}", slots_.cluster_slots);
  if (slots_.cluster_slots >= slots_required_) {
    there += fmt::format(", of which {} {} free", slots_.cluster_slots_free,
                         slots_.cluster_slots_free == 1 ? "is" : "are");
  }
  return there;
}

std::string JobMaster::waiting_for() const {
  if (waits_for_slots()) {
    return fmt::format("{}, {}", slots_text_, describe_slots());
  }
  if (state_ == JobState::kRestarting && graph_.live_count() > 0) {
    const size_t live = graph_.live_count();
    return fmt::format("{} task{} to end", live, live == 1 ? "" : "s");
  }
  if (state_ == JobState::kRestarting) return "the delay before its restart";
  if (state_ == JobState::kCommitting && commits_.outstanding() == 0) return "a TaskManager";
  return "";
}

std::string JobMaster::describe(TaskManagerId task_manager) const {
  const auto it = known_.find(task_manager);
  if (it == known_.end() || it->second.name.empty()) return to_string(task_manager);
  const TaskManagerInfo& info = it->second;
  return fmt::format("{} ({}, {})", info.name, to_string(task_manager),
                     Address{info.data_host, info.data_port}.to_string());
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

}  // namespace freshet
