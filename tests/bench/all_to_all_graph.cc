#include "tests/bench/all_to_all_graph.h"

#include <algorithm>
#include <memory>

#include "jobmanager/failover.h"
#include "jobmanager/job_master.h"
#include "jobmanager/region_schedule.h"
#include "runtime/base/check.h"
#include "runtime/base/configuration.h"
#include "tests/bench/counting_allocator.h"

namespace freshet::bench {

namespace {

JobVertex vertex(uint32_t id, const std::string& name, uint32_t parallelism) {
  JobVertex vertex;
  vertex.id = VertexId{id};
  vertex.parallelism = parallelism;
  vertex.max_parallelism = std::max(128u, parallelism);
  ChainedOperator only;
  only.id = OperatorId{id + 1};
  only.name = name;
  only.source = id == 0;
  only.sink = id == 1;
  vertex.operators = {only};
  return vertex;
}

void move(ExecutionGraph& graph, uint32_t index, TaskState to) {
  static constexpr TaskState kWay[] = {TaskState::kScheduled,    TaskState::kDeploying,
                                       TaskState::kInitializing, TaskState::kRunning,
                                       TaskState::kEndOfData,    TaskState::kFinished};
  bool behind = false;  // Of the present state.
  for (const TaskState state : kWay) {
    behind = behind || graph.at(index).state == TaskState::kCreated;
    if (behind) graph.move(index, state);
    behind = behind || graph.at(index).state == state;
    if (state == to) return;
  }
}

void take_slots(RegionSchedule& schedule, uint32_t count) {
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < count; i++)
    slots.push_back({AllocationId{i + 1}, TaskManagerId{i / 100 + 1}, i % 100});
  schedule.slots().update(slots);
}

void measure_init(const JobGraph& job, GraphCosts* costs) {
  JobMaster::Options options;
  options.id = JobId{1, 1};
  options.submission.name = "all to all";
  options.submission.graph = job;
  options.slot_timeout = 10s;
  const auto random = make_seeded_random(1);
  auto backoff = make_restart_backoff(Configuration(), *random);
  CHECK(backoff.ok());
  std::unique_ptr<JobMaster> master;
  const uint64_t allocated = allocated_bytes(), resident = resident_bytes();
  costs->init_ms = cpu_ms_of([&] {
    master = std::make_unique<JobMaster>(std::move(options), std::move(backoff).value());
  });
  costs->graph_mb = static_cast<double>(allocated_bytes() - allocated) / 1e6;
  costs->graph_rss_mb = static_cast<double>(resident_bytes() - resident) / 1e6;
  costs->steps += master->graph().build_steps() + master->graph().regions().steps();
}

/// In a batch job the producers have ended, and the consumers run.
void measure_restart_set(const JobGraph& job, uint32_t parallelism, GraphCosts* costs) {
  ExecutionGraph graph{JobGraph(job)};
  const bool batch = job.mode == RuntimeMode::kBatch;
  for (uint32_t i = 0; i < 2 * parallelism; i++)
    move(graph, i, batch && i < parallelism ? TaskState::kFinished : TaskState::kRunning);
  FailoverPlan plan;
  costs->restart_set_ms = cpu_ms_of([&] {
    plan = plan_failover(graph, {SubtaskId{VertexId{0}, 0}}, {});
  });
  for (const uint32_t region : plan.regions)
    costs->restarts += graph.regions().members(region).size();
  costs->steps += plan.steps;
}

void measure_scheduling(const JobGraph& job, uint32_t parallelism, GraphCosts* costs) {
  ExecutionGraph graph{JobGraph(job)};
  RegionSchedule schedule(graph);
  take_slots(schedule, parallelism);
  if (job.mode != RuntimeMode::kBatch) {
    costs->schedule_downstream_ms =
        cpu_ms_of([&] { CHECK(schedule.start_regions().size() == 2 * parallelism); });
    return;
  }
  CHECK(schedule.start_regions().size() == parallelism);
  for (uint32_t i = 0; i < parallelism; i++) move(graph, i, TaskState::kRunning);
  costs->schedule_downstream_ms = cpu_ms_of([&] {
    for (uint32_t i = 0; i < parallelism; i++) {
      move(graph, i, TaskState::kFinished);
      schedule.stop_region(graph.regions().region_of(i), /*again=*/false);
    }
    CHECK(schedule.start_regions().size() == parallelism);
  });
  for (uint32_t i = parallelism; i < 2 * parallelism; i++) move(graph, i, TaskState::kRunning);
  costs->release_ms = cpu_ms_of([&] {
    for (uint32_t i = parallelism; i < 2 * parallelism; i++) move(graph, i, TaskState::kFinished);
    uint32_t released = 0;
    for (const uint32_t group : graph.take_read_groups()) {
      graph.note_released(group);
      released += graph.group(group).producers.size();
    }
    CHECK(released == parallelism);
  });
}

}  // namespace

JobGraph all_to_all_graph(uint32_t parallelism, RuntimeMode mode) {
  JobGraph graph;
  graph.mode = mode;
  graph.vertices = {vertex(0, "source", parallelism), vertex(1, "sink", parallelism)};
  ChainedOutput output;
  output.dataset = DatasetId{0};
  graph.vertices[0].operators[0].outputs = {output};
  JobEdge edge;
  edge.producer = VertexId{0};
  edge.consumer = VertexId{1};
  edge.partitioning = Partitioning::kRebalance;
  edge.type_fingerprint = "u64";
  edge.source_operator = OperatorId{1};
  edge.target_operator = OperatorId{2};
  if (mode == RuntimeMode::kBatch) edge.exchange = Exchange::kBlocking;
  graph.edges = {edge};
  return graph;
}

GraphCosts measure_graph(uint32_t parallelism, RuntimeMode mode) {
  const JobGraph job = all_to_all_graph(parallelism, mode);
  GraphCosts costs;
  measure_init(job, &costs);
  costs.regions_ms = cpu_ms_of([&] { PipelinedRegions regions(job); });
  measure_restart_set(job, parallelism, &costs);
  measure_scheduling(job, parallelism, &costs);
  return costs;
}

}  // namespace freshet::bench
