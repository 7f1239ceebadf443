#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace freshet {

/// Nodes 0 to `nodes` so that every edge (from, to) goes forward; of several possible nodes the
/// smallest comes first. On a cycle the nodes that are on one or behind one are missing. All ends
/// of edges are below `nodes`.
std::vector<uint32_t> topological_order(uint32_t nodes,
                                        const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace freshet
