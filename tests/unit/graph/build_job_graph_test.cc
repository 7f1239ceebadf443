#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runtime/graph/buffer_timeout.h"
#include "runtime/graph/job_graph.h"
#include "tests/unit/graph/sample_graphs.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobGraphOptions four() { return {.parallelism = 4}; }

JobGraph build(LogicalGraph graph, const JobGraphOptions& options = four()) {
  EXPECT_TRUE(assign_operator_ids(graph).ok());
  auto built = build_job_graph(graph, options);
  EXPECT_TRUE(built.ok()) << built.status().to_string();
  return built.ok() ? *built : JobGraph();
}

std::string refusal(const LogicalGraph& graph, const JobGraphOptions& options = four()) {
  const auto built = build_job_graph(graph, options);
  EXPECT_FALSE(built.ok());
  EXPECT_EQ(built.status().code(), StatusCode::kInvalidArgument);
  return built.status().message();
}

TEST(BuildJobGraphTest, ChainsForwardEdgesAndSplitsAtTheShuffle) {
  GraphSketch sketch;
  const uint32_t reader = sketch.source();
  sketch.sink(sketch.map(sketch.map(reader), Partitioning::kHash));
  const JobGraph graph = build(sketch.graph);
  ASSERT_EQ(graph.vertices.size(), 3u);
  EXPECT_EQ(graph.vertices[0].name(), "operator-0");
  EXPECT_TRUE(graph.vertices[0].hidden);
  EXPECT_EQ(graph.vertices[0].parallelism, 1u);
  EXPECT_EQ(graph.vertices[1].name(), "operator-1 -> operator-2");
  EXPECT_EQ(graph.vertices[2].name(), "operator-3 -> operator-4");
  EXPECT_EQ(graph.vertices[2].parallelism, 4u);
  EXPECT_EQ(graph.vertices[2].max_parallelism, 128u);
  ASSERT_EQ(graph.edges.size(), 3u);
  EXPECT_TRUE(graph.edges[1].feedback);
  EXPECT_EQ(graph.edges[2].partitioning, Partitioning::kHash);
  EXPECT_THAT(graph.inputs_of(VertexId{1}), ElementsAre(DatasetId{0}));
  EXPECT_THAT(graph.outputs_of(VertexId{1}), ElementsAre(DatasetId{1}, DatasetId{2}));
  EXPECT_EQ(graph.edges[2].source_operator, graph.vertices[1].operators[1].id);
  EXPECT_EQ(graph.edges[2].target_operator, graph.vertices[2].operators[0].id);
}

TEST(BuildJobGraphTest, ChainsBothBranchesOfAFan) {
  GraphSketch sketch;
  const uint32_t reader = sketch.source();
  sketch.sink(reader);
  sketch.sink(sketch.map(reader));
  const JobGraph graph = build(sketch.graph);
  ASSERT_EQ(graph.vertices.size(), 2u);
  const JobVertex& vertex = graph.vertices[1];
  ASSERT_EQ(vertex.operators.size(), 4u);
  ASSERT_EQ(vertex.operators[0].outputs.size(), 3u);
  EXPECT_EQ(vertex.operators[0].outputs[0].dataset, DatasetId{1});
  EXPECT_TRUE(vertex.operators[0].outputs[1].chained);
  EXPECT_EQ(vertex.operators[0].outputs[1].chained_operator, 1u);
  EXPECT_EQ(vertex.operators[0].outputs[2].chained_operator, 2u);
  EXPECT_EQ(vertex.operators[2].outputs[0].chained_operator, 3u);
}

