#include "tests/unit/taskmanager/scripted_job_manager.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "taskmanager/deployment_message.h"

namespace freshet::taskmanager_test {

ScriptedJobManager::ScriptedJobManager(Transport& transport, Executor& executor, Address address)
    : mailbox_(executor) {
  auto listener = transport.listen(address, [this](std::shared_ptr<Connection> connection) {
    channels_.push_back(MessageChannel::open(std::move(connection), mailbox_, *this));
  });
  CHECK(listener.ok());
  listener_ = std::move(listener).value();
}

ScriptedJobManager::~ScriptedJobManager() {
  CHECK(channels_
            .empty());  // The TaskManager was stopped, and everything that was on its way has come.
}

void ScriptedJobManager::send(const proto::Envelope& envelope) {
  send_bytes(envelope.SerializeAsString());
}

void ScriptedJobManager::send_bytes(std::string bytes) {
  CHECK(control_ != nullptr);
  mailbox_.post("scripted_send",
                [control = control_, bytes = std::move(bytes)] { control->send(bytes); });
}

void ScriptedJobManager::drop() {
  mailbox_.post("scripted_drop", [this] {
    if (control_) control_->close();
  });
}

void ScriptedJobManager::on_message(const std::shared_ptr<MessageChannel>& channel,
                                    std::string payload) {
  proto::Envelope envelope;
  CHECK(envelope.ParseFromString(payload));
  proto::Envelope reply;
  if (envelope.has_hello()) {
    to_proto(welcome, reply.mutable_hello_reply()->mutable_status());
    reply.mutable_hello_reply()->set_job_manager_epoch(epoch);
    const PeerVersion theirs{envelope.hello().library_version(),
                             envelope.hello().protocol_version()};
    reply.mutable_hello_reply()->set_library_version(version.value_or(theirs).library);
    reply.mutable_hello_reply()->set_protocol_version(version.value_or(theirs).protocol);
    greetings++;
    if (envelope.hello().role() == proto::Hello::TASK_MANAGER) control_ = channel;
  } else if (envelope.has_register_task_manager()) {
    registrations++;
    if (on_registration) on_registration();
    registration = envelope.register_task_manager();
    if (!answer_registrations) return;
    reply.mutable_register_reply()->set_heartbeat_interval_ms(1000);
    reply.mutable_register_reply()->set_heartbeat_timeout_ms(10000);
  } else if (envelope.has_heartbeat()) {
    heartbeats++;
    heartbeat = envelope.heartbeat();
    if (!answer_heartbeats) return;
    reply.mutable_heartbeat_reply()->set_sequence(envelope.heartbeat().sequence());
  } else if (envelope.has_get_blob()) {
    return answer_blob(channel, envelope.get_blob().hash());
  } else {
    received.push_back(std::move(envelope));
    return;
  }
  channel->send(reply.SerializeAsString());
}

void ScriptedJobManager::answer_blob(const std::shared_ptr<MessageChannel>& channel,
                                     const std::string& hash) {
  const auto blob = blobs.find(hash);
  proto::Envelope reply;
  if (blob == blobs.end()) {
    to_proto(not_found("no such blob"), reply.mutable_blob_chunk()->mutable_status());
    channel->send(reply.SerializeAsString());
    return;
  }
  blobs_sent++;
  const size_t half = blob->second.size() / 2;
  reply.mutable_blob_chunk()->set_size(blob->second.size());
  reply.mutable_blob_chunk()->set_data(blob->second.substr(0, half));
  channel->send(reply.SerializeAsString());
  reply.mutable_blob_chunk()->set_data(blob->second.substr(half));
  reply.mutable_blob_chunk()->set_last(true);
  channel->send(reply.SerializeAsString());
}

void ScriptedJobManager::on_closed(const std::shared_ptr<MessageChannel>& channel, const Status&) {
  if (control_ == channel) control_.reset();
  channels_.erase(std::remove(channels_.begin(), channels_.end(), channel), channels_.end());
}

std::vector<std::string> ScriptedJobManager::states() const {
  std::vector<std::string> states;
  for (const proto::Envelope& envelope : received) {
    if (!envelope.has_task_state_changed()) continue;
    const proto::TaskStateChanged& change = envelope.task_state_changed();
    std::string line = to_string(from_proto(change.attempt())) + " " +
                       std::string(to_string(static_cast<TaskState>(change.state())));
    if (!change.cause().message().empty()) line += ": " + from_proto(change.cause()).to_string();
    states.push_back(std::move(line));
  }
  return states;
}

const proto::TaskStateChanged* ScriptedJobManager::last(TaskState state) const {
  const proto::TaskStateChanged* found = nullptr;
  for (const proto::Envelope& envelope : received) {
    if (envelope.has_task_state_changed() &&
        envelope.task_state_changed().state() == static_cast<uint32_t>(state)) {
      found = &envelope.task_state_changed();
    }
  }
  return found;
}

}  // namespace freshet::taskmanager_test
