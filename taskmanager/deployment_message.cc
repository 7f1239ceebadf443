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
  const uint32_t parallelism = graph.vertices[edge.producer.value].parallelism;
  for (const proto::ProducerRange& range : proto.producers()) {
    const bool contiguous =
        group->producers.empty() || group->producers.back().end == range.begin();
    if (range.begin() >= range.end() || range.end() > parallelism || !contiguous) {
      return invalid_argument("the producers of a gate group are no ranges of dataset " +
                              std::to_string(proto.dataset()));
    }
    if (range.location() >= group->locations.size())
      return invalid_argument("a gate group names a location that it lacks");
    group->producers.push_back({range.begin(), range.end(), range.location(), range.attempt()});
  }
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
                                  uint32_t slots,
                                  const std::vector<std::shared_ptr<const GateGroup>>& groups) {
  const JobGraph& graph = *job.graph;
  TaskDeployment task;
  task.attempt = from_proto(proto.attempt());
  task.allocation = AllocationId{proto.allocation()};
  task.slot = proto.slot();
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
  const std::vector<DatasetId> inputs = graph.inputs_of(subtask.vertex);
  if (static_cast<size_t>(proto.groups_size()) != inputs.size()) {
    return invalid_argument("task " + to_string(subtask) + " has not one gate group per input");
  }
  for (size_t i = 0; i < inputs.size(); i++) {
    const uint32_t index = proto.groups(static_cast<int>(i));
    if (index >= groups.size())
      return invalid_argument("task " + to_string(subtask) + " names no gate group");
    RETURN_IF_ERROR(check_gate(*groups[index], inputs[i], graph, subtask.index));
    task.gates.push_back(groups[index]);
  }
  return task;
}

}  // namespace

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
                                    const std::string& host_id) {
  Deployment deployment;
  ASSIGN_OR_RETURN(deployment.job, parse_job_information(proto.job()));
  deployment.check = proto.check();
  std::vector<std::shared_ptr<const GateGroup>> groups;
  for (const proto::GateGroup& group : proto.groups()) {
    ASSIGN_OR_RETURN(auto parsed, parse_group(group, *deployment.job.graph, host_id));
    groups.push_back(std::move(parsed));
  }
  std::set<AttemptId> attempts;
  for (const proto::TaskDeployment& task : proto.tasks()) {
    ASSIGN_OR_RETURN(auto parsed, parse_task(task, deployment.job, slots, groups));
    if (!attempts.insert(parsed.attempt).second)
      return invalid_argument("a deployment names a task twice");
    deployment.tasks.push_back(std::move(parsed));
  }
  return deployment;
}

}  // namespace freshet
