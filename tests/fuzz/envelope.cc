#include <nlohmann/json.hpp>

#include "jobmanager/control_messages.h"
#include "network/transport.h"
#include "runtime/base/check.h"
#include "runtime/base/key_groups.h"
#include "runtime/graph/json_plan.h"
#include "taskmanager/deployment_message.h"
#include "tests/fuzz/messages.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/graph/sample_graphs.h"
#include "tests/unit/jobmanager/test_jobs.h"
#include "tests/unit/taskmanager/deployments.h"

namespace freshet::fuzz {

namespace {

constexpr uint32_t kSlots = 2;
constexpr const char* kHost = "host";

template <class T>
bool is_sound(const Result<T>& result) {
  CHECK(result.ok() || !result.status().message().empty());
  return result.ok();
}

void check_status(const proto::StatusProto& message) {
  const Status one = control_messages::read(message);
  const Status other = from_proto(message);
  CHECK(one.code() == other.code() && one.ok() == (message.code() == 0));
  proto::StatusProto again;
  to_proto(other, &again);
  CHECK(from_proto(again) == other);
}

/// A graph that was taken is the same when it travels on, and everything can be made of it.
void check_graph(const JobGraph& graph) {
  proto::JobGraphProto message;
  to_proto(graph, &message);
  const auto again = from_proto(message);
  CHECK(again.ok() && *again == graph);
  const std::string plan = json_plan(graph, "0123", "a job");
  CHECK(nlohmann::json::parse(plan).is_object());
  for (const JobEdge& edge : graph.edges) {
    const uint32_t producers = graph.vertices.at(edge.producer.value).parallelism;
    const uint32_t consumers = graph.vertices.at(edge.consumer.value).parallelism;
    const IndexRange read =
        producers_of_consumer(edge.partitioning, consumers - 1, producers, consumers);
    CHECK(read.begin <= read.end && read.end <= producers);
  }
  static const LogicalGraph logical = random_graph(1);
  (void)check_belongs_to(graph, logical);
}

void check_options(const BuildOptions& options) {
  proto::BuildOptionsProto message;
  to_proto(options, &message);
  const auto again = from_proto(message);
  CHECK(again.ok() && *again == options);
}

void check_job(const JobInformation& job) {
  check_options(job.build);
  check_graph(*job.graph);
}

void check_deployment(const proto::DeployTasks& message) {
  const auto deployment = parse_deployment(message, kSlots, kHost);
  if (!is_sound(deployment)) return;
  check_job(deployment->job);
  if (!deployment->is_whole()) {
    for (const TaskDeployment& task : deployment->tasks) CHECK(task.gates.empty());
    return;
  }
  const JobGraph& graph = *deployment->job.graph;
  for (const TaskDeployment& task : deployment->tasks) {
    const SubtaskId subtask = task.attempt.subtask;
    CHECK(task.slot < kSlots &&
          subtask.index < graph.vertices.at(subtask.vertex.value).parallelism);
    for (const auto& gate : task.gates) {
      const JobEdge& edge = graph.edges.at(gate->dataset.value);
      const IndexRange read = producers_of_consumer(
          edge.partitioning, subtask.index, graph.vertices.at(edge.producer.value).parallelism,
          graph.vertices.at(edge.consumer.value).parallelism);
      uint32_t next = read.begin;
      for (const InputGate::ProducerRange& range : gate->part(read)) {
        CHECK(range.begin == next && range.location < gate->locations.size());
        next = range.end;
      }
      CHECK(next == read.end);
    }
  }
}

void check_registration(const proto::RegisterTaskManager& message) {
  const auto info = control_messages::read(message);
  if (!is_sound(info)) return;
  CHECK(info->id.value != 0 && info->slots > 0 && info->data_port != 0);
  CHECK(info->unix_address.empty() || Address::parse(info->unix_address).ok());
}

void check_submission(const proto::SubmitJob& message) {
  const auto submission = control_messages::read(message);
  if (!is_sound(submission)) return;
  CHECK(submission->build.parallelism > 0);
  check_options(submission->build);
  check_graph(submission->graph);
}

void check_state(const proto::TaskStateChanged& message) {
  const auto report = control_messages::read(message);
  if (!is_sound(report)) return;
  CHECK(!to_string(report->state).empty());
  CHECK(report->state != TaskState::kFailed || !report->cause.ok());
  CHECK(report->attempt == from_proto(message.attempt()));
}

void check(const proto::Envelope& envelope) {
  switch (envelope.message_case()) {
    case proto::Envelope::kRegisterTaskManager:
      return check_registration(envelope.register_task_manager());
    case proto::Envelope::kTaskStateChanged:
      return check_state(envelope.task_state_changed());
    case proto::Envelope::kChannelsLost:
      (void)control_messages::read(envelope.channels_lost());
      return check_status(envelope.channels_lost().cause());
    case proto::Envelope::kSubmitJob:
      return check_submission(envelope.submit_job());
    case proto::Envelope::kDeployTasks:
      return check_deployment(envelope.deploy_tasks());
    case proto::Envelope::kCommit:
      if (const auto job = parse_job_information(envelope.commit().job()); is_sound(job))
        check_job(*job);
      return;
    case proto::Envelope::kReleaseJob:
      (void)parse_job_information(envelope.release_job().clean_up());
      return;
    case proto::Envelope::kErrorReply:
      return check_status(envelope.error_reply().status());
    default:
      return;
  }
}

}  // namespace

/// input := a message as text | "!" and its bytes.
void envelope(std::string_view bytes) {
  proto::Envelope message;
  if (bytes.starts_with('!')) {
    if (!message.ParseFromString(std::string(bytes.substr(1)))) return;
  } else {
    const auto parsed = from_line(bytes);
    // Text that is not UTF-8 can be written, and not read.
    if (!parsed || !message.ParseFromString(parsed->SerializeAsString())) return;
  }
  check(message);
}

namespace {

proto::Envelope submission_of(const JobGraph& graph) {
  proto::Envelope envelope;
  proto::SubmitJob* message = envelope.mutable_submit_job();
  message->set_name("job");
  message->set_module_hash(std::string(32, 'a'));
  BuildOptions build;
  build.arguments = {"--input", "f"};
  build.configuration = {{"execution.channel-hash.enabled", "true"}};
  to_proto(build, message->mutable_build());
  to_proto(graph, message->mutable_graph());
  return envelope;
}

}  // namespace

Seeds envelope_seeds() {
  Seeds seeds;
  for (const uint64_t seed : {1, 2, 3}) {
    LogicalGraph logical = random_graph(seed);
    (void)assign_operator_ids(logical);
    const auto graph = build_job_graph(logical, {.parallelism = 4});
    if (graph.ok()) seeds.push_back(as_line(submission_of(*graph)));
  }
  seeds.push_back(as_line(submission_of(two_vertices())));
  seeds.push_back("!" + submission_of(two_vertices()).SerializeAsString());
  auto deployment =
      taskmanager_test::deployment(TaskManagerId{77}, Address{"127.0.0.1", 4000}, 0, true);
  auto* location = deployment.mutable_deploy_tasks()->mutable_groups(0)->mutable_task_managers(0);
  location->set_host_id(kHost);
  location->set_unix_address("unix:@data");
  seeds.push_back(as_line(deployment));
  proto::Envelope commit;
  taskmanager_test::fill_job(commit.mutable_commit()->mutable_job());
  commit.mutable_commit()->add_committables()->set_payload("bytes");
  seeds.push_back(as_line(commit));
  proto::Envelope release;
  taskmanager_test::fill_job(release.mutable_release_job()->mutable_clean_up());
  seeds.push_back(as_line(release));
  for (const char* text :
       {"register_task_manager { task_manager: 7 name: 'tm' host_id: 'h' data_host: '127.0.0.1' "
        "data_port: 4000 slots: 2 unix_address: 'unix:@x' }",
        "task_state_changed { attempt { vertex: 1 } state: 6 cause { code: 9 message: 'm' } "
        "committables { operator_id: 1 payload: 'p' } progress { records_in: 5 } }",
        "channels_lost { consumer { vertex: 1 } producer_end: 2 cause { code: 9 message: 'm' } }",
        "error_reply { status { code: 99 message: 'm' } }"})
    seeds.push_back(as_line(from_line(text).value()));
  return seeds;
}

}  // namespace freshet::fuzz
