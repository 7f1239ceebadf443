#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "runtime/graph/job_graph.h"
#include "runtime/graph/job_module.h"
#include "runtime/proto/graph.pb.h"
#include "tests/unit/graph/sample_graphs.h"

namespace freshet {
namespace {

JobGraph random_job_graph(uint64_t seed) {
  LogicalGraph logical = random_graph(seed);
  EXPECT_TRUE(assign_operator_ids(logical).ok());
  auto built = build_job_graph(logical, {.parallelism = 4});
  EXPECT_TRUE(built.ok()) << built.status().to_string();
  return *built;
}

TEST(JobGraphProtoTest, CarriesEveryGraphUnchanged) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    const JobGraph graph = random_job_graph(seed);
    proto::JobGraphProto message;
    to_proto(graph, &message);
    const auto back = from_proto(message);
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, graph);
  }
}

/// What the runtime indexes by must be in range, whatever came in.
void use(const JobGraph& graph) {
  for (const JobEdge& edge : graph.edges) {
    const JobVertex& producer = graph.vertices.at(edge.producer.value);
    const JobVertex& consumer = graph.vertices.at(edge.consumer.value);
    ASSERT_GT(producer.parallelism, 0u);
    ASSERT_GT(consumer.parallelism, 0u);
    (void)producers_of_consumer(edge.partitioning, consumer.parallelism - 1, producer.parallelism,
                                consumer.parallelism);
  }
  for (const JobVertex& vertex : graph.vertices) {
    for (const ChainedOperator& one : vertex.operators) {
      for (const ChainedOutput& output : one.outputs) {
        if (output.chained) {
          ASSERT_EQ(vertex.operators.at(output.chained_operator).name.empty(), false);
        } else {
          ASSERT_EQ(graph.edges.at(output.dataset.value).producer, vertex.id);
        }
      }
    }
  }
}

TEST(JobGraphProtoTest, SurvivesEveryMutationOfBytes) {
  const google::protobuf::LogSilencer silent;
  const auto random = make_seeded_random(7);
  int accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    proto::JobGraphProto message;
    to_proto(random_job_graph(seed % 40), &message);
    std::string bytes = message.SerializeAsString();
    for (uint64_t i = 0; i < 1 + random->below(3); i++) {
      bytes[random->below(bytes.size())] = static_cast<char>(random->next());
    }
    if (!message.ParseFromString(bytes)) continue;
    const auto graph = from_proto(message);
    if (graph.ok()) {
      use(*graph);
      accepted++;
    } else {
      refused++;
    }
  }
  EXPECT_GT(accepted, 50);  // Otherwise the test tests nothing.
  EXPECT_GT(refused, 50);
}

template <class Change>
bool accepts(Change change) {
  GraphSketch sketch;
  sketch.sink(sketch.map(sketch.map(sketch.source()), Partitioning::kHash));
  EXPECT_TRUE(assign_operator_ids(sketch.graph).ok());
  proto::JobGraphProto message;
  to_proto(*build_job_graph(sketch.graph, {.parallelism = 4}), &message);
  change(message);
  return from_proto(message).ok();
}

TEST(JobGraphProtoTest, RefusesWhatDoesNotFitTogether) {
  using G = proto::JobGraphProto;
  EXPECT_TRUE(accepts([](G&) {}));
  EXPECT_FALSE(accepts([](G& g) { g.Clear(); }));
  EXPECT_TRUE(accepts([](G& g) { g.set_mode(1); }));
  EXPECT_FALSE(accepts([](G& g) { g.set_mode(2); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(1)->set_parallelism(0); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(1)->set_parallelism(UINT32_MAX); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(0)->set_parallelism(2); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(2)->set_max_parallelism(1u << 20); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(1)->clear_operators(); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(1)->mutable_operators(1)->set_id(0); }));
  EXPECT_FALSE(accepts([](G& g) {
    g.mutable_vertices(1)->mutable_operators(1)->set_id(g.vertices(1).operators(0).id());
  }));
  EXPECT_FALSE(accepts([](G& g) {
    g.mutable_vertices(1)->mutable_operators(0)->mutable_outputs(1)->set_chained_operator(9);
  }));
  EXPECT_FALSE(accepts([](G& g) {
    g.mutable_vertices(1)->mutable_operators(1)->mutable_outputs(0)->set_chained_operator(0);
  }));
  EXPECT_FALSE(accepts([](G& g) {
    g.mutable_vertices(1)->mutable_operators(1)->mutable_outputs(0)->set_dataset(77);
  }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_vertices(1)->mutable_operators(1)->clear_outputs(); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_consumer(99); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_consumer(0); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_partitioning(9); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_exchange(2); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_buffer_timeout_ms(86'400'001); }));
  EXPECT_TRUE(accepts([](G& g) { g.mutable_edges(2)->set_buffer_timeout_ms(~0ull); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_input(1); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(1)->set_feedback(false); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_feedback(true); }));
  EXPECT_FALSE(accepts([](G& g) { g.mutable_edges(2)->set_target_operator(5); }));
}

TEST(JobGraphProtoTest, ComparesAGraphWithWhatTheModuleBuilds) {
  GraphSketch sketch;
  sketch.sink(sketch.map(sketch.source(), Partitioning::kHash));
  ASSERT_TRUE(assign_operator_ids(sketch.graph).ok());
  const JobGraph graph = *build_job_graph(sketch.graph, {.parallelism = 4});
  EXPECT_TRUE(check_belongs_to(graph, sketch.graph).ok());
  JobGraph foreign = graph;
  foreign.vertices[1].operators[0].id = OperatorId{12345};
  EXPECT_FALSE(check_belongs_to(foreign, sketch.graph).ok());
  JobGraph input = graph;
  input.edges[2].input = 1;
  EXPECT_FALSE(check_belongs_to(input, sketch.graph).ok());
  for (const Partitioning other : {Partitioning::kRebalance, Partitioning::kCustom}) {
    JobGraph spread = graph;
    spread.edges[2].partitioning = other;
    EXPECT_FALSE(check_belongs_to(spread, sketch.graph).ok());
  }
}

TEST(BuildOptionsProtoTest, CarriesOptionsUnchangedAndChecksThem) {
  BuildOptions options;
  options.arguments = {"--input", "a b", "", "\xff\xfe"};
  options.parallelism = 7;
  options.mode = RuntimeMode::kAutomatic;
  options.configuration = {{"a", "1"}, {"b", ""}};
  proto::BuildOptionsProto message;
  to_proto(options, &message);
  proto::BuildOptionsProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(*from_proto(parsed), options);
  parsed.set_mode(3);
  EXPECT_FALSE(from_proto(parsed).ok());
  parsed.set_mode(0);
  parsed.set_parallelism(0);
  EXPECT_FALSE(from_proto(parsed).ok());
}

}  // namespace
}  // namespace freshet
