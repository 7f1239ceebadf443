#include "runtime/graph/slot_sharing.h"

#include <algorithm>
#include <map>

namespace freshet {

SlotShares share_slots(const JobGraph& graph) {
  SlotShares shares;
  std::map<std::string, uint32_t> places;
  for (const JobVertex& vertex : graph.vertices) {
    const auto number = static_cast<uint32_t>(shares.groups.size());
    const auto [place, is_new] = places.emplace(vertex.slot_sharing_group, number);
    if (is_new) shares.groups.push_back({vertex.slot_sharing_group, 0});
    uint32_t& slots = shares.groups[place->second].slots;
    slots = std::max(slots, vertex.parallelism);
    shares.group_of_vertex.push_back(place->second);
  }
  std::vector<uint32_t> first_of_group;
  for (const SlotShares::Group& group : shares.groups) {
    first_of_group.push_back(shares.total);
    shares.total += group.slots;
  }
  for (const uint32_t group : shares.group_of_vertex) {
    shares.first_slot_of_vertex.push_back(first_of_group[group]);
  }
  return shares;
}

std::string SlotShares::describe() const {
  constexpr size_t kNamed = 8;
  std::string text = std::to_string(total) + (total == 1 ? " slot" : " slots");
  if (groups.size() < 2) return text;
  for (size_t i = 0; i < std::min(groups.size(), kNamed); i++) {
    text += (i == 0 ? " (" : ", ") + std::to_string(groups[i].slots) + " for " +
            (i == 0 ? "slot sharing group '" : "'") + groups[i].name + "'";
  }
  if (groups.size() > kNamed) {
    text += ", the others for " + std::to_string(groups.size() - kNamed) + " more";
  }
  return text + ")";
}

}  // namespace freshet
