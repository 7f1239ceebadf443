#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>

#include "jobmanager/job_commands.h"
#include "runtime/base/ids.h"

namespace freshet {

/// The groups of one job whose places stay the same for many deployments, and which TaskManagers
/// were told them. A group goes when one of its producers is to run again, and when all have read
/// it; located anew it is another object, so that nobody takes the old places for it.
class LocatedGroups {
 public:
  using Group = std::shared_ptr<const job_commands::GateGroup>;

  /// Null when there is none.
  Group find(uint32_t index) const {
    const auto found = groups_.find(index);
    return found == groups_.end() ? nullptr : found->second.group;
  }
  void keep(uint32_t index, Group group) { groups_[index] = {std::move(group), {}}; }
  size_t size() const { return groups_.size(); }

  /// True for one that the TaskManager was told before. Only for those that are kept.
  bool tell(uint32_t index, TaskManagerId to) { return !groups_.at(index).told.insert(to).second; }

  void drop(uint32_t index) { groups_.erase(index); }
  void clear() { groups_.clear(); }
  void on_task_manager_lost(TaskManagerId lost) {
    for (auto& [index, located] : groups_) located.told.erase(lost);
  }

 private:
  struct Located {
    Group group;
    std::set<TaskManagerId> told;
  };
  std::unordered_map<uint32_t, Located> groups_;  // Only looked up.
};

}  // namespace freshet
