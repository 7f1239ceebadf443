#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "network/transport.h"
#include "runtime/base/status.h"
#include "tests/integration/test_cluster.h"

namespace freshet::bench {

/// Where the processes of a cluster answer for Prometheus.
std::vector<Address> metrics_endpoints_of(const testing::TestCluster&, uint32_t task_managers);

/// Reads metrics once a second until it is stopped, as Prometheus would every fifteen.
class Scraper {
 public:
  explicit Scraper(std::vector<Address> endpoints);
  ~Scraper();

  /// An error when an endpoint did not answer, or there was none.
  Status stop();

 private:
  void run();

  const std::vector<Address> endpoints_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  Status status_;
  std::thread thread_;
};

}  // namespace freshet::bench