TEST(BuildJobGraphTest, DoesNotChainWhatMustStayApart) {
  const auto vertices = [](auto change) {
    GraphSketch sketch;
    const uint32_t reader = sketch.source();
    const uint32_t map = sketch.map(reader);
    sketch.sink(map);
    change(sketch, map);
    return build(sketch.graph).vertices.size();
  };
  EXPECT_EQ(vertices([](auto&, uint32_t) {}), 2u);
  EXPECT_EQ(vertices([](auto& s, uint32_t m) { s.at(m).chaining = Chaining::kHead; }), 3u);
  EXPECT_EQ(vertices([](auto& s, uint32_t m) { s.at(m).chaining = Chaining::kNever; }), 4u);
  EXPECT_EQ(vertices([](auto& s, uint32_t m) { s.at(m).blocking = true; }), 4u);
  EXPECT_EQ(vertices([](auto& s, uint32_t m) { s.at(m).slot_sharing_group = "x"; }), 3u);
  EXPECT_EQ(vertices([](auto& s, uint32_t m) { s.at(m).max_parallelism = 16; }), 3u);
  EXPECT_EQ(vertices([](auto& s, uint32_t) { s.graph.edges[2].exchange = Exchange::kBlocking; }),
            3u);
}

std::vector<std::string> names_of(const JobGraph& graph) {
  std::vector<std::string> names;
  for (const JobVertex& vertex : graph.vertices) names.push_back(vertex.name());
  return names;
}

TEST(BuildJobGraphTest, ChainsFromAHeadOnAndNothingWithWhatIsNeverChained) {
  const auto names = [](auto change) {
    GraphSketch sketch;
    const uint32_t one = sketch.map(sketch.source());
    const uint32_t two = sketch.map(one);
    sketch.sink(sketch.map(two));
    change(sketch.graph.operators);
    return names_of(build(sketch.graph));
  };
  const auto op = [](std::initializer_list<int> indices) {
    std::string name;
    for (const int index : indices) {
      name += (name.empty() ? "" : " -> ") + ("operator-" + std::to_string(index));
    }
    return name;
  };
  EXPECT_THAT(names([](auto&) {}), ElementsAre(op({0}), op({1, 2, 3, 4, 5})));
  EXPECT_THAT(names([](auto& o) { o[3].chaining = Chaining::kHead; }),
              ElementsAre(op({0}), op({1, 2}), op({3, 4, 5})));
  EXPECT_THAT(names([](auto& o) { o[3].chaining = Chaining::kNever; }),
              ElementsAre(op({0}), op({1, 2}), op({3}), op({4, 5})));
  EXPECT_THAT(names([](auto& o) { o[1].chaining = Chaining::kHead; }),
              ElementsAre(op({0}), op({1, 2, 3, 4, 5})));
  EXPECT_THAT(names([](auto& o) { o[1].chaining = Chaining::kNever; }),
              ElementsAre(op({0}), op({1}), op({2, 3, 4, 5})));
  EXPECT_THAT(names([](auto& o) { o[5].chaining = Chaining::kHead; }),
              ElementsAre(op({0}), op({1, 2, 3, 4}), op({5})));
  EXPECT_THAT(names([](auto& o) { o[3].slot_sharing_group = "other"; }),
              ElementsAre(op({0}), op({1, 2}), op({3, 4, 5})));
}

TEST(BuildJobGraphTest, OperatorsHaveTheSlotSharingGroupOfTheirInputsWhenTheyAgree) {
  GraphSketch sketch;
  const uint32_t a = sketch.source();
  const uint32_t b = sketch.source();
  sketch.at(b).slot_sharing_group = "b";
  const uint32_t behind_b = sketch.map(b, Partitioning::kRebalance);
  const uint32_t alike = sketch.map(behind_b, Partitioning::kRebalance);
  sketch.edge(b, alike, Partitioning::kRebalance);
  const uint32_t mixed = sketch.map(a, Partitioning::kRebalance);
  sketch.edge(alike, mixed, Partitioning::kRebalance);
  sketch.at(sketch.sink(mixed, Partitioning::kRebalance)).slot_sharing_group = "end";
  const JobGraph graph = build(sketch.graph);
  std::map<std::string, std::string> groups;
  for (const JobVertex& vertex : graph.vertices) groups[vertex.name()] = vertex.slot_sharing_group;
  EXPECT_EQ(groups, (std::map<std::string, std::string>{
                        {"operator-0", "default"},
                        {"operator-1", "default"},
                        {"operator-2", "default"},  // Splits of b: not told.
                        {"operator-3", "b"},
                        {"operator-4", "b"},
                        {"operator-5", "b"},
                        {"operator-6", "default"},
                        {"operator-7", "end"}}));
}

