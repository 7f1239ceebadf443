#include "runtime/graph/topological_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

using ::testing::ElementsAre;

TEST(TopologicalOrderTest, PutsTheSmallestPossibleNodeFirst) {
  EXPECT_THAT(topological_order(4, {{3, 0}, {0, 1}}), ElementsAre(2, 3, 0, 1));
}

TEST(TopologicalOrderTest, LeavesOutWhatIsOnOrBehindACycle) {
  EXPECT_THAT(topological_order(4, {{1, 2}, {2, 1}, {2, 3}}), ElementsAre(0));
}

}  // namespace
}  // namespace freshet
