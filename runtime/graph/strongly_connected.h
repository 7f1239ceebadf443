#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace freshet {

/// The strongly connected component of each of `nodes` nodes: two nodes have the same number when
/// each reaches the other. Numbers are dense, and an edge between two components goes from the
/// higher number to the lower. Tarjan's algorithm without recursion: paths may have any length.
std::vector<uint32_t> strongly_connected_components(
    uint32_t nodes, const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace freshet
