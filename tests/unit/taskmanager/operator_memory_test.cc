#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/api/built_job.h"
#include "runtime/api/environment.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"
#include "taskmanager/task_builder.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

struct Pair {
  int64_t key = 0;
  int64_t value = 0;
};

/// Two sums, one behind the other: `elements -> map -> pre-sum`, `sum -> pre-sum`, `sum ->
/// discard`.
class Job {
 public:
  Job(RuntimeMode mode, Exchange exchange) {
    options_.mode = mode;
    options_.parallelism = 2;
    const auto builder = [exchange](Environment& env) {
      env.from_source(elements(std::vector<int64_t>{1, 2, 3}))
          .map([](const int64_t& value) {
            return Pair{value, 1};
          })
          .key_by(&Pair::key)
          .exchange(exchange)
          .sum(&Pair::value)
          .key_by([](const Pair& pair) { return pair.value; })
          .exchange(exchange)
          .sum(&Pair::value)
          .sink_to(discard_sink<Pair>());
    };
    auto built = build_job("test", builder, options_);
    EXPECT_TRUE(built.ok());
    built_ = *built;
    auto graph = build_job_graph(built_->graph(), {.parallelism = 2, .mode = mode});
    EXPECT_TRUE(graph.ok());
    graph_ = *graph;
  }

  /// Of the vertex whose first operator is `name`.
  Result<OperatorMemory> memory_of(const std::string& name, uint64_t bytes, uint32_t slots) const {
    ManagedMemory managed;
    managed.bytes = bytes;
    for (const JobVertex& vertex : graph_.vertices) {
      if (vertex.operators.front().name != name) continue;
      return operator_memory(graph_, *built_, vertex.id, slots, managed);
    }
    return not_found(name);
  }

 private:
  BuildOptions options_;
  std::shared_ptr<const BuiltJob> built_;
  JobGraph graph_;
};

TEST(OperatorMemoryTest, IsSharedByThoseThatMayRunAtTheSameTimeInASlot) {
  constexpr uint64_t kBytes = 96u << 20;
  const Job apart(RuntimeMode::kBatch, Exchange::kBlocking);
  EXPECT_EQ(apart.memory_of("map", kBytes, 1)->bytes, kBytes);
  EXPECT_EQ(apart.memory_of("sum", kBytes, 1)->bytes, kBytes / 2);  // With the part of the next.
  EXPECT_EQ(apart.memory_of("sum", kBytes, 3)->bytes, kBytes / 6);
  const Job together(RuntimeMode::kBatch, Exchange::kPipelined);
  EXPECT_EQ(together.memory_of("map", kBytes, 1)->bytes, kBytes / 4);
  EXPECT_EQ(together.memory_of("sum", kBytes, 1)->bytes, kBytes / 4);
}

TEST(OperatorMemoryTest, TooLittleIsRefusedWithWhatToSet) {
  const Job job(RuntimeMode::kBatch, Exchange::kPipelined);
  EXPECT_TRUE(job.memory_of("sum", 12u << 20, 3).ok());
  const Status status = job.memory_of("sum", 11u << 20, 3).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("taskmanager.memory.managed.size is too little"));
  EXPECT_THAT(status.message(), HasSubstr("each of 3 slots"));
  EXPECT_THAT(status.message(), HasSubstr("4 operators"));
  EXPECT_THAT(status.message(), HasSubstr("at least 12 mb"));
}

TEST(OperatorMemoryTest, StreamsAndWhoCollectsNothingNeedNone) {
  const Job stream(RuntimeMode::kStreaming, Exchange::kPipelined);
  EXPECT_TRUE(stream.memory_of("sum", 1, 100).ok());
  const Job batch(RuntimeMode::kBatch, Exchange::kBlocking);
  EXPECT_TRUE(batch.memory_of("elements", 1, 100).ok());
}

}  // namespace
}  // namespace freshet
