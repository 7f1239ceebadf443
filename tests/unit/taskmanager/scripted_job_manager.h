#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/peer_version.h"
#include "runtime/graph/task_state.h"
#include "runtime/proto/control.pb.h"

namespace freshet::taskmanager_test {

/// The other end of the wire: welcomes whoever comes, hands out blobs, answers heartbeats, keeps
/// everything else that is said.
class ScriptedJobManager final : public MessageChannel::Handler {
 public:
  ScriptedJobManager(Transport& transport, Executor& executor, Address address);
  ~ScriptedJobManager() override;

  Address address() const { return listener_->address(); }
  void send(const proto::Envelope& envelope);
  void send_bytes(std::string bytes);
  /// Closes the control connection of the TaskManager.
  void drop();

  bool connected() const { return control_ != nullptr; }
  /// `1/0#0 RUNNING`, in order; the cause behind FAILED.
  std::vector<std::string> states() const;
  const proto::TaskStateChanged* last(TaskState state) const;

  void on_message(const std::shared_ptr<MessageChannel>& channel, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>& channel, const Status& why) override;

  std::map<std::string, std::string> blobs;
  bool answer_heartbeats = true;
  bool answer_registrations = true;
  Status welcome;
  uint64_t epoch = 1;
  std::optional<PeerVersion> version;  // That of who comes, if none is set.
  int greetings = 0;
  std::function<void()> on_registration;
  std::vector<proto::Envelope> received;
  proto::RegisterTaskManager registration;  // The last one.
  proto::Heartbeat heartbeat;               // The last one.
  int registrations = 0;
  int heartbeats = 0;
  int blobs_sent = 0;

 private:
  void answer_blob(const std::shared_ptr<MessageChannel>& channel, const std::string& hash);

  Mailbox mailbox_;
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<MessageChannel> control_;
  std::vector<std::shared_ptr<MessageChannel>> channels_;
};

}  // namespace freshet::taskmanager_test
