#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/app/cluster_supervisor.h"
#include "runtime/base/file_system.h"
#include "runtime/chaos/cluster_links.h"
#include "runtime/chaos/disk_switch.h"
#include "runtime/chaos/fault_plan.h"
#include "runtime/chaos/mark_faults.h"

namespace freshet::chaos {

/// What the faults of a plan need to be there before the cluster starts, and no other plan has:
/// proxies for links, switches for disks, rules for marks.
class FaultTools {
 public:
  /// `directory`: for files of its own; must not be there.
  static Result<std::unique_ptr<FaultTools>> prepare(const std::vector<PlannedFault>&,
                                                     uint32_t task_managers,
                                                     const std::string& directory, FileSystem&);

  /// Has the processes of a cluster use them.
  void install(ClusterSupervisor::Options&);

  // Each CHECKs that the plan has faults of that kind.
  LinkProxies& links();
  DiskSwitch& disk_of(const std::string& task_manager);

  /// What has happened at marks until now, in that order.
  std::vector<FiredFault> fired_at_marks();

 private:
  FaultTools(std::string directory, FileSystem& files)
      : directory_(std::move(directory)), files_(files) {}

  std::string record() const { return directory_ + "/fired"; }

  const std::string directory_;
  FileSystem& files_;
  std::unique_ptr<ClusterLinks> links_;
  std::map<std::string, std::unique_ptr<DiskSwitch>> disks_;
  std::string mark_rules_;
};

}  // namespace freshet::chaos
