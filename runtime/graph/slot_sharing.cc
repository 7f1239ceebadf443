#include "runtime/graph/slot_sharing.h"

#include <algorithm>
#include <string>
#include <utility>

namespace freshet {

SlotShares share_slots(const JobGraph& graph) {
  std::vector<std::pair<std::string, uint32_t>> groups;  // Name, slots; in order of appearance.
  std::vector<size_t> group_of_vertex;
  for (const JobVertex& vertex : graph.vertices) {
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const auto& g) { return g.first == vertex.slot_sharing_group; });
    if (it == groups.end()) it = groups.insert(groups.end(), {vertex.slot_sharing_group, 0});
    it->second = std::max(it->second, vertex.parallelism);
    group_of_vertex.push_back(static_cast<size_t>(it - groups.begin()));
  }
  SlotShares shares;
  std::vector<uint32_t> first_of_group;
  for (const auto& [name, slots] : groups) {
    first_of_group.push_back(shares.total);
    shares.total += slots;
  }
  for (const size_t group : group_of_vertex) {
    shares.first_slot_of_vertex.push_back(first_of_group[group]);
  }
  return shares;
}

}  // namespace freshet
