#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobmanager/cluster_view.h"
#include "runtime/base/status.h"
#include "runtime/rest/rest_json.h"

namespace freshet::rest {

/// A metric's name, as Flink names it, and its value.
using Metric = std::pair<std::string, double>;

// Those of the catalog in runtime/metrics, in its order.

/// Of a subtask, and of its operators with their name before: `Source__text.numRecordsOut`.
std::vector<Metric> metrics_of(const VertexView&, const SubtaskView&);
std::vector<Metric> metrics_of(const JobSummaryView&);
std::vector<Metric> metrics_of(const TaskManagerView&);
/// Of a JobManager.
std::vector<Metric> metrics_of(const ClusterNumbers&, const ProcessNumbers&);

ClusterNumbers numbers_of(const std::vector<JobSummaryView>&, const std::vector<TaskManagerView>&);

/// With an empty `wanted`: `[{"id": ...}]`, else `[{"id": ..., "value": "..."}]` of those wanted
/// that there are. Values are texts, as in Flink.
std::string metrics_text(const std::vector<Metric>& metrics,
                         const std::vector<std::string>& wanted);

/// The same over many: `min`, `max`, `avg`, `sum`, or those of them that `aggregations` names.
/// kInvalidArgument when it names something else.
Result<Json> aggregated_metrics_json(const std::vector<std::vector<Metric>>& all,
                                     const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& aggregations);

/// `0,2-4`: rising and each once. kInvalidArgument for what is no such list or not below `count`.
Result<std::vector<uint32_t>> parse_indices(std::string_view text, uint32_t count);

/// The parts of a text between commas; none of an empty one.
std::vector<std::string> split_list(std::string_view text);

}  // namespace freshet::rest
