#include "jobmanager/execution_graph.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "jobmanager/deployment.h"
#include "tests/unit/graph/region_sketch.h"
#include "tests/unit/jobmanager/test_jobs.h"

namespace freshet {
namespace {

TEST(ExecutionGraphTest, AllToAllEdgeIsOneGroup) {
  const ExecutionGraph graph(two_vertices(3, 5));
  ASSERT_EQ(graph.group_count(), 1u);
  EXPECT_EQ(graph.group(0).producers, (IndexRange{0, 3}));
  EXPECT_EQ(graph.consumers_of_group(0).consumers, (IndexRange{0, 5}));
  for (uint32_t c = 0; c < 5; c++) EXPECT_EQ(graph.group_read_by(DatasetId{0}, c), 0u);
}

TEST(ExecutionGraphTest, PointwiseEdgeHasAsManyGroupsAsItsSmallerSide) {
  for (uint32_t s = 1; s <= 12; s++) {
    for (uint32_t t = 1; t <= 12; t++) {
      const ExecutionGraph graph(two_vertices(s, t, Partitioning::kRescale));
      ASSERT_EQ(graph.group_count(), std::min(s, t));
      for (uint32_t c = 0; c < t; c++) {
        const uint32_t g = graph.group_read_by(DatasetId{0}, c);
        const IndexRange consumers = graph.consumers_of_group(g).consumers;
        EXPECT_TRUE(consumers.begin <= c && c < consumers.end) << s << " " << t << " " << c;
        EXPECT_EQ(graph.group(g).producers, producers_of_consumer(Partitioning::kRescale, c, s, t));
      }
      for (uint32_t p = 0; p < s; p++) {
        const IndexRange held = graph.groups_holding(DatasetId{0}, p);
        for (uint32_t g = 0; g < graph.group_count(); g++) {
          const IndexRange producers = graph.group(g).producers;
          EXPECT_EQ(held.begin <= g && g < held.end, producers.begin <= p && p < producers.end);
        }
      }
    }
  }
}

TEST(ExecutionGraphTest, CountsUnfinishedProducersAndTakesThemBackAtANewAttempt) {
  ExecutionGraph graph(two_vertices(2, 2));
  for (const TaskState state :
       {TaskState::kScheduled, TaskState::kDeploying, TaskState::kInitializing, TaskState::kRunning,
        TaskState::kEndOfData}) {
    graph.move(0, state);
  }
  EXPECT_EQ(graph.group(0).unfinished, 1u);
  graph.move(0, TaskState::kCanceling);
  EXPECT_EQ(graph.group(0).unfinished, 2u);
  graph.move(0, TaskState::kCanceled);
  graph.reset(0);
  EXPECT_EQ(graph.at(0).attempt, 1u);
  EXPECT_EQ(graph.at(0).state, TaskState::kCreated);
  EXPECT_EQ(graph.group(0).unfinished, 2u);
}

TEST(ExecutionGraphTest, NamesWhatItHas) {
  const ExecutionGraph graph(two_vertices(3, 4));
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    EXPECT_EQ(graph.index_of(graph.subtask_at(i)), i);
  }
  EXPECT_TRUE(graph.contains({VertexId{1}, 3}));
  EXPECT_FALSE(graph.contains({VertexId{1}, 4}));
  EXPECT_FALSE(graph.contains({VertexId{2}, 0}));
}

std::vector<uint32_t> all_of(const ExecutionGraph& graph) {
  std::vector<uint32_t> all(graph.task_count());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

/// Steps and structures of a job, its deployment included.
uint64_t size_of_deployment(uint32_t parallelism, Partitioning partitioning) {
  ExecutionGraph graph(two_vertices(parallelism, parallelism, partitioning));
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    graph.assign(i, AllocationId{1}, TaskManagerId{graph.subtask_at(i).index / 100}, 0);
  }
  uint64_t size = graph.build_steps() + graph.group_count();
  LocatedGroups located;
  for (const auto& message : build_deployment(graph, JobId{}, true, all_of(graph), &located)) {
    size += message.tasks.size();
    for (const auto& task : message.tasks) size += task.groups.size();
    size += message.groups.size();
  }
  return size;
}

TEST(ExecutionGraphTest, GrowsWithSubtasksAndNotWithPairs) {
  for (const Partitioning partitioning : {Partitioning::kHash, Partitioning::kForward}) {
    const uint64_t small = size_of_deployment(1'000, partitioning);
    const uint64_t large = size_of_deployment(10'000, partitioning);
    EXPECT_LE(large, 10 * small + 100);
    EXPECT_LT(large, 200'000u);
  }
}

TEST(ExecutionGraphTest, ConsumersOfAnAllToAllEdgeShareOneDictionary) {
  ExecutionGraph graph(two_vertices(10'000, 10'000));
  for (uint32_t i = 0; i < graph.task_count(); i++) {
    graph.assign(i, AllocationId{1}, TaskManagerId{graph.subtask_at(i).index / 100}, 0);
  }
  LocatedGroups located;
  const auto messages = build_deployment(graph, JobId{}, true, all_of(graph), &located);
  ASSERT_EQ(messages.size(), 100u);
  for (const auto& message : messages) {
    ASSERT_EQ(message.groups.size(), 1u);
    EXPECT_EQ(message.groups[0].group, messages[0].groups[0].group);  // The very same object.
  }
  EXPECT_EQ(messages[0].groups[0].group->producers.size(), 100u);
}

class LocatedGroupsTest : public testing::Test {
 protected:
  static constexpr uint32_t kProducers = 8;

  static JobGraph blocking_job() {
    JobGraph job = two_vertices(kProducers, 3);
    job.edges[0].exchange = Exchange::kBlocking;
    return job;
  }

  job_commands::SentGroup deploy(uint32_t consumer, TaskManagerId to = TaskManagerId{1}) {
    const uint32_t index = kProducers + consumer;
    graph_.assign(index, AllocationId{1}, to, 0);
    return build_deployment(graph_, JobId{}, true, {index}, &located_).at(0).groups.at(0);
  }

  void end_producer(uint32_t i) {
    for (const TaskState state :
         {TaskState::kScheduled, TaskState::kDeploying, TaskState::kInitializing,
          TaskState::kRunning, TaskState::kEndOfData})
      graph_.move(i, state);
  }

  ExecutionGraph graph_{blocking_job()};
  LocatedGroups located_;
};

/// Regions of one stage are deployed one by one; what they read is found once for all of them, and
/// told to each TaskManager once.
TEST_F(LocatedGroupsTest, WhatEndedProducersMadeIsLocatedAndToldOnce) {
  EXPECT_FALSE(deploy(0).group->stored);
  EXPECT_EQ(located_.size(), 0u);
  for (uint32_t i = 0; i < kProducers; i++) end_producer(i);
  const auto first = deploy(0);
  EXPECT_TRUE(first.group->stored);
  EXPECT_FALSE(first.known);
  EXPECT_EQ(deploy(2).group, first.group);  // The very same object.
  EXPECT_TRUE(deploy(2).known);
  EXPECT_FALSE(deploy(1, TaskManagerId{2}).known);
  EXPECT_TRUE(deploy(1, TaskManagerId{2}).known);
  located_.on_task_manager_lost(TaskManagerId{2});
  EXPECT_FALSE(deploy(1, TaskManagerId{2}).known);
  EXPECT_TRUE(deploy(0).known);
}

TEST_F(LocatedGroupsTest, AGroupIsReopenedOnceByTheFirstProducerThatRunsAgain) {
  for (uint32_t i = 0; i < kProducers; i++) end_producer(i);
  EXPECT_TRUE(graph_.take_reopened_groups().empty());
  for (const uint32_t producer : {5, 6}) {
    graph_.move(producer, TaskState::kFinished);
    graph_.lose_output(producer);
    graph_.reset(producer);
  }
  EXPECT_EQ(graph_.take_reopened_groups(), std::vector<uint32_t>{0});
  EXPECT_TRUE(graph_.take_reopened_groups().empty());
}

/// A cycle of vertices through a stage in the middle, of which not all subtasks are on a cycle of
/// subtasks: those are regions without any reader of what comes from outside.
TEST(ExecutionGraphTest, OnlyRegionsWithAReaderWaitForAnAllToAllInput) {
  const ExecutionGraph graph(RegionSketch({2, 4, 5, 6})
                                 .blocking(0, 1, Partitioning::kHash)
                                 .blocking(1, 2)
                                 .pipelined(1, 3)
                                 .blocking(2, 3)
                                 .graph);
  uint32_t without = 0;
  for (uint32_t r = 0; r < graph.regions().count(); r++) {
    bool reads = false;
    std::set<uint32_t> others;  // Groups of other edges that it waits for.
    for (const uint32_t m : graph.regions().members(r)) {
      const SubtaskId subtask = graph.subtask_at(m);
      reads = reads || subtask.vertex == VertexId{1};
      for (const DatasetId dataset : graph.inputs_of(subtask.vertex)) {
        const uint32_t g = graph.group_read_by(dataset, subtask.index);
        if (dataset == DatasetId{0} || !graph.is_blocking(dataset)) continue;
        const IndexRange producers = graph.group(g).producers;
        const VertexId vertex = graph.job_graph().edges[dataset.value].producer;
        for (uint32_t p = producers.begin; p < producers.end; p++) {
          if (graph.regions().region_of(graph.index_of({vertex, p})) != r) others.insert(g);
        }
      }
    }
    EXPECT_EQ(graph.open_inputs(r), reads + others.size()) << "region " << r;
    without += !reads && graph.subtask_at(graph.regions().members(r)[0]).vertex != VertexId{0};
  }
  EXPECT_GT(without, 0u);
}

TEST(ExecutionGraphTest, CountsAloneLeaveGaugesAsTheyAre) {
  ExecutionGraph graph(two_vertices(2, 2));
  ExecutionProgress progress;
  progress.records_in = 7;
  progress.gauges.busy_per_second = 300;
  graph.set_progress(1, progress);
  progress.records_in = 8;
  progress.gauges = {};
  graph.set_counts(1, progress);
  EXPECT_EQ(graph.at(1).progress.records_in, 8u);
  EXPECT_EQ(graph.at(1).progress.gauges.busy_per_second, 300);
}

}  // namespace
}  // namespace freshet
