#include "jobmanager/resource_manager.h"

#include <algorithm>
#include <utility>

namespace freshet {

void ResourceManager::add(const TaskManagerInfo& info) {
  remove(info.id);
  task_managers_.push_back(info);
  cluster_changed_ = true;
}

void ResourceManager::remove(TaskManagerId id) {
  if (std::erase_if(task_managers_, [&](const auto& t) { return t.id == id; }) == 0) return;
  withheld_.erase(id);
  cluster_changed_ = true;
  for (Requirement& requirement : requirements_) {
    const auto on_it = [&](const Slot& slot) { return slot.task_manager == id; };
    const bool changed = std::erase_if(requirement.held, on_it) != 0;
    if (changed && !requirement.ended) changed_.insert(requirement.job);
  }
  drop_ended();
}

void ResourceManager::require(JobId job, uint32_t total, uint32_t needed, bool idle) {
  Requirement* requirement = find_requirement(job);
  if (total == 0) {
    if (requirement == nullptr) return;
    requirement->total = 0;
    requirement->ended = true;
    changed_.erase(job);
    drop_ended();
    return;
  }
  if (requirement == nullptr) requirement = &requirements_.emplace_back();
  requirement->job = job;
  requirement->waiting = idle && requirement->held.size() < needed;
  if (requirement->total == total && requirement->needed == needed) {
    if (requirement->waiting && !requirement->held.empty()) cluster_changed_ = true;
    return;
  }
  requirement->total = total;
  requirement->needed = needed;
  changed_.insert(job);
  if (requirement->held.size() > total) {
    requirement->held.resize(total);
    cluster_changed_ = true;
  }
}

void ResourceManager::take_back(JobId job, const std::vector<Slot>& slots) {
  Requirement* requirement = find_requirement(job);
  if (requirement == nullptr || slots.empty()) return;
  const std::set<Slot> back(slots.begin(), slots.end());
  const auto is_back = [&](const Slot& slot) { return back.contains(slot); };
  if (std::erase_if(requirement->held, is_back) != 0) cluster_changed_ = true;
}

void ResourceManager::release(JobId job, TaskManagerId id) {
  Requirement* requirement = find_requirement(job);
  if (requirement == nullptr || !requirement->ended) return;
  const auto on_it = [&](const Slot& slot) { return slot.task_manager == id; };
  if (std::erase_if(requirement->held, on_it) != 0) cluster_changed_ = true;
  drop_ended();
}

void ResourceManager::withhold(TaskManagerId id) {
  if (find(id) != nullptr) withheld_.insert(id);
}

void ResourceManager::offer(TaskManagerId id) {
  if (withheld_.erase(id) != 0) cluster_changed_ = true;
}

void ResourceManager::drop_ended() {
  std::erase_if(requirements_, [](const Requirement& r) { return r.ended && r.held.empty(); });
}

std::vector<JobId> ResourceManager::assign() {
  if (!cluster_changed_ && changed_.empty()) return {};
  std::set<JobId> to_tell = std::exchange(changed_, {});
  do {
    uint32_t free = free_count();
    for (Requirement& requirement : requirements_) {
      if (requirement.ended) continue;
      const auto held = static_cast<uint32_t>(requirement.held.size());
      if (held == requirement.total) continue;
      if (cluster_changed_) to_tell.insert(requirement.job);
      const uint32_t given = std::min(requirement.total - held, free);
      if (given == 0 || held + given < requirement.needed) continue;
      give(requirement, given);
      requirement.waiting = false;
      free -= given;
      to_tell.insert(requirement.job);
    }
  } while (take_back_from_waiting(to_tell));
  cluster_changed_ = false;
  std::vector<JobId> in_order;
  for (const Requirement& requirement : requirements_) {
    if (to_tell.contains(requirement.job)) in_order.push_back(requirement.job);
  }
  return in_order;
}

/// From all that wait in vain, so that two that hold a part each do not wait for each other. True
/// when that may help one of them.
bool ResourceManager::take_back_from_waiting(std::set<JobId>& to_tell) {
  bool taken = false;
  for (Requirement& requirement : requirements_) {
    if (!requirement.waiting || requirement.ended || requirement.held.empty()) continue;
    requirement.held.clear();
    to_tell.insert(requirement.job);
    taken = true;
  }
  return taken;
}

/// Evens out how many slots each TaskManager has in use; ties go to the one that registered first.
void ResourceManager::give(Requirement& requirement, uint32_t count) {
  std::vector<FreeSlots> free = free_by_task_manager();
  const auto in_use = [&](const FreeSlots& f) {
    return task_managers_[f.position].slots - f.indices.size();
  };
  std::set<std::pair<uint64_t, size_t>> by_use;  // Slots in use, position.
  for (const FreeSlots& f : free) {
    if (!f.indices.empty()) by_use.insert({in_use(f), f.position});
  }
  for (uint32_t i = 0; i < count; i++) {
    const auto [use, position] = *by_use.begin();
    by_use.erase(by_use.begin());
    FreeSlots& from = free[position];
    const uint32_t index = *from.indices.begin();
    from.indices.erase(from.indices.begin());
    requirement.held.push_back(
        {AllocationId{next_allocation_++}, task_managers_[position].id, index});
    if (!from.indices.empty()) by_use.insert({use + 1, position});
  }
  sort_held(requirement);
}

void ResourceManager::sort_held(Requirement& requirement) const {
  std::map<TaskManagerId, size_t> positions;
  for (size_t i = 0; i < task_managers_.size(); i++) positions[task_managers_[i].id] = i;
  std::sort(requirement.held.begin(), requirement.held.end(), [&](const Slot& a, const Slot& b) {
    return std::pair(positions.at(a.task_manager), a.index) <
           std::pair(positions.at(b.task_manager), b.index);
  });
}

std::vector<ResourceManager::FreeSlots> ResourceManager::free_by_task_manager() const {
  std::vector<FreeSlots> free(task_managers_.size());
  std::map<TaskManagerId, size_t> positions;
  for (size_t i = 0; i < task_managers_.size(); i++) {
    positions[task_managers_[i].id] = i;
    free[i].position = i;
    if (withheld_.contains(task_managers_[i].id)) continue;
    for (uint32_t s = 0; s < task_managers_[i].slots; s++) free[i].indices.insert(s);
  }
  for (const Requirement& requirement : requirements_) {
    for (const Slot& slot : requirement.held) {
      free[positions.at(slot.task_manager)].indices.erase(slot.index);
    }
  }
  return free;
}

SlotReport ResourceManager::slots_of(JobId job) const {
  SlotReport report;
  for (const Requirement& requirement : requirements_) {
    if (requirement.job == job) report.slots = requirement.held;
  }
  report.cluster_slots = slot_count();
  report.cluster_slots_free = free_count();
  return report;
}

const TaskManagerInfo* ResourceManager::find(TaskManagerId id) const {
  for (const TaskManagerInfo& info : task_managers_) {
    if (info.id == id) return &info;
  }
  return nullptr;
}

uint32_t ResourceManager::free_slots_of(TaskManagerId id) const {
  const TaskManagerInfo* info = find(id);
  if (info == nullptr || withheld_.contains(id)) return 0;
  uint32_t held = 0;
  for (const Requirement& requirement : requirements_) {
    held +=
        static_cast<uint32_t>(std::count_if(requirement.held.begin(), requirement.held.end(),
                                            [&](const Slot& s) { return s.task_manager == id; }));
  }
  return info->slots - held;
}

std::map<TaskManagerId, std::vector<JobId>> ResourceManager::slots_taken() const {
  std::map<TaskManagerId, std::vector<JobId>> taken;
  for (const Requirement& requirement : requirements_) {
    for (const Slot& slot : requirement.held) taken[slot.task_manager].push_back(requirement.job);
  }
  return taken;
}

uint32_t ResourceManager::slot_count() const {
  uint32_t count = 0;
  for (const TaskManagerInfo& info : task_managers_) count += info.slots;
  return count;
}

uint32_t ResourceManager::free_count() const {
  uint32_t count = 0;
  for (const TaskManagerInfo& info : task_managers_) {
    if (!withheld_.contains(info.id)) count += info.slots;
  }
  for (const Requirement& requirement : requirements_) {
    for (const Slot& slot : requirement.held) {
      if (!withheld_.contains(slot.task_manager)) count--;
    }
  }
  return count;
}

ResourceManager::Requirement* ResourceManager::find_requirement(JobId job) {
  for (Requirement& requirement : requirements_) {
    if (requirement.job == job) return &requirement;
  }
  return nullptr;
}

}  // namespace freshet
