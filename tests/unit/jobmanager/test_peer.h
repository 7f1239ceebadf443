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
#include "runtime/base/secret_handshake.h"
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
    sent_.push_back(bytes);
    on_thread([this, bytes] { channel_->send(bytes); });
  }
  void close() {
    on_thread([this] { channel_->close(); });
  }

  void hello(proto::Hello::Role role, const std::string& secret = "",
             const std::string& version = FRESHET_VERSION, uint32_t protocol = kProtocolVersion) {
    SecretHandshake handshake({HandshakeSide::kConnecting, secret, "", ""}, *random_);
    proto::Envelope envelope;
    envelope.mutable_hello()->set_role(role);
    envelope.mutable_hello()->set_nonce(handshake.nonce());
    envelope.mutable_hello()->set_library_version(version);
    envelope.mutable_hello()->set_protocol_version(protocol);
    send(envelope);
    if (!received(proto::Envelope::kHelloChallenge)) return;
    const proto::Envelope challenge = take_last();
    ASSERT_TRUE(handshake.meet(challenge.hello_challenge().nonce(), std::to_string(role)).ok());
    send(proof_message(handshake.proof()));
    for (const proto::Envelope& reply : received_) {
      if (reply.hello_reply().status().code() == 0) {
        EXPECT_TRUE(handshake.check(reply.hello_reply().proof()).ok());
      }
    }
  }
  static proto::Envelope proof_message(const std::string& proof) {
    proto::Envelope envelope;
    envelope.mutable_hello_proof()->set_proof(proof);
    return envelope;
  }

  bool closed() const { return closed_; }
  /// All messages of the connection, as they were.
  const std::vector<std::string>& sent() const { return sent_; }
  const std::vector<std::string>& heard() const { return heard_; }
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
    heard_.push_back(payload);
    ASSERT_TRUE(received_.emplace_back().ParseFromString(payload));
  }
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status&) override { closed_ = true; }

  const std::unique_ptr<Random> random_ = make_system_random();
  ManualExecutor& executor_;
  Mailbox mailbox_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<MessageChannel> channel_;
  std::vector<std::string> sent_;
  std::vector<std::string> heard_;
  std::vector<proto::Envelope> received_;
  bool closed_ = false;
};

}  // namespace freshet
