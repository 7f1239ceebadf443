#include "runtime/chaos/provable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "runtime/api/built_job.h"
#include "runtime/api/environment.h"
#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/print_sink.h"
#include "runtime/connectors/sequence.h"
#include "runtime/connectors/socket_text.h"
#include "runtime/connectors/text_files.h"

namespace freshet::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::vector<SinkOutput>> check(const std::function<void(Environment&)>& builder) {
  BuildOptions options;
  ASSIGN_OR_RETURN(const auto job, build_job("test", builder, options));
  return check_provable(job->graph());
}

std::string refusal(const std::function<void(Environment&)>& builder) {
  const auto checked = check(builder);
  EXPECT_EQ(checked.status().code(), StatusCode::kFailedPrecondition);
  return checked.status().message();
}

DataStream<int64_t> numbers(Environment& env) { return env.from_source(sequence(1, 9), "numbers"); }

TEST(ProvableTest, GivesTheOutputsOfAllSinksWithFiles) {
  const auto outputs = check([](Environment& env) {
    numbers(env).sink_to(file_sink<int64_t>("/data/b//")).name("counts");
    numbers(env).sink_to(discard_sink<int64_t>());
    env.from_source(elements<int64_t>({1})).sink_to(file_sink<int64_t>("/data/a"));
    env.from_source(text_files({"/in"})).sink_to(file_sink<std::string>("/data/c"));
    env.from_source(data_generator([](uint64_t i) { return i; }, 3))
        .sink_to(file_sink<uint64_t>("/d"));
  });
  ASSERT_TRUE(outputs.ok()) << outputs.status().to_string();
  EXPECT_THAT(*outputs, ElementsAre(SinkOutput{"counts", "/data/b"}, SinkOutput{"files", "/data/a"},
                                    SinkOutput{"files 2", "/data/c"}, SinkOutput{"files 3", "/d"}));
}

TEST(ProvableTest, RefusesASourceThatCannotBeReadAgain) {
  const std::string why = refusal([](Environment& env) {
    env.from_source(socket_text("localhost", 9)).sink_to(file_sink<std::string>("/out"));
  });
  EXPECT_THAT(why, HasSubstr("the source 'socket localhost:9' cannot be read again"));
  EXPECT_THAT(why, HasSubstr("text_files()"));
}

TEST(ProvableTest, RefusesASourceWithoutEnd) {
  const std::string why = refusal([](Environment& env) {
    env.from_source(data_generator([](uint64_t i) { return i; }, kWithoutEnd), "clicks")
        .sink_to(file_sink<uint64_t>("/out"));
  });
  EXPECT_THAT(why, HasSubstr("the source 'clicks' has no end"));
}

TEST(ProvableTest, RefusesASinkThatShowsRecordsAtOnceBesideOneWithFiles) {
  const std::string why = refusal([](Environment& env) {
    numbers(env).sink_to(file_sink<int64_t>("/out"));
    numbers(env).sink_to(print_sink<int64_t>());
  });
  EXPECT_THAT(why, HasSubstr("the sink 'print' shows records at once"));
  EXPECT_THAT(why, HasSubstr("file_sink()"));
}

TEST(ProvableTest, RefusesASinkWhoseRecordsNobodyCanCompare) {
  EXPECT_THAT(
      refusal([](Environment& env) {
        numbers(env).sink_to(collect_sink<int64_t>(std::make_shared<CollectedResults<int64_t>>()));
      }),
      HasSubstr("the sink 'collect' leaves its records where nobody can compare them"));
  EXPECT_THAT(refusal([](Environment& env) { numbers(env).sink_to(discard_sink<int64_t>()); }),
              HasSubstr("the job leaves nothing that could be compared"));
}

TEST(ProvableTest, RefusesASinkThatDoesNotSay) {
  LogicalGraph graph;
  LogicalOperator sink;
  sink.name = "mine";
  sink.sink = true;
  graph.operators.push_back(sink);
  const auto checked = check_provable(graph);
  EXPECT_THAT(checked.status().message(), HasSubstr("the sink 'mine' does not say"));
}

TEST(ProvableTest, RefusesADirectoryThatDependsOnTheProcess) {
  EXPECT_THAT(
      refusal([](Environment& env) { numbers(env).sink_to(file_sink<int64_t>("results")); }),
      HasSubstr("the directory 'results' of the sink 'files' is relative"));
}

}  // namespace
}  // namespace freshet::chaos
