#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/thread_executor.h"
#include "runtime/chaos/cluster_links.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {

/// A cluster of real processes, supervised by this one, whose links can be broken. The destructor
/// ends what it started.
class BreakableCluster {
 public:
  explicit BreakableCluster(const std::vector<std::string>& settings, uint32_t task_managers = 2);
  ~BreakableCluster();

  /// For commands and jobs; neither starts nor ends anything.
  TestCluster& cluster() { return *cluster_; }
  chaos::LinkProxies& links() { return links_->proxies(); }
  bool wait_until_ready();

  /// Until it is healed by its number, or all are.
  chaos::LinkProxies::Broken break_link(chaos::Fault);

 private:
  void supervise(ClusterSupervisor::Options);

  const TemporaryDirectory directory_;
  const std::unique_ptr<Clock> clock_;
  std::unique_ptr<chaos::ClusterLinks> links_;
  std::unique_ptr<TestCluster> cluster_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> ready_ = false;
  std::unique_ptr<ThreadExecutor> supervisor_;
};

}  // namespace freshet::testing
