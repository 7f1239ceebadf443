#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/ids.h"

namespace freshet {

/// One slot that a job holds.
struct Slot {
  AllocationId allocation;
  TaskManagerId task_manager;
  uint32_t index = 0;  // Of the TaskManager's slots.
  auto operator<=>(const Slot&) const = default;
};

/// All slots that a job holds now, ordered by registration of their TaskManagers and then by index;
/// and what the cluster has.
struct SlotReport {
  std::vector<Slot> slots;
  uint32_t cluster_slots = 0;
  uint32_t cluster_slots_free = 0;
};

/// A TaskManager as it registered.
struct TaskManagerInfo {
  TaskManagerId id;
  std::string name;
  std::string host_id;  // Machine and boot.
  std::string data_host;
  uint16_t data_port = 0;
  std::string unix_address;  // Of the data plane, for TaskManagers of the same host. May be empty.
  uint32_t slots = 0;
  uint32_t pid = 0;
  std::string log_path;
};

/// Gives slots to jobs. Pure: no clock, no I/O; equal calls give equal results. A job says how many
/// it can use and how many it needs; it gets what is missing of the latter at once or not at all,
/// and more when there is more. While it waits it keeps nothing that another job could begin with.
/// See "Slots" in DESIGN_NOTES.md.
class ResourceManager {
 public:
  /// Replaces a TaskManager of the same id: its slots are lost first, as by remove().
  void add(const TaskManagerInfo&);
  /// Its slots are taken from their jobs. Nothing happens when there is none.
  void remove(TaskManagerId);

  /// The total that a job can use from now on, and how many of them it needs to get on; idempotent.
  /// `idle`: nothing of the job runs now, and what it holds may be taken back until it has what it
  /// needs. When the total is below what it holds, the last are taken.
  /// 0 ends the job: what it holds stays taken until its TaskManager has released it or is lost,
  /// because its tasks may still run there.
  void require(JobId, uint32_t total, uint32_t needed, bool idle = true);
  void require(JobId job, uint32_t total) { require(job, total, total); }

  /// Slots that the job gives back while it goes on. Ignored of those that it does not hold.
  void take_back(JobId, const std::vector<Slot>&);

  /// The TaskManager has nothing of the job any more: frees what an ended job holds there. Ignored
  /// of a job that has not ended.
  void release(JobId, TaskManagerId);

  /// Nothing new of the TaskManager is given out until it is offered again or registers anew; who
  /// has slots there keeps them.
  void withhold(TaskManagerId);
  void offer(TaskManagerId);

  /// Gives out what can be given, in the order in which jobs first asked, and returns the jobs that
  /// should look at slots_of() again: their slots changed, or they lack some and the cluster
  /// changed.
  std::vector<JobId> assign();

  SlotReport slots_of(JobId) const;

  /// The jobs that hold slots of each TaskManager, one entry per slot.
  std::map<TaskManagerId, std::vector<JobId>> slots_taken() const;
  bool is_withheld(TaskManagerId id) const { return withheld_.contains(id); }

  /// In order of registration.
  const std::vector<TaskManagerInfo>& task_managers() const { return task_managers_; }
  const TaskManagerInfo* find(TaskManagerId) const;
  uint32_t free_slots_of(TaskManagerId) const;
  uint32_t slot_count() const;
  uint32_t free_count() const;

 private:
  struct Requirement {
    JobId job;
    uint32_t total = 0;
    uint32_t needed = 0;
    std::vector<Slot> held;
    bool waiting = false;  // Since it asked, being idle, it never held what it needs.
    bool ended = false;
  };
  struct FreeSlots {
    size_t position = 0;  // In task_managers_.
    std::set<uint32_t> indices;
  };

  Requirement* find_requirement(JobId);
  std::vector<FreeSlots> free_by_task_manager() const;
  void drop_ended();
  bool take_back_from_waiting(std::set<JobId>& to_tell);
  void give(Requirement&, uint32_t count);
  void sort_held(Requirement&) const;

  std::vector<TaskManagerInfo> task_managers_;
  std::set<TaskManagerId> withheld_;       // Some of them.
  std::vector<Requirement> requirements_;  // In order of the first require(); few.
  std::set<JobId> changed_;                // Since the last assign().
  bool cluster_changed_ = false;
  uint64_t next_allocation_ = 1;
};

}  // namespace freshet
