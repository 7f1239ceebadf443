#include "tests/bench/naive_deployer.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/version.h"
#include "runtime/graph/task_state.h"
#include "runtime/proto/control.pb.h"
#include "taskmanager/deployment_message.h"
#include "tests/bench/all_to_all_graph.h"

namespace freshet::bench {

namespace {

constexpr uint64_t kUnsentMax = 64ull << 20;  // Of one endpoint: messages are many and large.
constexpr JobId kJob{5, 6};

}  // namespace

NaiveDeployer::NaiveDeployer(uint32_t parallelism, uint32_t endpoints, Transport& transport,
                             Executor& main)
    : parallelism_(parallelism), endpoints_(endpoints), transport_(transport), mailbox_(main) {}

Result<Address> NaiveDeployer::listen() {
  ASSIGN_OR_RETURN(
      listener_,
      transport_.listen(Address{"127.0.0.1", 0}, [this](std::shared_ptr<Connection> connection) {
        mailbox_.post("accept", [this, connection] {
          channels_.insert(MessageChannel::open(connection, mailbox_, *this));
        });
      }));
  return listener_->address();
}

void NaiveDeployer::deploy(RuntimeMode mode) {
  proto::JobInformation job;
  to_proto(kJob, job.mutable_job());
  job.set_name("all to all");
  job.set_module_hash(content_hash("nothing"));
  to_proto(BuildOptions{}, job.mutable_build());
  to_proto(all_to_all_graph(parallelism_, mode), job.mutable_graph());
  information_ = job.SerializeAsString();
  deploy_next();
}

/// As many as fit into the queues; the rest when acknowledgements come.
void NaiveDeployer::deploy_next() {
  while (next_task_ < 2 * parallelism_) {
    const auto& channel = by_endpoint_.at(endpoint_of(next_task_ % parallelism_));
    if (channel->unsent_bytes() > kUnsentMax) {
      mailbox_.schedule(1ms, "again", [this] { deploy_next(); });
      return;
    }
    channel->send(message_of(next_task_++));
    if (next_task_ % 64 == 0) {
      mailbox_.post("next", [this] { deploy_next(); });
      return;
    }
  }
}

std::string NaiveDeployer::message_of(uint32_t index) const {
  proto::Envelope envelope;
  proto::DeployTasks* deploy = envelope.mutable_deploy_tasks();
  CHECK(deploy->mutable_job()->ParseFromString(information_));
  const uint32_t subtask = index % parallelism_;
  proto::TaskDeployment* task = deploy->add_tasks();
  to_proto(AttemptId{kJob, {VertexId{index / parallelism_}, subtask}, 0}, task->mutable_attempt());
  task->set_allocation(subtask + 1);
  task->set_slot(subtask / endpoints_);
  if (index < parallelism_) return envelope.SerializeAsString();
  task->add_groups(0);
  proto::GateGroup* group = deploy->add_groups();
  for (uint32_t i = 0; i < endpoints_; i++) {
    proto::TaskManagerLocation* location = group->add_task_managers();
    location->set_task_manager(i + 1);
    location->set_host("127.0.0.1");
    location->set_port(4000);
  }
  for (uint32_t producer = 0; producer < parallelism_; producer++) {
    group->add_run_lengths(1);
    group->add_run_locations(static_cast<uint32_t>(endpoint_of(producer) - 1));
    group->add_run_attempts(0);
  }
  return envelope.SerializeAsString();
}

bool NaiveDeployer::wait(Duration longest) {
  return all_acknowledged_.get_future().wait_for(longest) == std::future_status::ready;
}

void NaiveDeployer::close() {
  listener_.reset();
  for (const auto& channel : channels_) channel->detach();
  channels_.clear();
  by_endpoint_.clear();
}

void NaiveDeployer::on_message(const std::shared_ptr<MessageChannel>& channel,
                               std::string payload) {
  proto::Envelope envelope, reply;
  CHECK(envelope.ParseFromString(payload));
  if (envelope.has_hello()) {
    reply.mutable_hello_reply()->mutable_status();
    reply.mutable_hello_reply()->set_job_manager_epoch(1);
    reply.mutable_hello_reply()->set_library_version(FRESHET_VERSION);
    reply.mutable_hello_reply()->set_protocol_version(kProtocolVersion);
  } else if (envelope.has_register_task_manager()) {
    by_endpoint_[envelope.register_task_manager().task_manager()] = channel;
    reply.mutable_register_reply()->set_heartbeat_interval_ms(1000);
    reply.mutable_register_reply()->set_heartbeat_timeout_ms(10'000);
  } else if (envelope.has_heartbeat()) {
    reply.mutable_heartbeat_reply()->set_sequence(envelope.heartbeat().sequence());
  } else {
    const bool runs =
        envelope.task_state_changed().state() == static_cast<uint32_t>(TaskState::kRunning);
    if (runs && ++acknowledged_ == 2 * uint64_t{parallelism_}) all_acknowledged_.set_value();
    return;
  }
  channel->send(reply.SerializeAsString());
}

void NaiveDeployer::on_closed(const std::shared_ptr<MessageChannel>& channel, const Status&) {
  channels_.erase(channel);
}

}  // namespace freshet::bench
