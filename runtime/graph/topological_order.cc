#include "runtime/graph/topological_order.h"

#include <functional>
#include <queue>

namespace freshet {

std::vector<uint32_t> topological_order(uint32_t nodes,
                                        const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  std::vector<std::vector<uint32_t>> successors(nodes);
  std::vector<uint32_t> open_inputs(nodes, 0);
  for (const auto& [from, to] : edges) {
    successors[from].push_back(to);
    open_inputs[to]++;
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t node = 0; node < nodes; node++) {
    if (open_inputs[node] == 0) ready.push(node);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const uint32_t next : successors[node]) {
      if (--open_inputs[next] == 0) ready.push(next);
    }
  }
  return order;
}

}  // namespace freshet
