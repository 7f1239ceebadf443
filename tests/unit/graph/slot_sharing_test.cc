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
}

TEST(SlotSharingTest, NeedsNoneForNothing) {
  EXPECT_EQ(share_slots(JobGraph()).total, 0u);
  EXPECT_TRUE(share_slots(JobGraph()).first_slot_of_vertex.empty());
}

}  // namespace
}  // namespace freshet
