#include "taskmanager/deployment_message.h"

#include <algorithm>
#include <set>

#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {
constexpr size_t kCauseBytesMax = 64 << 10;  // Users may throw anything.
}

std::vector<InputGate::ProducerRange> GateGroup::part(IndexRange range) const {
  std::vector<InputGate::ProducerRange> part;
  for (InputGate::ProducerRange one : producers) {
    one.begin = std::max(one.begin, range.begin);
    one.end = std::min(one.end, range.end);
    if (one.begin < one.end) part.push_back(one);
  }
  return part;
}

JobId from_proto(const proto::JobIdProto& proto) { return {proto.high(), proto.low()}; }

AttemptId from_proto(const proto::AttemptProto& proto) {
  return {from_proto(proto.job()), {VertexId{proto.vertex()}, proto.subtask()}, proto.attempt()};
}

Status from_proto(const proto::StatusProto& proto) {
  if (proto.code() == 0) return Status();
  const bool known = proto.code() <= static_cast<uint32_t>(StatusCode::kInternal);
  return Status(known ? static_cast<StatusCode>(proto.code()) : StatusCode::kInternal,
                proto.message());
}

void to_proto(const JobId& id, proto::JobIdProto* proto) {
  proto->set_high(id.high);
  proto->set_low(id.low);
}

void to_proto(const AttemptId& attempt, proto::AttemptProto* proto) {
  to_proto(attempt.job, proto->mutable_job());
  proto->set_vertex(attempt.subtask.vertex.value);
  proto->set_subtask(attempt.subtask.index);
  proto->set_attempt(attempt.attempt);
}

void to_proto(const Status& status, proto::StatusProto* proto) {
  proto->set_code(static_cast<uint32_t>(status.code()));
  proto->set_message(status.message().substr(0, kCauseBytesMax));
}

namespace {

bool is_hash(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<InputGate::ProducerLocation> parse_location(const proto::TaskManagerLocation& proto,
                                                   const std::string& host_id) {
  if (proto.port() == 0 || proto.port() > 65535)
    return invalid_argument("a gate group names a port that is none");
  InputGate::ProducerLocation location{TaskManagerId{proto.task_manager()},
                                       Address{proto.host(), static_cast<uint16_t>(proto.port())}};
  if (!proto.unix_address().empty() && proto.host_id() == host_id) {
    ASSIGN_OR_RETURN(location.unix_address, Address::parse(proto.unix_address()));
    if (!location.unix_address->is_unix())
      return invalid_argument("a gate group names a Unix socket that is none");
  }
  return location;
}

Status parse_runs(const proto::GateGroup& proto, uint32_t parallelism, GateGroup* group) {
  const int runs = proto.run_lengths_size();
  const bool with_attempts = proto.run_attempts_size() != 0;
  if (proto.run_locations_size() != runs || (with_attempts && proto.run_attempts_size() != runs))
    return invalid_argument("the runs of a gate group have no location or attempt each");
  uint64_t begin = proto.first_producer();
  for (int i = 0; i < runs; i++) {
    const uint64_t end = begin + proto.run_lengths(i);
    if (begin == end || end > parallelism) {
      return invalid_argument("the producers of a gate group are none of dataset " +
                              std::to_string(group->dataset.value));
    }
    const uint32_t location = proto.run_locations(i);
    if (location >= group->locations.size())
      return invalid_argument("a gate group names a location that it lacks");
    group->producers.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), location,
                                with_attempts ? proto.run_attempts(i) : 0});
    begin = end;
  }
  return Status();
}

Result<std::shared_ptr<const GateGroup>> parse_group(const proto::GateGroup& proto,
                                                     const JobGraph& graph,
                                                     const std::string& host_id) {
  if (proto.dataset() >= graph.edges.size())
    return invalid_argument("a gate group names no dataset of the job");
  auto group = std::make_shared<GateGroup>();
  group->dataset = DatasetId{proto.dataset()};
  group->stored = proto.stored();
  for (const proto::TaskManagerLocation& one : proto.task_managers()) {
    ASSIGN_OR_RETURN(InputGate::ProducerLocation location, parse_location(one, host_id));
    group->locations.push_back(std::move(location));
  }
  const JobEdge& edge = graph.edges[proto.dataset()];
  RETURN_IF_ERROR(parse_runs(proto, graph.vertices[edge.producer.value].parallelism, group.get()));
  return std::shared_ptr<const GateGroup>(std::move(group));
}

Status check_gate(const GateGroup& group, DatasetId dataset, const JobGraph& graph,
                  uint32_t subtask) {
  if (group.dataset != dataset)
    return invalid_argument("a gate group is of another dataset than the task's input");
  const JobEdge& edge = graph.edges[dataset.value];
  const IndexRange read = producers_of_consumer(edge.partitioning, subtask,
                                                graph.vertices[edge.producer.value].parallelism,
                                                graph.vertices[edge.consumer.value].parallelism);
  if (group.producers.empty() || group.producers.front().begin > read.begin ||
      group.producers.back().end < read.end) {
    return invalid_argument("a gate group lacks producers of the task's input");
  }
  return Status();
}

