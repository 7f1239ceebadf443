#include "runtime/chaos/fault_tools.h"

#include <fmt/format.h>

#include "runtime/app/private_directory.h"
#include "runtime/base/check.h"
#include "runtime/base/configuration.h"

namespace freshet::chaos {

Result<std::unique_ptr<FaultTools>> FaultTools::prepare(const std::vector<PlannedFault>& plan,
                                                        uint32_t task_managers,
                                                        const std::string& directory,
                                                        FileSystem& files) {
  std::unique_ptr<FaultTools> tools(new FaultTools(directory, files));
  RETURN_IF_ERROR(make_private_directory(directory));
  for (const PlannedFault& planned : plan) {
    const Fault& fault = planned.fault;
    const FaultSubject subject = info_of(fault.kind).subject;
    const std::string name = fault.process.to_string();
    if (subject == FaultSubject::kLink && tools->links_ == nullptr) {
      ASSIGN_OR_RETURN(tools->links_, ClusterLinks::start(task_managers));
    }
    if (subject == FaultSubject::kDisk && !tools->disks_.contains(name)) {
      ASSIGN_OR_RETURN(tools->disks_[name],
                       DiskSwitch::create(fmt::format("{}/disk-of-{}", directory, name)));
    }
    if (subject != FaultSubject::kMark) continue;
    if (!tools->mark_rules_.empty()) tools->mark_rules_ += ",";
    tools->mark_rules_ += mark_rule(fault);
  }
  return tools;
}

void FaultTools::install(ClusterSupervisor::Options& options) {
  if (!mark_rules_.empty()) {
    options.arguments.insert(
        options.arguments.end(),
        {"--allow-faults", "-D", fmt::format("{}={}", config::kTestFaults.name, mark_rules_), "-D",
         fmt::format("{}={}", config::kTestFaultsRecord.name, record())});
  }
  if (!disks_.empty()) {
    options.overrides = [this, others = options.overrides](const std::string& name,
                                                           const std::optional<Address>& at) {
      ClusterSupervisor::MemberOverrides all;
      if (others) all = others(name, at);
      const auto disk = disks_.find(name);
      if (disk == disks_.end()) return all;
      const auto arguments = disk->second->arguments();
      all.arguments.insert(all.arguments.end(), arguments.begin(), arguments.end());
      return all;
    };
  }
  if (links_ != nullptr) links_->install(options);
}

LinkProxies& FaultTools::links() {
  CHECK(links_ != nullptr);
  return links_->proxies();
}

DiskSwitch& FaultTools::disk_of(const std::string& task_manager) {
  const auto found = disks_.find(task_manager);
  CHECK(found != disks_.end());
  return *found->second;
}

std::vector<FiredFault> FaultTools::fired_at_marks() {
  return mark_rules_.empty() ? std::vector<FiredFault>() : read_fired(files_, record());
}

}  // namespace freshet::chaos
