#pragma once

#include <memory>

#include "runtime/operators/edge_type.h"

namespace freshet {

/// From an enumerator to its readers, Partitioning::kDirect. target() throws std::out_of_range when
/// a split names a reader that does not exist.
std::shared_ptr<const EdgeType> make_split_edge();

/// From readers to their enumerator, Partitioning::kGlobal, feedback.
std::shared_ptr<const EdgeType> make_split_request_edge();

}  // namespace freshet
