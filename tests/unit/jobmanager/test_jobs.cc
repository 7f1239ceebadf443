#include "tests/unit/jobmanager/test_jobs.h"

#include <fmt/format.h>

namespace freshet {

JobVertex test_vertex(uint32_t id, const std::string& name, uint32_t parallelism,
                      const std::string& slot_sharing_group) {
  JobVertex vertex;
  vertex.id = VertexId{id};
  vertex.parallelism = parallelism;
  vertex.max_parallelism = std::max(128u, parallelism);
  vertex.slot_sharing_group = slot_sharing_group;
  ChainedOperator op;
  op.id = OperatorId{id + 1};
  op.name = name;
  op.source = name == "source";
  op.sink = name == "sink";
  vertex.operators.push_back(op);
  return vertex;
}

JobEdge test_edge(uint32_t id, uint32_t producer, uint32_t consumer, Partitioning partitioning) {
  JobEdge edge;
  edge.id = DatasetId{id};
  edge.producer = VertexId{producer};
  edge.consumer = VertexId{consumer};
  edge.partitioning = partitioning;
  edge.type_fingerprint = "string";
  edge.source_operator = OperatorId{producer + 1};
  edge.target_operator = OperatorId{consumer + 1};
  return edge;
}

JobGraph two_vertices(uint32_t sources, uint32_t sinks, Partitioning partitioning) {
  JobGraph graph;
  graph.vertices = {test_vertex(0, "source", sources), test_vertex(1, "sink", sinks)};
  ChainedOutput output;
  output.dataset = DatasetId{0};
  graph.vertices[0].operators[0].outputs.push_back(output);
  graph.edges = {test_edge(0, 0, 1, partitioning)};
  return graph;
}

JobGraph two_stages() {
  JobGraph graph = two_vertices();
  graph.mode = RuntimeMode::kBatch;
  graph.edges[0].exchange = Exchange::kBlocking;
  return graph;
}

JobSubmission test_submission(JobGraph graph) {
  JobSubmission submission;
  submission.name = "word count";
  submission.module_hash = std::string(32, 'a');
  submission.graph = std::move(graph);
  return submission;
}

namespace {

std::string show(const std::vector<AttemptId>& attempts) {
  std::string text;
  for (const AttemptId& attempt : attempts) text += " " + to_string(attempt);
  return text;
}

struct Shower {
  std::string operator()(const job_commands::RequireSlots& c) const {
    std::string returned;
    for (const Slot& slot : c.returned)
      returned += fmt::format(" returned={}:{}", slot.task_manager.value, slot.index);
    if (c.total == c.needed) return fmt::format("require_slots {}{}", c.total, returned);
    return fmt::format("require_slots {} to {}{}{}", c.needed, c.total, c.idle ? "" : " running",
                       returned);
  }
  std::string operator()(const job_commands::DeployTasks& c) const {
    std::string text = fmt::format("deploy tm={}", c.to.value);
    for (const auto& task : c.tasks) {
      text += fmt::format(" {}@{}", to_string(task.attempt), task.slot);
      for (const uint32_t group : task.groups) text += fmt::format("<{}", group);
    }
    for (const auto& [group, known] : c.groups) {
      text += fmt::format(" | dataset={}", group->dataset.value);
      for (const auto& range : group->producers) {
        text += fmt::format(" [{}-{})#{}=tm{}", range.producers.begin, range.producers.end,
                            range.attempt, group->task_managers[range.location].value);
      }
      if (known) text += " known";
    }
    if (c.check) text += " | check";
    return text;
  }
  std::string operator()(const job_commands::CancelTasks& c) const {
    return fmt::format("cancel tm={}{}", c.to.value, show(c.attempts));
  }
  std::string operator()(const job_commands::ReleasePartitions& c) const {
    std::string text = fmt::format("release_partitions tm={}", c.to.value);
    for (const auto& range : c.partitions) {
      text += fmt::format(" {}:[{}-{})#{}", range.dataset.value, range.producers.begin,
                          range.producers.end, range.attempt);
    }
    return text;
  }
  std::string operator()(const job_commands::FinishTasks& c) const {
    return fmt::format("finish tm={}{}", c.to.value, show(c.attempts));
  }
  std::string operator()(const job_commands::ProvokeFailure& c) const {
    return fmt::format("provoke tm={} {} {}", c.to.value, to_string(c.attempt),
                       to_string(c.failure));
  }
  std::string operator()(const job_commands::Commit& c) const {
    std::string text = fmt::format("commit tm={} id={}", c.to.value, c.commit_id);
    for (const JobCommittable& committable : c.committables) text += " " + committable.payload;
    return text;
  }
  std::string operator()(const job_commands::ReleaseJob&) const { return "release"; }
};

}  // namespace

std::string show(const JobCommand& command) { return std::visit(Shower{}, command); }

std::vector<std::string> show(const JobCommands& commands) {
  std::vector<std::string> lines;
  for (const JobCommand& command : commands) lines.push_back(show(command));
  return lines;
}

}  // namespace freshet
