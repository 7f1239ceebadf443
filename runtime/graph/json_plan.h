#pragma once

#include <string>

#include "runtime/graph/job_graph.h"

namespace freshet {

/// 32 hex digits that name a vertex of a job to users: its head operator's id, so that they stay
/// the same as long as that does.
std::string vertex_hex_id(const JobVertex&);

/// `Source: text`
std::string operator_description(const ChainedOperator&);

/// `Source: text -> words -> Sink: files`, as Flink's users expect it.
std::string vertex_description(const JobVertex&);

/// The plan of a job as JSON with the keys of Flink's REST API: `jid`, `name`, `type`, and `nodes`
/// in topological order, each with `id`, `parallelism`, `operator`, `operator_strategy`,
/// `description`, `inputs` (none of a source; `num`, `id`, `ship_strategy`, `exchange`) and
/// `optimizer_properties`. Descriptions are escaped for HTML, as Flink's are. Coordinators are not
/// in it: users did not write them. Text that is not UTF-8 is replaced.
///
/// Beside these `regions`: for each set of vertices that pipelined edges or cycles join its
/// `vertices`, `reasons`, into how many regions (`count`) their subtasks fall that run at different
/// times, and, of a job with at most 32 of them, the `members` of each, as ranges of subtasks by
/// vertex.
///
/// `indent`: spaces per level; below 0 all is one line.
std::string json_plan(const JobGraph&, const std::string& job_id, const std::string& job_name,
                      int indent = -1);

}  // namespace freshet
