#include "tests/bench/deployment_endpoint.h"

#include <utility>

#include "runtime/base/version.h"
#include "runtime/graph/task_state.h"
#include "runtime/proto/control.pb.h"

namespace freshet::bench {

namespace {

BlobFetch::Options fetch_options(const DeploymentEndpoint::Options& options, Random& random) {
  BlobFetch::Options fetch;
  fetch.job_manager = options.job_manager;
  fetch.random = &random;
  fetch.library_version = FRESHET_VERSION;
  return fetch;
}

}  // namespace

DeploymentEndpoint::DeploymentEndpoint(Options options, Transport& transport, Executor& executor,
                                       Random& random, std::function<void()> registered)
    : options_(std::move(options)),
      transport_(transport),
      mailbox_(executor),
      registered_(std::move(registered)),
      greeting_({HelloRole::kTaskManager, options_.job_manager, FRESHET_VERSION, ""}, random),
      groups_({64ull << 20, "here", fetch_options(options_, random)}, transport, mailbox_) {}

void DeploymentEndpoint::start() {
  transport_.connect(options_.job_manager, 10s, [this](Result<std::shared_ptr<Connection>> made) {
    mailbox_.post("connected", [this, made = std::move(made)]() mutable {
      if (!made.ok()) {
        counts_.failure = made.status().to_string();
        return registered_();
      }
      channel_ = MessageChannel::open(std::move(made).value(), mailbox_, *this);
      channel_->send(greeting_.hello());
    });
  });
}

DeploymentEndpoint::Counts DeploymentEndpoint::counts() const {
  Counts counts = counts_;
  counts.bytes += groups_.fetched_bytes();
  counts.blobs = groups_.fetches();
  return counts;
}

void DeploymentEndpoint::close() {
  mailbox_.cancel(timer_);
  if (channel_) channel_->detach();
  channel_.reset();
}

void DeploymentEndpoint::on_message(const std::shared_ptr<MessageChannel>&, std::string payload) {
  counts_.bytes += payload.size();
  proto::Envelope envelope;
  Status status = data_loss("no message");
  if (envelope.ParseFromString(payload))
    status = greeting_.done() ? handle(envelope) : on_greeting(envelope);
  if (!status.ok() && counts_.failure.empty()) counts_.failure = status.to_string();
}

void DeploymentEndpoint::on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) {
  channel_.reset();
  if (counts_.failure.empty()) counts_.failure = why.to_string();
}

Status DeploymentEndpoint::on_greeting(const proto::Envelope& envelope) {
  ASSIGN_OR_RETURN(const std::string answer, greeting_.on_message(envelope));
  if (!greeting_.done()) {
    channel_->send(answer);
  } else {
    register_here();
  }
  return Status();
}

void DeploymentEndpoint::register_here() {
  proto::Envelope envelope;
  proto::RegisterTaskManager* message = envelope.mutable_register_task_manager();
  message->set_task_manager(options_.id.value);
  message->set_number(1);
  message->set_name("endpoint-" + std::to_string(options_.id.value));
  message->set_host_id("here");
  message->set_data_host("127.0.0.1");
  message->set_data_port(4000);
  message->set_slots(options_.slots);
  send(envelope);
}

Status DeploymentEndpoint::handle(const proto::Envelope& envelope) {
  switch (envelope.message_case()) {
    case proto::Envelope::kRegisterReply:
      counts_.bytes = 0;
      registered_();
      beat();
      return from_proto(envelope.register_reply().status());
    case proto::Envelope::kHeartbeatReply:
      counts_.heartbeat_ms.push_back(
          std::chrono::duration<double, std::milli>(mailbox_.now() - beat_at_).count());
      timer_ = mailbox_.schedule(options_.heartbeat_interval, "beat", [this] { beat(); });
      return Status();
    case proto::Envelope::kDeployTasks:
      return on_deploy(envelope.deploy_tasks());
    case proto::Envelope::kCancelTasks:
      for (const auto& attempt : envelope.cancel_tasks().attempts())
        report(from_proto(attempt), TaskState::kCanceled);
      return Status();
    case proto::Envelope::kFinishTasks:
      for (const auto& attempt : envelope.finish_tasks().attempts())
        report(from_proto(attempt), TaskState::kFinished);
      return Status();
    case proto::Envelope::kReleaseJob: {
      proto::Envelope reply;
      *reply.mutable_job_released()->mutable_job() = envelope.release_job().job();
      send(reply);
      return Status();
    }
    default:
      return Status();
  }
}

/// One at a time.
void DeploymentEndpoint::beat() {
  proto::Envelope envelope;
  envelope.mutable_heartbeat()->set_sequence(++sequence_);
  for (const AttemptId& attempt : hosted_)
    to_proto(attempt, envelope.mutable_heartbeat()->add_hosted());
  beat_at_ = mailbox_.now();
  send(envelope);
}

Status DeploymentEndpoint::on_deploy(const proto::DeployTasks& message) {
  KnownDescriptors known;
  known.job = [&](const JobId& id) { return job_ && job_->id == id ? &*job_ : nullptr; };
  known.group = [&](const JobId& id, const std::string& hash) { return groups_.find(id, hash); };
  ASSIGN_OR_RETURN(Deployment deployment, parse_deployment(message, options_.slots, "here", known));
  job_ = deployment.job;
  for (const NamedGroup& one : deployment.groups) {
    if (!one.hash.empty() && one.group) groups_.add(job_->id, one.hash, one.group);
  }
  if (deployment.is_whole()) {
    acknowledge(deployment);
    return Status();
  }
  for (size_t i = 0; i < deployment.groups.size(); i++) {  // There is one in this job.
    const std::string hash = deployment.groups[i].hash;
    groups_.fetch(*job_, hash, [this, deployment, i](const auto& group) mutable {
      if (group.ok()) {
        deployment.groups[i].group = *group;
        if (deployment.connect().ok()) return acknowledge(deployment);
      }
      counts_.failure = "a group cannot be fetched: " + group.status().to_string();
    });
  }
  return Status();
}

void DeploymentEndpoint::acknowledge(const Deployment& deployment) {
  for (const TaskDeployment& task : deployment.tasks) {
    counts_.deployed++;
    hosted_.insert(task.attempt);
    report(task.attempt, TaskState::kInitializing);
    report(task.attempt, TaskState::kRunning);
    if (options_.producers_end && task.attempt.subtask.vertex.value == 0)
      report(task.attempt, TaskState::kEndOfData);
  }
}

void DeploymentEndpoint::report(const AttemptId& attempt, TaskState state) {
  if (is_terminal(state)) hosted_.erase(attempt);
  proto::Envelope envelope;
  to_proto(attempt, envelope.mutable_task_state_changed()->mutable_attempt());
  envelope.mutable_task_state_changed()->set_state(static_cast<uint32_t>(state));
  send(envelope);
}

void DeploymentEndpoint::send(const proto::Envelope& envelope) {
  if (channel_) channel_->send(envelope.SerializeAsString());
}

}  // namespace freshet::bench
