#include "runtime/graph/slot_sharing.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

JobVertex vertex(const std::string& group, uint32_t parallelism) {
  JobVertex one;
  one.slot_sharing_group = group;
  one.parallelism = parallelism;
  return one;
}

TEST(SlotSharingTest, NeedsForEachGroupAsManySlotsAsItsWidestVertexHasSubtasks) {
  JobGraph graph;
  graph.vertices = {vertex("b", 1), vertex("a", 3), vertex("b", 4), vertex("a", 2)};
  const SlotShares shares = share_slots(graph);
  EXPECT_EQ(shares.total, 7u);
  EXPECT_EQ(shares.first_slot_of_vertex, (std::vector<uint32_t>{0, 4, 0, 4}));
  EXPECT_EQ(shares.groups, (std::vector<SlotShares::Group>{{"b", 4}, {"a", 3}}));
}

TEST(SlotSharingTest, SaysWhichGroupsNeedHowMany) {
  JobGraph graph;
  graph.vertices = {vertex("default", 1)};
  EXPECT_EQ(share_slots(graph).describe(), "1 slot");
  graph.vertices.push_back(vertex("heavy", 3));
  EXPECT_EQ(share_slots(graph).describe(),
            "4 slots (1 for slot sharing group 'default', 3 for 'heavy')");
  for (int i = 0; i < 8; i++) graph.vertices.push_back(vertex(std::to_string(i), 2));
  EXPECT_TRUE(share_slots(graph).describe().ends_with("2 for '5', the others for 2 more)"))
      << share_slots(graph).describe();
}

TEST(SlotSharingTest, NeedsNoneForNothing) {
  EXPECT_EQ(share_slots(JobGraph()).total, 0u);
  EXPECT_TRUE(share_slots(JobGraph()).first_slot_of_vertex.empty());
}

}  // namespace
}  // namespace freshet
