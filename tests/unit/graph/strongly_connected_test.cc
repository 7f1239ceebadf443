#include "runtime/graph/strongly_connected.h"

#include <gtest/gtest.h>

#include "runtime/base/random.h"

namespace freshet {
namespace {

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(StronglyConnectedTest, FindsCycles) {
  EXPECT_EQ(strongly_connected_components(0, {}), (std::vector<uint32_t>{}));
  EXPECT_EQ(strongly_connected_components(2, {{0, 0}}), (std::vector<uint32_t>{0, 1}));
  // 1 -> 2 -> 3 -> 1 behind 0, and before 4.
  const std::vector<uint32_t> found =
      strongly_connected_components(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}});
  EXPECT_EQ(found, (std::vector<uint32_t>{2, 1, 1, 1, 0}));
}

/// Chains of regions may be as long as a job has subtasks.
TEST(StronglyConnectedTest, LongPathsNeedNoStack) {
  constexpr uint32_t kNodes = 2'000'000;
  Edges edges;
  for (uint32_t i = 0; i + 1 < kNodes; i++) edges.emplace_back(i, i + 1);
  EXPECT_EQ(strongly_connected_components(kNodes, edges).front(), kNodes - 1);
  edges.emplace_back(kNodes - 1, 0);
  EXPECT_EQ(strongly_connected_components(kNodes, edges).front(), 0u);
}

std::vector<std::vector<bool>> reachable(uint32_t nodes, const Edges& edges) {
  std::vector<std::vector<bool>> reach(nodes, std::vector<bool>(nodes, false));
  for (const auto& [from, to] : edges) reach[from][to] = true;
  for (uint32_t k = 0; k < nodes; k++) {
    for (uint32_t i = 0; i < nodes; i++) {
      for (uint32_t j = 0; j < nodes; j++) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

TEST(StronglyConnectedTest, AgreesWithReachability) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    const auto random = make_seeded_random(seed);
    const auto nodes = static_cast<uint32_t>(1 + random->below(12));
    Edges edges;
    for (uint64_t i = 0; i < random->below(2 * nodes); i++) {
      edges.emplace_back(static_cast<uint32_t>(random->below(nodes)),
                         static_cast<uint32_t>(random->below(nodes)));
    }
    const auto reach = reachable(nodes, edges);
    const std::vector<uint32_t> component = strongly_connected_components(nodes, edges);
    for (uint32_t i = 0; i < nodes; i++) {
      for (uint32_t j = 0; j < nodes; j++) {
        const bool same = i == j || (reach[i][j] && reach[j][i]);
        EXPECT_EQ(component[i] == component[j], same) << "seed " << seed << " " << i << " " << j;
        if (reach[i][j] && !same) {
          EXPECT_GT(component[i], component[j]) << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace freshet
