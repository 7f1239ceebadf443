#pragma once

#include <cstdint>
#include <string>

#include "runtime/graph/job_graph.h"

namespace freshet::bench {

/// Two vertices of `parallelism` subtasks each, and an all-to-all edge between them: a pipelined
/// one in streaming mode, a blocking one in batch mode.
JobGraph all_to_all_graph(uint32_t parallelism, RuntimeMode);

/// What one measurement of the control plane alone took. Times are those of the measuring thread's
/// CPU: nothing here waits. Plain, for a pipe.
struct GraphCosts {
  double init_ms = 0;       // From the JobGraph to the job's graph, regions and strategy.
  double graph_mb = 0;      // Allocated by it, as a counting allocator says.
  double graph_rss_mb = 0;  // As the kernel says.
  double regions_ms = 0;
  double restart_set_ms = 0;          // One failed producer: it and all consumers.
  double schedule_downstream_ms = 0;  // All producers end, all consumers get slots.
  double release_ms = 0;              // All consumers end, and all partitions go.
  uint64_t steps = 0;     // Subtasks, groups and edges that were visited by all of the above.
  uint64_t restarts = 0;  // Tasks of the restart set: equal on both sides.

  double total_ms() const {
    return init_ms + regions_ms + restart_set_ms + schedule_downstream_ms + release_ms;
  }
};

/// In a process that has measured nothing before: memory is what comes new.
GraphCosts measure_graph(uint32_t parallelism, RuntimeMode);
/// The same with an object for each pair of producer and consumer.
GraphCosts measure_expanded_graph(uint32_t parallelism, RuntimeMode);

/// What the latter needs at least.
uint64_t expanded_graph_bytes(uint32_t parallelism);

}  // namespace freshet::bench
