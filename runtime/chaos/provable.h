#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/logical_graph.h"

namespace freshet::chaos {

/// Where one sink of a job leaves its records: files with a line for each.
struct SinkOutput {
  std::string name;       // Of the sink; those with one name are told apart: `files`, `files 2`.
  std::string directory;  // Absolute, without a slash at its end.
  bool operator==(const SinkOutput&) const = default;
};

/// Whether it can be shown that a job's result is exact: each source ends and can be read again,
/// and all that the job shows appears when it has ended. Gives its outputs, in the order in which
/// the builder named them. Otherwise kFailedPrecondition, with the operator and what to do.
Result<std::vector<SinkOutput>> check_provable(const LogicalGraph&);

}  // namespace freshet::chaos
