#pragma once

#include <vector>

#include "runtime/metrics/metric_registry.h"
#include "runtime/rest/cluster_queries.h"

namespace freshet::rest {

/// What a JobManager says of the cluster, its process, and the jobs that have not ended. Waits for
/// its main thread; of what that does not answer there is nothing.
class JobManagerMetrics final : public MetricSource {
 public:
  /// `queries` outlives it.
  JobManagerMetrics(MetricLabels labels, ClusterQueries& queries)
      : labels_(std::move(labels)), queries_(queries) {}

  void read(TimePoint now, std::vector<MetricGroupReading>* groups) override;

 private:
  const MetricLabels labels_;
  ClusterQueries& queries_;
};

}  // namespace freshet::rest
