#pragma once

#include <cstdint>

#include "runtime/graph/runtime_mode.h"

namespace freshet::bench {

struct ClusterOptions {
  uint32_t parallelism = 10'000;
  RuntimeMode mode = RuntimeMode::kBatch;
  uint32_t task_managers = 4;
  uint32_t network_memory_mb = 800;  // Of each TaskManager.
};

/// What a job of real tasks took that do next to nothing, in real TaskManager processes.
struct ClusterCosts {
  double running_ms = 0;      // From the command that runs it until each task has run.
  double running_rss_mb = 0;  // The peaks of all TaskManagers and the JobManager together.
  double detect_ms = 0;       // From `kill -9` of a TaskManager until the JobManager knows,
  double decide_ms = 0;       // until it is decided what restarts,
  double redeploy_ms = 0;     // until the first of that is deployed,
  double failover_ms = 0;     // and until all that has to run runs again.
  double cancel_ms = 0;       // From its cancellation until the job has ended.
  char failure[300] = {};     // Empty: none.
};

ClusterCosts measure_cluster(const ClusterOptions&);

}  // namespace freshet::bench
