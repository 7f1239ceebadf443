#include <gtest/gtest.h>

#include "tests/unit/graph/region_sketch.h"
#include "tests/unit/jobmanager/job_script.h"

namespace freshet {
namespace {

/// A pipelined edge, and a way over blocking ones, from the same vertex to the same: each pair that
/// the pipelined edge joins waits for what all pairs make.
JobGraph deadlock() {
  RegionSketch sketch({2, 2, 2});
  sketch.pipelined(0, 1).blocking(0, 2, Partitioning::kHash).blocking(2, 1, Partitioning::kHash);
  sketch.graph.mode = RuntimeMode::kBatch;
  return sketch.graph;
}

JobGraph example() {
  RegionSketch sketch({2, 2, 2});
  sketch.pipelined(0, 1).pipelined(1, 2).blocking(0, 2, Partitioning::kRebalance);
  sketch.graph.mode = RuntimeMode::kBatch;
  return sketch.graph;
}

TEST(RegionCyclesTest, WithoutMergingAJobHangsAndSaysWhatWaitsForWhat) {
  JobScript script(deadlock(), JobScript::deterministic(), RegionCycles::kLeft);
  script.run_all({"register 1", "start", "slots 1:0 1:1 1:2 1:3 1:4 1:5", "wait 3600000"});
  EXPECT_EQ(script.job().graph().live_count(), 0u);
  EXPECT_EQ(script.job().waiting_for(),
            "what waits for itself: b (1/2) for all that c (1/2) makes; c (1/2) for all that a "
            "(1/2) makes");
}

/// Of examples/regions: an all-to-all edge inside of what pipelined edges join.
TEST(RegionCyclesTest, WithoutMergingTheExampleHangsToo) {
  JobScript script(example(), JobScript::deterministic(), RegionCycles::kLeft);
  script.run_all({"register 1", "start", "slots 1:0 1:1 1:2 1:3 1:4 1:5", "wait 3600000"});
  EXPECT_EQ(script.job().graph().live_count(), 0u);
  EXPECT_EQ(script.job().waiting_for(),
            "what waits for itself: c (1/2) for all that a (2/2) makes; c (2/2) for all that a "
            "(1/2) makes");
}

TEST(RegionCyclesTest, MergedTheSameJobsRunToTheirEnd) {
  for (const JobGraph& graph : {deadlock(), example()}) {
    JobScript script(graph);
    script.run_all({"register 1", "start", "slots 1:0 1:1 1:2 1:3 1:4 1:5", "all RUNNING"});
    EXPECT_EQ(script.job().waiting_for(), "");
    script.run_all({"all END_OF_DATA", "all FINISHED"});
    EXPECT_EQ(script.job().state(), JobState::kFinished);
  }
}

}  // namespace
}  // namespace freshet
