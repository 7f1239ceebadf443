#include "runtime/graph/json_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/graph/sample_graphs.h"

namespace freshet {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr const char* kJob = "000000000000000100000000000000ff";

/// Text split into words, counted per word and written.
JobGraph word_count() {
  GraphSketch sketch;
  const uint32_t source = sketch.source();
  sketch.at(source).name = "text <files>";
  const uint32_t words = sketch.map(source);
  sketch.at(words).name = "words";
  const uint32_t count = sketch.map(words, Partitioning::kHash);
  sketch.at(count).name = "count";
  const uint32_t sink = sketch.sink(count);
  sketch.at(sink).name = "files";
  EXPECT_TRUE(assign_operator_ids(sketch.graph).ok());
  return build_job_graph(sketch.graph, {.parallelism = 4}).value();
}

TEST(JsonPlanTest, HasTheKeysOfFlinksPlans) {
  const json plan = json::parse(json_plan(word_count(), kJob, "word count"));
  EXPECT_EQ(plan["jid"], kJob);
  EXPECT_EQ(plan["name"], "word count");
  EXPECT_EQ(plan["type"], "STREAMING");
  ASSERT_EQ(plan["nodes"].size(), 2u);  // Without the coordinator of the source.

  const json& source = plan["nodes"][0];
  EXPECT_EQ(source["parallelism"], 4);
  EXPECT_EQ(source["operator"], "");
  EXPECT_EQ(source["operator_strategy"], "");
  EXPECT_EQ(source["description"], "Source: text &lt;files&gt; -&gt; words");
  EXPECT_FALSE(source.contains("inputs"));
  EXPECT_EQ(source["optimizer_properties"], json::object());

  const json& count = plan["nodes"][1];
  EXPECT_EQ(count["description"], "count -&gt; Sink: files");
  EXPECT_EQ(count["inputs"], json::array({{{"num", 0},
                                           {"id", source["id"]},
                                           {"ship_strategy", "HASH"},
                                           {"exchange", "pipelined_bounded"}}}));
}

TEST(JsonPlanTest, NamesEachVertexByThirtyTwoDigitsThatStayTheSame) {
  std::set<std::string> ids;
  for (const JobVertex& vertex : word_count().vertices) {
    const std::string id = vertex_hex_id(vertex);
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), id.npos);
    EXPECT_TRUE(ids.insert(id).second);
  }
  for (const JobVertex& vertex : word_count().vertices)
    EXPECT_TRUE(ids.contains(vertex_hex_id(vertex)));
}

TEST(JsonPlanTest, CountsSeveralInputsAndSaysWhatBlocksAndWhatIsBatch) {
  GraphSketch sketch;
  const uint32_t left = sketch.source();
  const uint32_t right = sketch.source();
  sketch.at(left).bounded = sketch.at(right).bounded = true;
  LogicalOperator both;
  both.inputs = 2;
  const uint32_t join = sketch.add(both);
  sketch.edge(left, join, Partitioning::kRebalance);
  sketch.edge(right, join, Partitioning::kBroadcast);
  sketch.graph.edges.back().to_input = 1;
  sketch.sink(join);
  EXPECT_TRUE(assign_operator_ids(sketch.graph).ok());
  JobGraph graph =
      build_job_graph(sketch.graph, {.parallelism = 2, .mode = RuntimeMode::kAutomatic}).value();
  for (JobEdge& edge : graph.edges) {
    if (edge.partitioning == Partitioning::kBroadcast) edge.exchange = Exchange::kPipelined;
  }
  const json plan = json::parse(json_plan(graph, kJob, "join", 2));
  EXPECT_EQ(plan["type"], "BATCH");
  std::vector<std::string> inputs;
  for (const json& input : plan["nodes"].back()["inputs"]) {
    inputs.push_back(input["num"].dump() + " " + input["ship_strategy"].get<std::string>() + " " +
                     input["exchange"].get<std::string>());
  }
  EXPECT_THAT(inputs, ElementsAre("0 REBALANCE blocking", "1 BROADCAST pipelined_bounded"));
}

TEST(JsonPlanTest, ShowsRegionsAndWhyTheyAreOne) {
  JobGraph graph = word_count();
  const std::string source = vertex_hex_id(graph.vertices[1]);
  const std::string count = vertex_hex_id(graph.vertices[2]);
  json regions = json::parse(json_plan(graph, kJob, "word count"))["regions"];
  EXPECT_EQ(regions, json::array({{{"vertices", {source, count}},
                                   {"count", 1},
                                   {"reasons",
                                    {"pipelined edge 'text &lt;files&gt; -&gt; words' -&gt; "
                                     "'count -&gt; files'"}},
                                   {"members", {{{source, "0-3"}, {count, "0-3"}}}}}}));
  for (JobEdge& edge : graph.edges) {
    if (edge.partitioning == Partitioning::kHash) edge.exchange = Exchange::kBlocking;
  }
  regions = json::parse(json_plan(graph, kJob, "word count"))["regions"];
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[1]["vertices"], json::array({count}));
  EXPECT_EQ(regions[1]["count"], 4);
  EXPECT_EQ(regions[1]["members"],
            json::array({{{count, "0"}}, {{count, "1"}}, {{count, "2"}}, {{count, "3"}}}));
  graph.vertices[2].parallelism = 100;
  EXPECT_FALSE(json::parse(json_plan(graph, kJob, "word count"))["regions"][1].contains("members"));
}

TEST(JsonPlanTest, IsJsonWhateverTheNamesAre) {
  JobGraph graph = word_count();
  graph.vertices.front().operators.front().name = "\xff\"\\\n\x01<";
  EXPECT_TRUE(json::accept(json_plan(graph, kJob, "\xc3\x28 \"name\"")));
}

}  // namespace
}  // namespace freshet