TEST(BuildJobGraphTest, GivesEdgesTheTimeoutOfTheirProducerOrOfTheJob) {
  GraphSketch sketch;
  const uint32_t map = sketch.map(sketch.source(), Partitioning::kRebalance);
  sketch.sink(map, Partitioning::kRebalance);
  sketch.graph.edges[2].buffer_timeout_ms = 0;
  const JobGraph graph = build(sketch.graph, {.parallelism = 4, .buffer_timeout_ms = 7});
  EXPECT_EQ(graph.edges[2].buffer_timeout_ms, 0u);
  EXPECT_EQ(graph.edges[3].buffer_timeout_ms, 7u);
  sketch.graph.edges[3].buffer_timeout_ms = kNeverFlushedByTime;
  EXPECT_EQ(build(sketch.graph).edges[3].buffer_timeout_ms, kNeverFlushedByTime);
  sketch.graph.edges[3].buffer_timeout_ms = kBufferTimeoutMsMax + 1;
  EXPECT_THAT(refusal(sketch.graph),
              AllOf(HasSubstr("from 'operator-2' to 'operator-3'"), HasSubstr("0 to 86400000 ms")));
}

TEST(BufferTimeoutTest, TakesUpToADayAndNone) {
  EXPECT_EQ(*buffer_timeout_ms_of(0ms), 0u);
  EXPECT_EQ(*buffer_timeout_ms_of(1us), 1u);
  EXPECT_EQ(*buffer_timeout_ms_of(24h), kBufferTimeoutMsMax);
  EXPECT_EQ(*buffer_timeout_ms_of(kNoBufferTimeout), kNeverFlushedByTime);
  EXPECT_EQ(*buffer_timeout_ms_of(Duration::max()), kNeverFlushedByTime);
  const auto refused = buffer_timeout_ms_of(24h + 1ms);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("0 (each record is sent by itself) to 24 h"));
}

TEST(BuildJobGraphTest, DoesNotChainUnions) {
  GraphSketch sketch;
  const uint32_t a = sketch.source();
  const uint32_t b = sketch.source();
  const uint32_t map = sketch.map(a);
  sketch.edge(b, map);
  sketch.sink(map);
  const JobGraph graph = build(sketch.graph);
  EXPECT_EQ(graph.vertices.size(), 5u);
  EXPECT_EQ(graph.inputs_of(graph.vertices[4].id).size(), 2u);
}

TEST(BuildJobGraphTest, ChainsNothingWhenChainingIsOff) {
  GraphSketch sketch;
  sketch.sink(sketch.map(sketch.source()));
  EXPECT_EQ(build(sketch.graph, {.parallelism = 4, .chaining = false}).vertices.size(), 4u);
}

TEST(BuildJobGraphTest, GivesWideVerticesMoreKeyGroups) {
  GraphSketch sketch;
  sketch.sink(sketch.map(sketch.source(), Partitioning::kHash, 300), Partitioning::kRebalance);
  EXPECT_EQ(build(sketch.graph).vertices[2].max_parallelism, 512u);
}

