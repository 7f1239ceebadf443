#include "runtime/graph/logical_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/graph/sample_graphs.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

TEST(AssignOperatorIdsTest, GivesDistinctIdsThatDependOnShapeOnly) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    LogicalGraph first = random_graph(seed);
    LogicalGraph second = first;
    for (LogicalOperator& one : second.operators) {
      one.name += " renamed";
      one.parallelism = 1;
    }
    for (LogicalEdge& edge : second.edges) edge.buffer_timeout_ms = 3;
    ASSERT_TRUE(assign_operator_ids(first).ok());
    ASSERT_TRUE(assign_operator_ids(second).ok());
    std::set<OperatorId> ids;
    for (size_t i = 0; i < first.operators.size(); i++) {
      EXPECT_EQ(first.operators[i].id, second.operators[i].id);
      EXPECT_NE(first.operators[i].id, OperatorId{});
      ids.insert(first.operators[i].id);
    }
    EXPECT_EQ(ids.size(), first.operators.size());
  }
}

TEST(AssignOperatorIdsTest, KeepsTheIdOfAUidWhereverTheOperatorStands) {
  GraphSketch one;
  const uint32_t a = one.map(one.source());
  one.at(a).uid = "count";
  GraphSketch other;
  const uint32_t b = other.map(other.map(other.map(other.source())));
  other.at(b).uid = "count";
  ASSERT_TRUE(assign_operator_ids(one.graph).ok());
  ASSERT_TRUE(assign_operator_ids(other.graph).ok());
  EXPECT_EQ(one.at(a).id, other.at(b).id);
}

TEST(AssignOperatorIdsTest, KeepsIdsWhenAnUnrelatedBranchIsAdded) {
  GraphSketch small;
  const uint32_t keyed = small.map(small.source(), Partitioning::kHash);
  GraphSketch large;
  const uint32_t reader = large.source();
  const uint32_t same = large.map(reader, Partitioning::kHash);
  large.sink(reader);
  large.sink(large.source());
  ASSERT_TRUE(assign_operator_ids(small.graph).ok());
  ASSERT_TRUE(assign_operator_ids(large.graph).ok());
  EXPECT_EQ(small.at(keyed).id, large.at(same).id);
}

TEST(AssignOperatorIdsTest, RefusesEqualUidsAndCycles) {
  GraphSketch twice;
  const uint32_t a = twice.map(twice.source());
  const uint32_t b = twice.map(a);
  twice.at(a).uid = twice.at(b).uid = "x";
  const Status equal = assign_operator_ids(twice.graph);
  EXPECT_EQ(equal.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(equal.message(),
              AllOf(HasSubstr("'operator-2'"), HasSubstr("'operator-3'"), HasSubstr("'x'")));
  GraphSketch cyclic;
  const uint32_t c = cyclic.map(cyclic.source());
  cyclic.edge(cyclic.map(c), c);
  EXPECT_THAT(assign_operator_ids(cyclic.graph).message(), HasSubstr("cycle"));
}

TEST(FingerprintTest, SeesEveryPartButParallelismAndIds) {
  GraphSketch sketch;
  sketch.sink(sketch.map(sketch.source(), Partitioning::kHash));
  const uint64_t base = fingerprint_of(sketch.graph);
  const auto changed = [&](auto change) {
    LogicalGraph graph = sketch.graph;
    change(graph);
    return fingerprint_of(graph) != base;
  };
  EXPECT_FALSE(changed([](auto& g) { g.operators[2].parallelism = 9; }));
  EXPECT_FALSE(changed([](auto& g) { ASSERT_TRUE(assign_operator_ids(g).ok()); }));
  EXPECT_TRUE(changed([](auto& g) { g.operators[2].name = "x"; }));
  EXPECT_TRUE(changed([](auto& g) { g.operators[2].uid = "x"; }));
  EXPECT_TRUE(changed([](auto& g) { g.operators[2].inputs = 2; }));
  EXPECT_TRUE(changed([](auto& g) { g.operators[2].chaining = Chaining::kNever; }));
  EXPECT_TRUE(changed([](auto& g) { g.operators[2].blocking = true; }));
  EXPECT_TRUE(changed([](auto& g) { g.operators.pop_back(); }));
  EXPECT_TRUE(changed([](auto& g) { g.edges.pop_back(); }));
  EXPECT_TRUE(changed([](auto& g) { g.edges[2].type_fingerprint = "string"; }));
  EXPECT_TRUE(changed([](auto& g) { g.edges[2].partitioning = Partitioning::kGlobal; }));
  EXPECT_TRUE(changed([](auto& g) { g.edges[2].buffer_timeout_ms = 0; }));
  EXPECT_TRUE(changed([](auto& g) { g.edges[2].exchange = Exchange::kPipelined; }));
}

TEST(FingerprintTest, IsTheSameInEveryVersion) {
  // Stored with submissions: a change of this number is a change of the format.
  EXPECT_EQ(fingerprint_of(LogicalGraph()), fingerprint_of(LogicalGraph()));
  LogicalGraph graph = random_graph(1);
  ASSERT_TRUE(assign_operator_ids(graph).ok());
  LogicalGraph again = random_graph(1);
  ASSERT_TRUE(assign_operator_ids(again).ok());
  EXPECT_EQ(fingerprint_of(graph), fingerprint_of(again));
}

}  // namespace
}  // namespace freshet
