#include "runtime/chaos/sampler.h"

#include <gtest/gtest.h>

#include "network/local_transport.h"

namespace freshet::chaos {
namespace {

JobGraph numbers_to_files() {
  JobGraph graph;
  graph.vertices.resize(3);
  graph.vertices[0].hidden = true;
  graph.vertices[0].operators.push_back({OperatorId{1}, "splits", "", true, false, {}});
  graph.vertices[1].parallelism = 2;
  graph.vertices[1].operators.push_back({OperatorId{2}, "numbers", "", true, false, {}});
  graph.vertices[2].operators.push_back({OperatorId{3}, "files", "", false, true, {}});
  return graph;
}

TaskReport report(uint32_t vertex, uint32_t index, uint32_t attempt, uint64_t in, uint64_t source,
                  TaskState state = TaskState::kRunning) {
  TaskReport report;
  report.attempt = {{}, {VertexId{vertex}, index}, attempt};
  report.state = state;
  report.records_in = in;
  report.source_records = source;
  return report;
}

TEST(SamplerTest, KnowsSourcesAndSinks) {
  const Samples samples = samples_for(numbers_to_files());
  ASSERT_EQ(samples.tasks.size(), 4u);
  EXPECT_FALSE(samples.tasks[0].source);  // It only deals out work.
  EXPECT_TRUE(samples.tasks[1].source);
  EXPECT_TRUE(samples.tasks[2].source);
  EXPECT_TRUE(samples.tasks[3].sink);
  EXPECT_FALSE(samples.tasks[2].sink);
}

TEST(SamplerTest, SourcesAreMeasuredByWhatTheyMakeOthersByWhatTheyTake) {
  const Samples samples = samples_for(numbers_to_files());
  JobDetails details;
  details.job.tasks_running = 3;
  details.tasks = {report(0, 0, 0, 2, 0), report(1, 0, 1, 1, 70), report(1, 1, 0, 1, 50),
                   report(2, 0, 0, 90, 0, TaskState::kEndOfData)};
  const Sample sample = sample_of(samples, details, nullptr, 1000);
  EXPECT_EQ(sample.at, 1000);
  EXPECT_EQ(sample.tasks_running, 3u);
  EXPECT_EQ(sample.tasks[1], (TaskSample{1, 70, false}));
  EXPECT_EQ(sample.tasks[2], (TaskSample{0, 50, false}));
  EXPECT_EQ(sample.tasks[3], (TaskSample{0, 90, true}));
}

TEST(SamplerTest, WhatIsNotToldIsAsBefore) {
  const Samples samples = samples_for(numbers_to_files());
  JobDetails details;
  details.tasks = {report(1, 1, 0, 1, 50)};
  const Sample first = sample_of(samples, details, nullptr, 1000);
  details.tasks = {report(2, 0, 0, 90, 0)};
  const Sample second = sample_of(samples, details, &first, 1100);
  EXPECT_EQ(second.tasks[2], (TaskSample{0, 50, false}));
  EXPECT_EQ(second.tasks[3], (TaskSample{0, 90, false}));
}

TEST(SamplerTest, LatencyIsThatOfTheWorstSink) {
  JobGraph graph = numbers_to_files();
  graph.vertices[2].parallelism = 2;
  const Samples samples = samples_for(graph);
  JobDetails details;
  details.tasks = {report(2, 0, 0, 10, 0), report(2, 1, 0, 10, 0)};
  EXPECT_FALSE(sample_of(samples, details, nullptr, 1000).latency);
  details.tasks[0].latency_records = 30;
  details.tasks[0].latency_p50_ms = 10;
  details.tasks[0].latency_p95_ms = 20;
  details.tasks[0].latency_max_ms = 70;
  details.tasks[1].latency_records = 10;
  details.tasks[1].latency_p50_ms = 2;
  details.tasks[1].latency_p95_ms = 50;
  details.tasks[1].latency_max_ms = 60;
  const Sample sample = sample_of(samples, details, nullptr, 1000);
  EXPECT_EQ(*sample.latency, (SeriesPoint::Latency{8, 50, 70}));
  EXPECT_FALSE(sample_of(samples, details, &sample, 1050).latency) << "nothing came since";
}

TEST(SamplerTest, WhoeverDoesNotAnswerGivesNoSamples) {
  const auto clock = make_system_clock();
  ThreadExecutor network("network", *clock);
  LocalTransport transport(network);
  Sampler sampler({{"127.0.0.1", 1}, "", 1ms}, JobId(), numbers_to_files(), transport, *clock);
  sampler.set_job_manager({"127.0.0.1", 2});
  sampler.stop();
  EXPECT_TRUE(sampler.samples().samples.empty());
  EXPECT_EQ(sampler.source_records(), 0u);
}

}  // namespace
}  // namespace freshet::chaos