TEST(BuildJobGraphTest, RefusesByNameAndSaysWhatToDo) {
  EXPECT_THAT(refusal(LogicalGraph()), HasSubstr("from_source"));
  GraphSketch valid;
  const uint32_t map = valid.map(valid.source(), Partitioning::kHash);
  const uint32_t sink = valid.sink(map);
  ASSERT_TRUE(build_job_graph(valid.graph, four()).ok());

  GraphSketch no_sink = valid;
  no_sink.at(sink).sink = false;
  EXPECT_THAT(refusal(no_sink.graph), AllOf(HasSubstr("'operator-3'"), HasSubstr("sink_to")));

  GraphSketch cyclic = valid;
  cyclic.edge(map, map, Partitioning::kHash);
  EXPECT_THAT(refusal(cyclic.graph), AllOf(HasSubstr("'operator-2'"), HasSubstr("cycle")));

  GraphSketch uneven = valid;
  uneven.at(sink).parallelism = 2;
  EXPECT_THAT(refusal(uneven.graph), AllOf(HasSubstr("'operator-2' to 'operator-3'"),
                                           HasSubstr("4 and 2"), HasSubstr("rebalance")));

  EXPECT_THAT(refusal(valid.graph, {.parallelism = 0}), HasSubstr("parallelism 0"));

  GraphSketch too_wide = valid;
  too_wide.at(map).parallelism = 40'000;
  EXPECT_THAT(refusal(too_wide.graph), AllOf(HasSubstr("'operator-2'"), HasSubstr("32768")));

  GraphSketch above_own_maximum = valid;
  above_own_maximum.at(map).max_parallelism = 3;
  EXPECT_THAT(refusal(above_own_maximum.graph), HasSubstr("above its maximum of 3"));

  GraphSketch not_by_key = valid;
  not_by_key.graph.edges[2].partitioning = Partitioning::kRebalance;
  EXPECT_THAT(refusal(not_by_key.graph), AllOf(HasSubstr("'operator-2'"), HasSubstr("key_by")));

  GraphSketch no_input = valid;
  no_input.at(map).inputs = 2;
  EXPECT_THAT(refusal(no_input.graph), HasSubstr("not connected"));

  GraphSketch one_place = valid;
  one_place.at(sink).owned = "output '/out'";
  one_place.at(one_place.sink(map, Partitioning::kRebalance)).owned = "output '/other'";
  EXPECT_TRUE(build_job_graph(one_place.graph, four()).ok());
  one_place.at(one_place.sink(map, Partitioning::kRebalance)).owned = "output '/out'";
  EXPECT_THAT(refusal(one_place.graph), AllOf(HasSubstr("'operator-3' and 'operator-5'"),
                                              HasSubstr("both want output '/out'")));

  GraphSketch endless = valid;
  endless.at(1).bounded = false;
  EXPECT_TRUE(build_job_graph(endless.graph, {.parallelism = 4}).ok());
  EXPECT_THAT(refusal(endless.graph, {.parallelism = 4, .mode = RuntimeMode::kBatch}),
              AllOf(HasSubstr("'operator-1'"), HasSubstr("streaming")));

  GraphSketch bad_name = valid;
  bad_name.at(map).name = "\xff";
  EXPECT_THAT(refusal(bad_name.graph), HasSubstr("UTF-8"));
  GraphSketch bad_group = valid;
  bad_group.at(map).slot_sharing_group = "\xff";
  EXPECT_THAT(refusal(bad_group.graph),
              HasSubstr("the slot sharing group of operator 'operator-2'"));
}

/// What every graph must satisfy, whatever it was made from.
void check_invariants(const LogicalGraph& logical, const JobGraph& graph) {
  size_t operators = 0;
  std::map<OperatorId, const LogicalOperator*> by_id;
  for (const LogicalOperator& one : logical.operators) by_id[one.id] = &one;
  for (const JobVertex& vertex : graph.vertices) {
    operators += vertex.operators.size();
    for (size_t i = 0; i < vertex.operators.size(); i++) {
      const LogicalOperator& one = *by_id.at(vertex.operators[i].id);
      if (!one.slot_sharing_group.empty()) {
        EXPECT_EQ(one.slot_sharing_group, vertex.slot_sharing_group);
      }
      EXPECT_EQ(one.blocking, vertex.blocking);
      EXPECT_EQ(one.parallelism == 0 && !one.coordinator ? 4 : std::max(1u, one.parallelism),
                vertex.parallelism);
      if (i > 0) {
        EXPECT_EQ(one.chaining, Chaining::kAlways);
        EXPECT_FALSE(one.keyed);
      }
      if (one.coordinator) {
        EXPECT_TRUE(vertex.hidden && vertex.operators.size() == 1);
      }
    }
  }
  EXPECT_EQ(operators, logical.operators.size());
  for (const JobEdge& edge : graph.edges) {
    EXPECT_EQ(edge.feedback, edge.producer > edge.consumer);
  }
}

