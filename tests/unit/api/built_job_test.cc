#include "runtime/api/built_job.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/api/environment.h"
#include "runtime/api/in_process_module.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"
#include "runtime/testing/operator_harness.h"

namespace freshet {
namespace {

void small_job(Environment& env) {
  env.from_source(elements(std::vector<int64_t>{1, 2}))
      .map([](const int64_t& value) { return value + 1; })
      .uid("add")
      .sink_to(discard_sink<int64_t>());
}

TEST(BuildJobTest, GivesOperatorsAndEdgesByTheirIds) {
  const auto job = build_job("small", small_job, BuildOptions());
  ASSERT_TRUE(job.ok()) << job.status().to_string();
  EXPECT_EQ((*job)->name(), "small");
  const LogicalGraph& graph = (*job)->graph();
  ASSERT_EQ(graph.operators.size(), 4u);
  for (const LogicalOperator& one : graph.operators) {
    EXPECT_NE((*job)->operator_factory(one.id), nullptr);
  }
  for (const LogicalEdge& edge : graph.edges) {
    const auto type = (*job)->edge_type(graph.operators[edge.from].id, edge.from_output,
                                        graph.operators[edge.to].id, edge.to_input);
    ASSERT_NE(type, nullptr);
    EXPECT_EQ(type->fingerprint(), edge.type_fingerprint);
  }
  EXPECT_EQ((*job)->operator_factory(OperatorId{1}), nullptr);
  EXPECT_EQ((*job)->edge_type(OperatorId{1}, 0, OperatorId{2}, 0), nullptr);
  testing::OperatorHarness<int64_t> harness(*(*job)->operator_factory(graph.operators[2].id));
  harness.process(int64_t{41});
  EXPECT_EQ(harness.take_outputs(), std::vector<int64_t>{42});
}

Status refusal(const std::function<void(Environment&)>& builder, BuildOptions options = {}) {
  return build_job("bad", builder, options).status();
}

TEST(BuildJobTest, ReportsWhatABuilderThrows) {
  const Status thrown = refusal([](Environment&) { throw std::runtime_error("gave up"); });
  EXPECT_EQ(thrown.code(), StatusCode::kUserError);
  EXPECT_EQ(thrown.message(), "job 'bad' threw while it was built: gave up");
  EXPECT_EQ(refusal([](Environment&) { throw 1; }).code(), StatusCode::kUserError);
}

TEST(BuildJobTest, RefusesArgumentsThatNobodyAsksFor) {
  BuildOptions unknown;
  unknown.arguments = {"--what"};
  const Status status = refusal(small_job, unknown);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("--what"), std::string::npos);
}

TEST(BuildJobTest, RefusesABuilderThatBuildsDifferentlyTheSecondTime) {
  const auto expect_refused = [](auto change, const std::string& part) {
    int builds = 0;
    InProcessModule module("bad", [&](Environment& env) {
      auto stream = env.from_source(elements(std::vector<int64_t>{1})).map([](const int64_t& v) {
        return v;
      });
      change(env, stream, ++builds == 2);
      stream.sink_to(discard_sink<int64_t>());
    });
    const Status status = build_twice(module, BuildOptions()).status();
    EXPECT_EQ(status.code(), StatusCode::kUserError);
    EXPECT_NE(status.message().find("differently the second time"), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  using Stream = DataStream<int64_t>;
  expect_refused([](Environment&, Stream& s, bool again) { s.name(again ? "b" : "a"); },
                 "'a' is then 'b'");
  expect_refused([](Environment&, Stream& s, bool again) { s.uid(again ? "b" : "a"); }, "uid");
  expect_refused([](Environment&, Stream& s, bool again) { s.set_parallelism(again ? 2 : 1); },
                 "parallelism");
  expect_refused([](Environment& e, Stream&, bool again) { e.set_name(again ? "b" : "a"); },
                 "its name is");
  expect_refused(
      [](Environment&, Stream& s, bool again) {
        if (again) s = s.rebalance();
      },
      "edges");
  expect_refused(
      [](Environment&, Stream& s, bool again) {
        if (again) s = s.filter([](const int64_t&) { return true; });
      },
      "operators, then");
}

TEST(BuildJobTest, RunsTheBuilderOnceAndTwiceForAClient) {
  int builds = 0;
  InProcessModule module("small", [&](Environment& env) {
    builds++;
    small_job(env);
  });
  EXPECT_TRUE(module.build(BuildOptions()).ok());
  EXPECT_EQ(builds, 1);
  EXPECT_TRUE(build_twice(module, BuildOptions()).ok());
  EXPECT_EQ(builds, 3);
}

TEST(InProcessModuleLoaderTest, FindsModulesByTheLastComponentOfThePath) {
  InProcessModuleLoader loader;
  loader.add("abc.so", std::make_shared<InProcessModule>("small", small_job));
  const auto module = loader.load("/state/blobs/abc.so");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*(*module)->build(BuildOptions()))->name(), "small");
  EXPECT_EQ(loader.load("/state/blobs/other.so").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet
