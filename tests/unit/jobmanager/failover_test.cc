#include "jobmanager/failover.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/graph/region_sketch.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void move_to(ExecutionGraph* graph, uint32_t index, TaskState to) {
  while (graph->at(index).state != to) {
    const auto next = static_cast<uint8_t>(static_cast<uint8_t>(graph->at(index).state) + 1);
    graph->move(index, static_cast<TaskState>(next));
  }
}

void end(ExecutionGraph* graph, uint32_t begin, uint32_t until) {
  for (uint32_t i = begin; i < until; i++) move_to(graph, i, TaskState::kFinished);
}

TEST(FailoverTest, PipelinedEdgesRestartAll) {
  const ExecutionGraph graph(RegionSketch({3, 4}).pipelined(0, 1, Partitioning::kHash).graph);
  EXPECT_THAT(plan_failover(graph, {{VertexId{0}, 1}}, {}).regions, ElementsAre(0));
}

/// Four producers, of which two feed each consumer.
class FailoverOfBlockingEdgeTest : public ::testing::Test {
 protected:
  FailoverOfBlockingEdgeTest() { end(&graph_, 0, 4); }

  ExecutionGraph graph_{RegionSketch({4, 2}).blocking(0, 1).graph};
};

TEST_F(FailoverOfBlockingEdgeTest, AConsumerRestartsAlone) {
  move_to(&graph_, 4, TaskState::kRunning);
  move_to(&graph_, 5, TaskState::kRunning);
  EXPECT_THAT(plan_failover(graph_, {{VertexId{1}, 0}}, {}).regions, ElementsAre(4));
}

TEST_F(FailoverOfBlockingEdgeTest, WhatIsLostIsMadeAgainAndRead) {
  move_to(&graph_, 4, TaskState::kRunning);
  move_to(&graph_, 5, TaskState::kRunning);
  graph_.lose_output(1);
  EXPECT_THAT(plan_failover(graph_, {}, {1}).regions, ElementsAre(1, 4));
  EXPECT_THAT(plan_failover(graph_, {{VertexId{1}, 1}}, {1}).regions, ElementsAre(1, 4, 5));
}

TEST_F(FailoverOfBlockingEdgeTest, InFullAllThatHasBegunStartsAnew) {
  move_to(&graph_, 4, TaskState::kRunning);
  const auto regions = [&](FailoverStrategy strategy) {
    return plan_failover(graph_, {{VertexId{1}, 0}}, {}, strategy).regions;
  };
  EXPECT_THAT(regions(FailoverStrategy::kFull), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(regions(FailoverStrategy::kRegion), ElementsAre(4));
  end(&graph_, 4, 5);  // What it has read nobody wants any more.
  EXPECT_THAT(plan_failover(graph_, {}, {1}, FailoverStrategy::kFull).regions, IsEmpty());
}

TEST_F(FailoverOfBlockingEdgeTest, WhatNobodyWantsIsNotMadeAgain) {
  end(&graph_, 4, 5);
  move_to(&graph_, 5, TaskState::kRunning);
  graph_.lose_output(1);
  EXPECT_THAT(plan_failover(graph_, {}, {1}).regions, IsEmpty());
}

TEST_F(FailoverOfBlockingEdgeTest, WhoWillRunAgainWantsWhatItHasRead) {
  end(&graph_, 4, 6);
  EXPECT_EQ(graph_.unended(4), 0u);
  graph_.decide_restart(4);
  graph_.decide_restart(4);
  EXPECT_EQ(graph_.unended(4), 1u);
  graph_.lose_output(1);  // Before the new attempt begins.
  EXPECT_THAT(plan_failover(graph_, {}, {1}).regions, ElementsAre(1, 4));
  graph_.reset(4);
  EXPECT_EQ(graph_.unended(4), 1u);
  EXPECT_THAT(plan_failover(graph_, {}, {1}).regions, ElementsAre(1));
}

TEST_F(FailoverOfBlockingEdgeTest, WhatHasEndedStaysUntilSomethingElseIsMade) {
  end(&graph_, 4, 5);
  move_to(&graph_, 5, TaskState::kRunning);
  for (const uint32_t producer : {1, 2}) graph_.lose_output(producer);
  EXPECT_THAT(plan_failover(graph_, {}, {1, 2}).regions, ElementsAre(2, 5));
  EXPECT_THAT(plan_failover(graph_, {{VertexId{1}, 1}}, {}).regions, ElementsAre(2, 5));
  EXPECT_THAT(misled_consumers(graph_, DatasetId{0}, 1), ElementsAre(SubtaskId{VertexId{1}, 0}));
  EXPECT_THAT(misled_consumers(graph_, DatasetId{0}, 3), IsEmpty());  // It has not ended.
}

/// A running consumer that has taken all of an input is like one that has ended.
TEST_F(FailoverOfBlockingEdgeTest, WhoHasTakenAllOfItGoesOn) {
  const DatasetId edge{0};
  EXPECT_FALSE(graph_.note_input_read(4, edge));  // It does not run.
  for (const uint32_t consumer : {4, 5}) move_to(&graph_, consumer, TaskState::kRunning);
  EXPECT_FALSE(graph_.is_read_by_some(0));
  EXPECT_TRUE(graph_.note_input_read(4, edge));
  EXPECT_FALSE(graph_.note_input_read(4, edge));
  EXPECT_TRUE(graph_.is_read_by_some(0));
  for (const uint32_t producer : {1, 2}) graph_.lose_output(producer);
  EXPECT_THAT(plan_failover(graph_, {}, {1, 2}).regions, ElementsAre(2, 5));
  EXPECT_THAT(misled_consumers(graph_, edge, 1), ElementsAre(SubtaskId{VertexId{1}, 0}));
  // It wants all again when it runs again itself.
  EXPECT_THAT(plan_failover(graph_, {{VertexId{1}, 0}}, {}).regions, ElementsAre(1, 4));
  graph_.decide_restart(4);
  EXPECT_FALSE(graph_.has_read(0, 0));
  EXPECT_FALSE(graph_.note_input_read(4, edge));  // What comes late.
  EXPECT_THAT(plan_failover(graph_, {}, {1}).regions, ElementsAre(1, 4));
}

TEST_F(FailoverOfBlockingEdgeTest, AnOutputIsTheSameOnlyIfBothAreKnown) {
  const auto note = [&](uint64_t hash) { return graph_.note_output(1, DatasetId{0}, hash); };
  EXPECT_FALSE(note(7));
  EXPECT_TRUE(note(7));
  EXPECT_FALSE(note(8));
  EXPECT_FALSE(note(0));
  EXPECT_FALSE(note(0));
  EXPECT_FALSE(note(8));
}

TEST_F(FailoverOfBlockingEdgeTest, WhoHasNotBegunNeedsNoNewAttempt) {
  graph_.lose_output(1);
  EXPECT_THAT(plan_failover(graph_, {}, {1}).regions, ElementsAre(1));
}

/// Two producers, whose first edge is read to its end and released, the second is not.
TEST(FailoverTest, WhatIsReleasedStaysSoWhenAnotherProducerOfItsGroupIsMadeAgain) {
  ExecutionGraph graph(RegionSketch({2, 1, 1})
                           .blocking(0, 1, Partitioning::kHash)
                           .blocking(0, 2, Partitioning::kHash)
                           .graph);
  end(&graph, 0, 3);
  move_to(&graph, 3, TaskState::kRunning);
  EXPECT_THAT(graph.take_read_groups(), ElementsAre(0));
  graph.note_released(0);
  graph.lose_output(0);
  EXPECT_THAT(plan_failover(graph, {}, {0}).regions, ElementsAre(0, 3));
  graph.decide_restart(0);
  graph.reset(0);
  EXPECT_FALSE(graph.is_released(0, 0));
  EXPECT_TRUE(graph.is_released(0, 1));
  end(&graph, 0, 1);
  // It made something else: who had read it needs the other producer's as well.
  EXPECT_THAT(misled_consumers(graph, DatasetId{0}, 0), ElementsAre(SubtaskId{VertexId{1}, 0}));
  EXPECT_THAT(plan_failover(graph, {{VertexId{1}, 0}}, {}).regions, ElementsAre(1, 2, 3));
  // Or the same, and nobody wants that again.
  EXPECT_THAT(graph.take_read_groups(), ElementsAre(0));
  EXPECT_TRUE(graph.is_kept(0));
  graph.note_released(0);
  EXPECT_FALSE(graph.is_kept(0));
  EXPECT_TRUE(graph.is_released(0, 0));
}

/// A job in the middle: of each region all subtasks have ended or run, or none has begun; what has
/// ended is lost now and then.
class RandomJob {
 public:
  explicit RandomJob(uint64_t seed)
      : random_(make_seeded_random(seed + 1'000'000)), graph_(random_region_graph(seed)) {
    std::vector<uint32_t> ready = graph_.take_unblocked_regions();
    while (!ready.empty()) {
      const uint32_t region = ready.back();
      ready.pop_back();
      if (random_->one_in(8)) continue;
      const bool ends = !random_->one_in(4);
      for (const uint32_t m : graph_.regions().members(region))
        move_to(&graph_, m, ends ? TaskState::kFinished : TaskState::kRunning);
      for (const uint32_t next : graph_.take_unblocked_regions()) ready.push_back(next);
    }
    for (uint32_t i = 0; i < graph_.task_count(); i++) {
      for (const DatasetId dataset : graph_.inputs_of(graph_.subtask_at(i).vertex)) {
        if (graph_.is_blocking(dataset) && random_->one_in(3)) graph_.note_input_read(i, dataset);
      }
      const bool ended = graph_.at(i).state == TaskState::kFinished;
      if (ended && random_->one_in(6)) {
        graph_.lose_output(i);
        lost_.push_back(i);
      } else if (!ended && random_->one_in(6) && graph_.at(i).state == TaskState::kRunning) {
        failed_.push_back(graph_.subtask_at(i));
      }
    }
  }

  const ExecutionGraph& graph() const { return graph_; }
  const std::vector<SubtaskId>& failed() const { return failed_; }
  const std::vector<uint32_t>& lost() const { return lost_; }

 private:
  const std::unique_ptr<Random> random_;
  ExecutionGraph graph_;
  std::vector<SubtaskId> failed_;
  std::vector<uint32_t> lost_;
};

struct Pair {
  uint32_t producer = 0;
  uint32_t consumer = 0;
  bool read = false;  // By the consumer.
};

std::vector<Pair> blocking_pairs(const ExecutionGraph& graph) {
  std::vector<Pair> pairs;
  for (uint32_t g = 0; g < graph.group_count(); g++) {
    const ConsumedPartitionGroup& group = graph.group(g);
    const JobEdge& edge = graph.job_graph().edges[group.dataset.value];
    if (edge.exchange == Exchange::kPipelined) continue;
    const IndexRange consumers = graph.consumers_of_group(g).consumers;
    for (uint32_t p = group.producers.begin; p < group.producers.end; p++) {
      for (uint32_t c = consumers.begin; c < consumers.end; c++)
        pairs.push_back({graph.index_of({edge.producer, p}), graph.index_of({edge.consumer, c}),
                         graph.has_read(g, c)});
    }
  }
  return pairs;
}

/// By definition, over all pairs, until nothing is added any more.
std::set<uint32_t> naive_plan(const RandomJob& job) {
  const ExecutionGraph& graph = job.graph();
  const auto region = [&](uint32_t index) { return graph.regions().region_of(index); };
  const std::vector<Pair> pairs = blocking_pairs(graph);
  std::set<uint32_t> plan;
  for (const SubtaskId subtask : job.failed()) plan.insert(region(graph.index_of(subtask)));
  for (const uint32_t lost : job.lost()) {
    for (const Pair& pair : pairs) {
      if (pair.producer == lost && !pair.read) plan.insert(region(lost));
    }
  }
  for (size_t before = ~size_t{0}; before != plan.size();) {
    before = plan.size();
    for (const auto& [producer, consumer, read] : pairs) {
      if (plan.contains(region(consumer)) && graph.at(producer).output_lost)
        plan.insert(region(producer));
      const bool reads = graph.begun(region(consumer)) != 0 && !read;
      if (plan.contains(region(producer)) && reads) plan.insert(region(consumer));
    }
  }
  return plan;
}

TEST(FailoverTest, RestartsWhatItMustAndNothingElse) {
  uint32_t whole = 0, parts = 0;
  for (uint64_t seed = 1; seed <= 3000; seed++) {
    const RandomJob job(seed);
    const FailoverPlan plan = plan_failover(job.graph(), job.failed(), job.lost());
    const std::set<uint32_t> regions(plan.regions.begin(), plan.regions.end());
    EXPECT_EQ(regions, naive_plan(job)) << "seed " << seed;
    whole += regions.size() == job.graph().regions().count();
    parts += !regions.empty() && regions.size() < job.graph().regions().count();
  }
  EXPECT_GT(whole, 100u);
  EXPECT_GT(parts, 500u);
}

/// Two stages of n with an all-to-all edge, of which one producer is lost: all consumers restart.
TEST(FailoverTest, StepsFollowSubtasks) {
  const auto steps = [](uint32_t n) {
    ExecutionGraph graph(RegionSketch({n, n}).blocking(0, 1, Partitioning::kHash).graph);
    end(&graph, 0, n);
    for (uint32_t i = n; i < 2 * n; i++) move_to(&graph, i, TaskState::kRunning);
    graph.lose_output(0);
    const FailoverPlan plan = plan_failover(graph, {}, {0});
    EXPECT_EQ(plan.regions.size(), n + 1);
    return plan.steps;
  };
  EXPECT_EQ(steps(10'000) - steps(5'000), steps(15'000) - steps(10'000));
  EXPECT_LT(steps(10'000), 50'000u);
}

}  // namespace
}  // namespace freshet
