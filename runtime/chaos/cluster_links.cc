#include "runtime/chaos/cluster_links.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "runtime/base/configuration.h"
#include "runtime/chaos/connection_owner.h"

namespace freshet::chaos {

Result<std::unique_ptr<ClusterLinks>> ClusterLinks::start(uint32_t task_managers) {
  std::unique_ptr<ClusterLinks> links(new ClusterLinks());
  LinkProxies::Options options;
  options.name_of = [self = links.get()](const ConnectionEnds& ends) {
    return self->name_of(ends);
  };
  ASSIGN_OR_RETURN(links->proxies_, LinkProxies::start(options));
  std::vector<std::string> names = {std::string(kJobManagerName)};
  for (uint32_t i = 1; i <= task_managers; ++i) names.push_back(task_manager_name(i));
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(links->addresses_[name], links->proxies_->add(name));
  }
  return links;
}

void ClusterLinks::install(ClusterSupervisor::Options& options) {
  using Life = ClusterSupervisor::MemberLife;
  options.overrides = [this, others = options.overrides](
                          const std::string& name, const std::optional<Address>& job_manager) {
    ClusterSupervisor::MemberOverrides all = overrides_of(name);
    if (!others) return all;
    const auto more = others(name, job_manager);
    all.arguments.insert(all.arguments.end(), more.arguments.begin(), more.arguments.end());
    if (!all.job_manager) all.job_manager = more.job_manager;
    return all;
  };
  options.on_started = [this, others = options.on_started](const Life& life) {
    on_started(life);
    if (others) others(life);
  };
  options.on_ready = [this, others = options.on_ready](const Life& life, const Address& address) {
    if (addresses_.contains(life.name)) proxies_->set_target(life.name, address);
    if (others) others(life, address);
  };
  options.on_ended = [this, others = options.on_ended](const Life& life, const ProcessExit& exit) {
    on_ended(life);
    if (others) others(life, exit);
  };
}

ClusterSupervisor::MemberOverrides ClusterLinks::overrides_of(const std::string& name) const {
  ClusterSupervisor::MemberOverrides overrides;
  const auto found = addresses_.find(name);
  if (found == addresses_.end() || name == kJobManagerName) return overrides;
  overrides.job_manager = addresses_.at(std::string(kJobManagerName));
  overrides.arguments = {"-D", fmt::format("{}={}", config::kDataPort.name, found->second.port),
                         "-D", fmt::format("{}=0", config::kDataBindPort.name)};
  return overrides;
}

/// Its port is another one in each life, and somebody else's may be the old one.
void ClusterLinks::on_started(const ClusterSupervisor::MemberLife& life) {
  {
    const std::lock_guard lock(mutex_);
    processes_[life.process.pid] = life.name;
  }
  if (addresses_.contains(life.name)) proxies_->expect_target(life.name);
}

void ClusterLinks::on_ended(const ClusterSupervisor::MemberLife& life) {
  {
    const std::lock_guard lock(mutex_);
    processes_.erase(life.process.pid);
  }
  if (addresses_.contains(life.name)) proxies_->drop_target(life.name);
}

std::string ClusterLinks::name_of(const ConnectionEnds& ends) {
  std::vector<pid_t> pids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [pid, name] : processes_) pids.push_back(pid);
  }
  const auto files = make_local_file_system();
  const auto owner = owner_of(ends, pids, *files);
  const std::lock_guard lock(mutex_);
  const auto found = owner ? processes_.find(*owner) : processes_.end();
  return found == processes_.end() ? "" : found->second;
}

}  // namespace freshet::chaos
