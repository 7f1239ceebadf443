#pragma once

#include <memory>

#include "runtime/base/status.h"
#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"

namespace freshet {

/// The codec and key selector of the records of an edge; kInvalidArgument when the module has none,
/// as it did not build this graph.
Result<std::shared_ptr<const EdgeType>> edge_type_of(const BuiltJob&, const JobEdge&);

}  // namespace freshet
