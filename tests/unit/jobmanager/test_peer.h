#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "network/message_channel.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

/// What connects to the JobManager and says what the test wants.
class Peer final : public MessageChannel::Handler {
 public:
  Peer(Transport& transport, ManualExecutor& executor, const Address& address)
      : executor_(executor), mailbox_(executor) {
    transport.connect(address, 1s, [this](auto connection) {
      ASSERT_TRUE(connection.ok());
      connection_ = *connection;
      mailbox_.post("open",
                    [this] { channel_ = MessageChannel::open(connection_, mailbox_, *this); });
    });
    executor_.run_ready();
  }
  ~Peer() override {
    on_thread([this] { channel_->detach(); });
  }

  void on_thread(std::function<void()> function) {
    mailbox_.post("test", std::move(function));
    executor_.run_ready();
  }

  void send(const proto::Envelope& envelope) { send_raw(envelope.SerializeAsString()); }
  void send_raw(const std::string& bytes) {
    on_thread([this, bytes] { channel_->send(bytes); });
  }
  void close() {
    on_thread([this] { channel_->close(); });
  }

  void hello(proto::Hello::Role role, const std::string& secret = "",
             const std::string& version = FRESHET_VERSION, uint32_t protocol = kProtocolVersion) {
    proto::Envelope envelope;
    envelope.mutable_hello()->set_role(role);
    envelope.mutable_hello()->set_secret(secret);
    envelope.mutable_hello()->set_library_version(version);
    envelope.mutable_hello()->set_protocol_version(protocol);
    send(envelope);
  }

  bool closed() const { return closed_; }
  /// The messages since the last call.
  std::vector<proto::Envelope> take() { return std::exchange(received_, {}); }
  proto::Envelope take_last() {
    auto all = take();
    return all.empty() ? proto::Envelope() : all.back();
  }
  bool received(proto::Envelope::MessageCase kind) const {
    for (const auto& envelope : received_) {
      if (envelope.message_case() == kind) return true;
    }
    return false;
  }

 private:
  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override {
    ASSERT_TRUE(received_.emplace_back().ParseFromString(payload));
  }
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status&) override { closed_ = true; }

  ManualExecutor& executor_;
  Mailbox mailbox_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<MessageChannel> channel_;
  std::vector<proto::Envelope> received_;
  bool closed_ = false;
};

}  // namespace freshet
