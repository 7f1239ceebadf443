#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/graph/runtime_mode.h"

namespace freshet::bench {

struct DeploymentOptions {
  uint32_t parallelism = 10'000;
  RuntimeMode mode = RuntimeMode::kBatch;
  uint32_t endpoints = 100;
  bool blobs = false;  // Whatever can be named is fetched.
  bool cache = true;   // False: groups are encoded and sent with each deployment.
};

/// What one deployment took. Plain, for a pipe.
struct DeploymentCosts {
  double deploy_ms = 0;  // From the submission to the last acknowledgement: of all consumers, of
                         // which those of a batch job are deployed when all producers have ended.
  double sent_mb = 0;
  uint64_t blob_fetches = 0;
  double main_stall_ms = 0;     // The longest that one thing took on the JobManager's main thread.
  double main_wait_ms = 0;      // The longest that anything waited for it, behind all others.
  double heartbeat_p99_ms = 0;  // From a heartbeat to its answer.
  char failure[200] = {};       // Empty: none.
};

/// A JobManager and endpoints in one process, over TCP on loopback.
DeploymentCosts measure_deployment(const DeploymentOptions&);

/// The same endpoints and messages without groups: each task is told all of its producers in a
/// message of its own, encoded for it alone.
DeploymentCosts measure_expanded_deployment(const DeploymentOptions&);

}  // namespace freshet::bench