Result<TaskDeployment> parse_task(const proto::TaskDeployment& proto, const JobInformation& job,
                                  uint32_t slots, size_t group_count) {
  const JobGraph& graph = *job.graph;
  TaskDeployment task;
  task.attempt = from_proto(proto.attempt());
  task.allocation = AllocationId{proto.allocation()};
  task.slot = proto.slot();
  task.groups.assign(proto.groups().begin(), proto.groups().end());
  const SubtaskId subtask = task.attempt.subtask;
  if (task.attempt.job != job.id)
    return invalid_argument("a task is of another job than its deployment");
  if (subtask.vertex.value >= graph.vertices.size())
    return invalid_argument("a task is of a vertex that does not exist");
  if (subtask.index >= graph.vertices[subtask.vertex.value].parallelism) {
    return invalid_argument("task " + to_string(subtask) + " is above its vertex' parallelism");
  }
  if (task.slot >= slots)
    return invalid_argument("task " + to_string(subtask) + " is for a slot that does not exist");
  if (task.groups.size() != graph.inputs_of(subtask.vertex).size())
    return invalid_argument("task " + to_string(subtask) + " has not one gate group per input");
  for (const uint32_t index : task.groups) {
    if (index >= group_count)
      return invalid_argument("task " + to_string(subtask) + " names no gate group");
  }
  return task;
}

Result<JobInformation> job_of(const proto::DeployTasks& proto, const KnownDescriptors& known) {
  if (proto.has_job()) return parse_job_information(proto.job());
  const JobId id = from_proto(proto.known_job());
  const JobInformation* job = known.job ? known.job(id) : nullptr;
  if (job == nullptr) return invalid_argument("job " + id.to_string() + " is not known here");
  return *job;
}

Result<NamedGroup> group_of(const proto::GateGroup& proto, const JobInformation& job,
                            const std::string& host_id, const KnownDescriptors& known) {
  NamedGroup named{proto.hash(), nullptr};
  if (!named.hash.empty() && !is_hash(named.hash))
    return invalid_argument("the hash of a gate group is not 32 hex digits");
  if (named.hash.empty() || proto.run_lengths_size() != 0) {
    ASSIGN_OR_RETURN(named.group, parse_group(proto, *job.graph, host_id));
  } else if (known.group) {
    named.group = known.group(job.id, named.hash);
  }
  return named;
}

}  // namespace

bool Deployment::is_whole() const {
  return std::all_of(groups.begin(), groups.end(),
                     [](const NamedGroup& one) { return one.group != nullptr; });
}

Status Deployment::connect() {
  for (TaskDeployment& task : tasks) {
    const SubtaskId subtask = task.attempt.subtask;
    const std::vector<DatasetId> inputs = job.graph->inputs_of(subtask.vertex);
    for (size_t i = 0; i < inputs.size(); i++) {
      const auto& group = groups[task.groups[i]].group;
      RETURN_IF_ERROR(check_gate(*group, inputs[i], *job.graph, subtask.index));
      task.gates.push_back(group);
    }
  }
  return Status();
}

Result<std::shared_ptr<const GateGroup>> parse_group(const std::string& bytes,
                                                     const JobGraph& graph,
                                                     const std::string& host_id) {
  proto::GateGroup group;
  if (!group.ParseFromString(bytes)) return data_loss("the blob of a gate group is no message");
  return parse_group(group, graph, host_id);
}

Result<JobInformation> parse_job_information(const proto::JobInformation& proto) {
  JobInformation job;
  job.id = from_proto(proto.job());
  job.name = proto.name();
  job.module_hash = proto.module_hash();
  job.fingerprint = proto.fingerprint();
  if (!is_hash(job.module_hash)) return invalid_argument("a module's hash is not 32 hex digits");
  ASSIGN_OR_RETURN(job.build, from_proto(proto.build()));
  ASSIGN_OR_RETURN(JobGraph graph, from_proto(proto.graph()));
  job.graph = std::make_shared<const JobGraph>(std::move(graph));
  return job;
}

Result<Deployment> parse_deployment(const proto::DeployTasks& proto, uint32_t slots,
                                    const std::string& host_id, const KnownDescriptors& known) {
  Deployment deployment;
  ASSIGN_OR_RETURN(deployment.job, job_of(proto, known));
  deployment.check = proto.check();
  for (const proto::GateGroup& group : proto.groups()) {
    ASSIGN_OR_RETURN(NamedGroup named, group_of(group, deployment.job, host_id, known));
    deployment.groups.push_back(std::move(named));
  }
  std::set<AttemptId> attempts;
  for (const proto::TaskDeployment& task : proto.tasks()) {
    ASSIGN_OR_RETURN(auto parsed,
                     parse_task(task, deployment.job, slots, deployment.groups.size()));
    if (!attempts.insert(parsed.attempt).second)
      return invalid_argument("a deployment names a task twice");
    deployment.tasks.push_back(std::move(parsed));
  }
  if (deployment.is_whole()) RETURN_IF_ERROR(deployment.connect());
  return deployment;
}

}  // namespace freshet
