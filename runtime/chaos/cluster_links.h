#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/app/cluster_supervisor.h"
#include "runtime/chaos/link_proxies.h"

namespace freshet::chaos {

/// Puts proxies between the processes of a cluster: TaskManagers reach the JobManager through one,
/// and each other's data. Clients are not concerned: they have the real address, or pass untouched.
///
/// Outlives the supervisor that it was given to. break_link() and heal() from any thread.
class ClusterLinks {
 public:
  /// For TaskManagers `taskmanager-1` to that number; others are reached directly.
  static Result<std::unique_ptr<ClusterLinks>> start(uint32_t task_managers);

  /// What is set there already is asked and told, too; of two addresses of the JobManager the proxy
  /// wins.
  void install(ClusterSupervisor::Options&);

  LinkProxies& proxies() { return *proxies_; }

 private:
  ClusterLinks() = default;

  ClusterSupervisor::MemberOverrides overrides_of(const std::string& name) const;
  void on_started(const ClusterSupervisor::MemberLife&);
  void on_ended(const ClusterSupervisor::MemberLife&);
  std::string name_of(const ConnectionEnds&);

  std::map<std::string, Address> addresses_;  // Of the proxies.
  std::mutex mutex_;
  std::map<pid_t, std::string> processes_;  // With mutex_: the proxies' thread asks.
  std::unique_ptr<LinkProxies> proxies_;    // Last: ends first.
};

}  // namespace freshet::chaos
