#include "runtime/graph/strongly_connected.h"

#include <algorithm>

namespace freshet {

namespace {

constexpr uint32_t kNone = ~0u;

class Tarjan {
 public:
  Tarjan(uint32_t nodes, const std::vector<std::pair<uint32_t, uint32_t>>& edges)
      : first_edge_(nodes + 1),
        targets_(edges.size()),
        order_(nodes, kNone),
        low_(nodes),
        next_edge_(nodes),
        component_(nodes, kNone) {
    for (const auto& [from, to] : edges) first_edge_[from + 1]++;
    for (uint32_t i = 0; i < nodes; i++) first_edge_[i + 1] += first_edge_[i];
    std::vector<uint32_t> place(first_edge_.begin(), first_edge_.end() - 1);
    for (const auto& [from, to] : edges) targets_[place[from]++] = to;
  }

  std::vector<uint32_t> run() {
    for (uint32_t node = 0; node < order_.size(); node++) {
      if (order_[node] == kNone) visit_all_from(node);
    }
    return std::move(component_);
  }

 private:
  void visit_all_from(uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      const uint32_t node = path_.back();
      if (next_edge_[node] == first_edge_[node + 1]) {
        leave(node);
        continue;
      }
      const uint32_t target = targets_[next_edge_[node]++];
      if (order_[target] == kNone) {
        enter(target);
      } else if (component_[target] == kNone) {
        low_[node] = std::min(low_[node], order_[target]);
      }
    }
  }

  void enter(uint32_t node) {
    order_[node] = low_[node] = visited_++;
    next_edge_[node] = first_edge_[node];
    path_.push_back(node);
    open_.push_back(node);
  }

  void leave(uint32_t node) {
    path_.pop_back();
    if (!path_.empty()) low_[path_.back()] = std::min(low_[path_.back()], low_[node]);
    if (low_[node] != order_[node]) return;
    while (component_[node] == kNone) {
      component_[open_.back()] = components_;
      open_.pop_back();
    }
    components_++;
  }

  std::vector<uint32_t> first_edge_;  // One more than there are nodes.
  std::vector<uint32_t> targets_;     // By their edge's start.
  std::vector<uint32_t> order_;       // In which nodes were entered.
  std::vector<uint32_t> low_;         // The earliest open node that is reached.
  std::vector<uint32_t> next_edge_;
  std::vector<uint32_t> path_;  // From the root to the present node.
  std::vector<uint32_t> open_;  // Entered, and in no component yet.
  std::vector<uint32_t> component_;
  uint32_t visited_ = 0;
  uint32_t components_ = 0;
};

}  // namespace

std::vector<uint32_t> strongly_connected_components(
    uint32_t nodes, const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  return Tarjan(nodes, edges).run();
}

}  // namespace freshet
