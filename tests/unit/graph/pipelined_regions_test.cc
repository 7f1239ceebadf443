#include "runtime/graph/pipelined_regions.h"

#include <gmock/gmock.h>

#include <set>

#include "runtime/graph/strongly_connected.h"
#include "runtime/graph/union_find.h"
#include "tests/unit/graph/region_sketch.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<uint32_t>> regions(const JobGraph& graph,
                                           RegionCycles cycles = RegionCycles::kMerged) {
  const PipelinedRegions found(graph, cycles);
  std::vector<std::vector<uint32_t>> result;
  for (uint32_t r = 0; r < found.count(); r++) {
    const auto members = found.members(r);
    result.emplace_back(members.begin(), members.end());
    for (const uint32_t member : members) EXPECT_EQ(found.region_of(member), r);
  }
  return result;
}

std::vector<std::pair<uint32_t, uint32_t>> all_pairs(const JobGraph& graph, const JobEdge& edge) {
  std::vector<uint32_t> first{0};
  for (const JobVertex& vertex : graph.vertices) first.push_back(first.back() + vertex.parallelism);
  const uint32_t producers = graph.vertices[edge.producer.value].parallelism;
  const uint32_t consumers = graph.vertices[edge.consumer.value].parallelism;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t p = 0; p < producers; p++) {
    const IndexRange read = consumers_of_producer(edge.partitioning, p, producers, consumers);
    for (uint32_t c = read.begin; c < read.end; c++)
      pairs.emplace_back(first[edge.producer.value] + p, first[edge.consumer.value] + c);
  }
  return pairs;
}

/// By definition: subtasks that pipelined pairs join, merged while any wait for each other.
std::set<std::vector<uint32_t>> naive_regions(const JobGraph& graph) {
  uint32_t subtasks = 0;
  for (const JobVertex& vertex : graph.vertices) subtasks += vertex.parallelism;
  UnionFind sets(subtasks);
  std::vector<std::pair<uint32_t, uint32_t>> between;
  for (const JobEdge& edge : graph.edges) {
    if (edge.exchange == Exchange::kBlocking) continue;
    for (const auto& [p, c] : all_pairs(graph, edge)) sets.join(p, c);
  }
  for (const JobEdge& edge : graph.edges) {
    if (edge.exchange != Exchange::kBlocking) continue;
    for (const auto& [p, c] : all_pairs(graph, edge))
      between.emplace_back(sets.find(p), sets.find(c));
  }
  const std::vector<uint32_t> component = strongly_connected_components(subtasks, between);
  std::map<uint32_t, std::vector<uint32_t>> by_component;
  for (uint32_t s = 0; s < subtasks; s++) by_component[component[sets.find(s)]].push_back(s);
  std::set<std::vector<uint32_t>> result;
  for (const auto& [number, members] : by_component) result.insert(members);
  return result;
}

/// Whether each region can start once those before it are done.
bool all_can_finish(const JobGraph& graph, const PipelinedRegions& found) {
  std::vector<std::set<uint32_t>> needs(found.count());
  for (const JobEdge& edge : graph.edges) {
    if (edge.exchange != Exchange::kBlocking) continue;
    for (const auto& [p, c] : all_pairs(graph, edge)) {
      if (found.region_of(p) != found.region_of(c))
        needs[found.region_of(c)].insert(found.region_of(p));
    }
  }
  std::set<uint32_t> finished;
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t r = 0; r < found.count(); r++) {
      if (finished.count(r) > 0 ||
          !std::includes(finished.begin(), finished.end(), needs[r].begin(), needs[r].end()))
        continue;
      finished.insert(r);
      progress = true;
    }
  }
  return finished.size() == found.count();
}