TEST(BuildJobGraphTest, KeepsInvariantsOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 500; seed++) {
    SCOPED_TRACE(seed);
    LogicalGraph logical = random_graph(seed);
    const JobGraph graph = build(logical);
    ASSERT_TRUE(assign_operator_ids(logical).ok());
    check_invariants(logical, graph);
    EXPECT_EQ(graph, build(logical)) << "not deterministic";
    EXPECT_TRUE(check_belongs_to(graph, logical).ok());
  }
}

std::vector<std::string> exchanges(const JobGraph& graph) {
  std::vector<std::string> found;
  for (const JobEdge& edge : graph.edges) {
    found.push_back(std::string(to_string(edge.partitioning)) +
                    (edge.exchange == Exchange::kBlocking ? " blocking" : " pipelined"));
  }
  return found;
}

/// Without feedback, as the API makes it in batch mode.
GraphSketch batch_sketch() {
  GraphSketch sketch;
  const uint32_t reader = sketch.source(2);
  sketch.at(0).inputs = 0;
  std::erase_if(sketch.graph.edges, [](const LogicalEdge& edge) { return edge.feedback; });
  const uint32_t count = sketch.map(reader, Partitioning::kHash, 2);
  sketch.at(count).chaining = Chaining::kNever;
  sketch.sink(count, Partitioning::kForward, 2);
  EXPECT_TRUE(assign_operator_ids(sketch.graph).ok());
  return sketch;
}

TEST(BuildJobGraphTest, BlocksInBatchModeWhereRecordsChangeTheirSubtask) {
  const GraphSketch sketch = batch_sketch();
  const std::string direct(to_string(Partitioning::kDirect));
  const std::string hash(to_string(Partitioning::kHash));
  const std::string forward(to_string(Partitioning::kForward));
  EXPECT_THAT(exchanges(build_job_graph(sketch.graph, {.mode = RuntimeMode::kBatch}).value()),
              ElementsAre(direct + " blocking", hash + " blocking", forward + " pipelined"));
  EXPECT_THAT(exchanges(build_job_graph(sketch.graph, {.mode = RuntimeMode::kStreaming}).value()),
              ElementsAre(direct + " pipelined", hash + " pipelined", forward + " pipelined"));
}

TEST(BuildJobGraphTest, DoesAsItIsToldWhateverTheMode) {
  GraphSketch sketch = batch_sketch();
  sketch.graph.edges[1].exchange = Exchange::kPipelined;
  sketch.graph.edges[2].exchange = Exchange::kBlocking;
  const JobGraph graph = build_job_graph(sketch.graph, {.mode = RuntimeMode::kBatch}).value();
  EXPECT_EQ(graph.edges[1].exchange, Exchange::kPipelined);
  EXPECT_EQ(graph.edges[2].exchange, Exchange::kBlocking);
}

TEST(BuildJobGraphTest, RefusesABlockingExchangeBehindASourceWithoutEnd) {
  GraphSketch sketch = batch_sketch();
  sketch.at(1).bounded = false;
  sketch.at(1).name = "clicks";
  sketch.graph.edges[2].exchange = Exchange::kBlocking;
  const auto graph = build_job_graph(sketch.graph, {.mode = RuntimeMode::kStreaming});
  EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(graph.status().message(),
            "the blocking exchange from 'operator-2' to 'operator-3' is behind source 'clicks', "
            "which has no end; use a pipelined one");
}

}  // namespace
}  // namespace freshet
