#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobmanager/resource_manager.h"
#include "runtime/base/ids.h"

namespace freshet {

/// Ended jobs whose clean-up nobody has done: a TaskManager that ran their tasks went before it
/// could. Each is given to one TaskManager, and to another one when that goes, too; it waits while
/// there is none. What has gone with kLossesMax TaskManagers is forgotten: the job's code, which a
/// clean-up needs, may be what brings them down, and so it is alone with each but the first. Pure.
/// See "Publishing files" in DESIGN_NOTES.md.
class CleanUpLedger {
 public:
  static constexpr size_t kJobsMax = 1000;  // The oldest is forgotten.
  static constexpr uint32_t kLossesMax = 3;

  struct Order {
    TaskManagerId to;
    JobId job;
    std::shared_ptr<const std::string> information;  // Encoded.
  };

  /// Nothing happens when the job's clean-up is waiting already; one that was given away starts
  /// anew.
  void add(JobId, std::shared_ptr<const std::string> information);

  void on_task_manager_lost(TaskManagerId);
  /// The TaskManager has cleaned up all of the job. Ignored when it was not told to.
  void on_done(JobId, TaskManagerId);

  /// Gives away what waits and can be given now, in the order of adding, and returns it.
  std::vector<Order> assign(std::span<const TaskManagerInfo> registered);

  bool is_given_away(JobId) const;
  bool has_work(TaskManagerId) const;
  size_t size() const { return pending_.size(); }

 private:
  struct Pending {
    JobId job;
    std::shared_ptr<const std::string> information;
    std::optional<TaskManagerId> given_to;
    uint32_t losses = 0;  // TaskManagers that had it.
  };

  bool may_be_given(const Pending& one, TaskManagerId to) const;

  std::vector<Pending> pending_;
};

}  // namespace freshet