TEST(PipelinedRegionsTest, PipelinedEdgesJoin) {
  EXPECT_THAT(regions(RegionSketch({2, 2, 2}).pipelined(0, 1).blocking(1, 2).graph),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3), ElementsAre(4), ElementsAre(5)));
  EXPECT_THAT(regions(RegionSketch({2, 2}).pipelined(0, 1, Partitioning::kHash).graph),
              ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(regions(RegionSketch({2, 2}).blocking(0, 1, Partitioning::kHash).graph),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

TEST(PipelinedRegionsTest, FeedbackIsPipelined) {
  RegionSketch sketch({1, 2});
  sketch.pipelined(0, 1, Partitioning::kDirect).pipelined(1, 0, Partitioning::kGlobal);
  sketch.graph.edges.back().feedback = true;
  EXPECT_EQ(regions(sketch.graph).size(), 1u);
}

/// FLINK-17330: each region would wait for a part of every other.
TEST(PipelinedRegionsTest, BlockingAllToAllEdgeInsideMakesOneRegion) {
  const JobGraph graph = RegionSketch({2, 2, 2, 2})
                             .pipelined(0, 1)
                             .blocking(1, 3, Partitioning::kHash)
                             .pipelined(0, 2)
                             .pipelined(2, 3)
                             .graph;
  EXPECT_THAT(regions(graph), ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  const PipelinedRegions split(graph, RegionCycles::kLeft);
  EXPECT_EQ(split.count(), 2u);
  EXPECT_FALSE(all_can_finish(graph, split));
}

TEST(PipelinedRegionsTest, CyclesOfSubtasksAreMerged) {
  const JobGraph graph = RegionSketch({2, 2, 3, 2, 4})
                             .pipelined(0, 1)
                             .pipelined(0, 2)
                             .pipelined(1, 3)
                             .pipelined(2, 4)
                             .blocking(1, 4)
                             .blocking(2, 3)
                             .graph;
  // e2 reads b1, and d1 reads c1.
  EXPECT_THAT(regions(graph, RegionCycles::kLeft),
              ElementsAre(ElementsAre(0, 2, 4, 5, 7, 9, 10, 11), ElementsAre(1, 3, 6, 8, 12)));
  EXPECT_FALSE(all_can_finish(graph, PipelinedRegions(graph, RegionCycles::kLeft)));
  EXPECT_EQ(regions(graph).size(), 1u);
  const PipelinedRegions merged(graph);
  ASSERT_EQ(merged.logical_regions().size(), 1u);
  EXPECT_EQ(merged.logical_regions()[0].reasons.back(),
            (RegionReason{RegionMerge::kSubtaskCycle, DatasetId{4}}));
}

TEST(PipelinedRegionsTest, OneRegionMayReadOfAnotherAndOfItself) {
  const JobGraph graph =
      RegionSketch({2, 3, 2}).pipelined(0, 1).pipelined(0, 2).blocking(1, 2).graph;
  // c0 reads b0; c1 reads b1, which is in the first region, and b2.
  EXPECT_THAT(regions(graph), ElementsAre(ElementsAre(0, 2, 3, 5), ElementsAre(1, 4, 6)));
}

/// Vertices that pipelined edges join can need each other although no vertex is on a cycle.
TEST(PipelinedRegionsTest, CyclesOfVerticesAreMerged) {
  for (const bool wide : {false, true}) {
    const Partitioning p = wide ? Partitioning::kHash : Partitioning::kRescale;
    const JobGraph graph =
        RegionSketch({2, 2, 2}).pipelined(0, 1).blocking(0, 2, p).blocking(2, 1, p).graph;
    EXPECT_EQ(regions(graph).size(), wide ? 1u : 2u);
    EXPECT_EQ(regions(graph, RegionCycles::kLeft).size(), 4u);
    EXPECT_FALSE(all_can_finish(graph, PipelinedRegions(graph, RegionCycles::kLeft)));
    EXPECT_TRUE(all_can_finish(graph, PipelinedRegions(graph)));
  }
}

TEST(PipelinedRegionsTest, AgreeWithThoseOfAllPairs) {
  uint32_t merged = 0;
  for (uint64_t seed = 1; seed <= 3000; seed++) {
    const JobGraph graph = random_region_graph(seed);
    const auto found = regions(graph);
    EXPECT_EQ(std::set<std::vector<uint32_t>>(found.begin(), found.end()), naive_regions(graph))
        << "seed " << seed;
    EXPECT_TRUE(all_can_finish(graph, PipelinedRegions(graph))) << "seed " << seed;
    merged += PipelinedRegions(graph, RegionCycles::kLeft).count() != found.size();
  }
  EXPECT_GT(merged, 300u);  // Else the graphs are too simple.
}

TEST(PipelinedRegionsTest, SayWhy) {
  const JobGraph graph = RegionSketch({2, 2, 2, 2})
                             .pipelined(0, 1)
                             .blocking(1, 2, Partitioning::kHash)
                             .pipelined(2, 3, Partitioning::kRebalance)
                             .graph;
  const PipelinedRegions found(graph);
  ASSERT_EQ(found.logical_regions().size(), 2u);
  const LogicalRegion& first = found.logical_regions()[0];
  EXPECT_THAT(first.vertices, ElementsAre(VertexId{0}, VertexId{1}));
  EXPECT_EQ(first.regions, (IndexRange{0, 2}));
  ASSERT_EQ(first.reasons.size(), 1u);
  EXPECT_EQ(describe(first.reasons[0], graph), "pipelined edge 'a' -> 'b'");
  const LogicalRegion& second = found.logical_regions()[1];
  EXPECT_EQ(second.regions, (IndexRange{2, 3}));
  ASSERT_EQ(second.reasons.size(), 2u);
  EXPECT_EQ(describe(second.reasons[1], graph), "all-to-all edge 'c' -> 'd' inside");
}

/// Nothing may follow pairs: twice the subtasks, twice the steps.
TEST(PipelinedRegionsTest, StepsFollowSubtasks) {
  const auto steps = [](uint32_t n, Partitioning p, Exchange exchange) {
    return PipelinedRegions(RegionSketch({n, n}).edge(0, 1, p, exchange).graph).steps();
  };
  for (const Exchange exchange : {Exchange::kPipelined, Exchange::kBlocking}) {
    for (const Partitioning p : {Partitioning::kHash, Partitioning::kRescale}) {
      const uint64_t once = steps(1 << 12, p, exchange) - steps(1, p, exchange);
      const uint64_t all = steps(1 << 20, p, exchange) - steps(1, p, exchange);
      EXPECT_EQ(all * ((1 << 12) - 1), once * ((1 << 20) - 1));
    }
  }
}

}  // namespace
}  // namespace freshet
