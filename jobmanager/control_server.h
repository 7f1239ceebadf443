#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "network/message_channel.h"
#include "network/transport.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/random.h"
#include "runtime/base/secret_handshake.h"

namespace freshet {

namespace proto {
class Envelope;
class Hello;
class HelloProof;
}  // namespace proto

/// Who is at the other end of a control connection. The numbers of proto::Hello::Role.
enum class PeerRole : uint8_t { kUnknown = 0, kTaskManager = 1, kClient = 2, kBlobClient = 3 };

/// One control connection, by number; numbers are never used again.
using SessionNumber = uint64_t;

/// The control port: accepts connections, makes sure who they are, and hands on whole messages. A
/// peer that says nothing, does not know the secret, is of another version or sends anything that
/// is no message is closed. Belongs to the thread of its mailbox.
class ControlServer final : public MessageChannel::Handler,
                            public std::enable_shared_from_this<ControlServer> {
 public:
  struct Options {
    Address bind;
    std::string secret;
    std::string library_version;
    uint64_t epoch = 0;
    Duration handshake_timeout = 10s;
    size_t connections_max = 16'384;
  };
  class Handler {
   public:
    virtual ~Handler() = default;
    /// An error closes the connection.
    virtual Status on_message(SessionNumber, PeerRole, proto::Envelope) = 0;
    /// Last call for a session that had introduced itself.
    virtual void on_closed(SessionNumber, PeerRole, const Status& why) = 0;
  };

  /// `random` must be hard to guess when there is a secret.
  ControlServer(Options options, Transport& transport, Mailbox& mailbox, Random& random,
                Handler& handler);

  /// Opens the port; may be called on any thread. Once.
  Result<Address> listen();
  /// Closes everything; no event comes afterwards.
  void stop();

  /// Nothing happens when the session has ended.
  void send(SessionNumber, std::string message);
  /// Bytes given to send() that have not left yet.
  uint64_t unsent_bytes(SessionNumber) const;
  /// A TaskManager that does not register is closed like one that says nothing; this ends the wait.
  void set_established(SessionNumber);
  /// Ends a session after what was sent; on_closed() follows.
  void close(SessionNumber);

  bool has(SessionNumber session) const { return sessions_.contains(session); }

 private:
  struct Session {
    std::shared_ptr<MessageChannel> channel;
    PeerRole role = PeerRole::kUnknown;          // Until it is welcome.
    PeerRole claimed = PeerRole::kUnknown;       // What its Hello says.
    std::unique_ptr<SecretHandshake> handshake;  // From its Hello until it is welcome.
    TimerId handshake_timer;
  };

  void on_accepted(std::shared_ptr<Connection>);
  void on_handshake_timeout(SessionNumber);
  Status check_hello(const proto::Hello&) const;
  void on_stranger(Session&, SessionNumber, const proto::Envelope&);
  void on_hello(Session&, SessionNumber, const proto::Hello&);
  void on_proof(Session&, SessionNumber, const proto::HelloProof&);
  void answer_hello(Session&, const Status&);
  void welcome(Session&, SessionNumber);
  void refuse(SessionNumber, const Status& why);

  void on_message(const std::shared_ptr<MessageChannel>&, std::string payload) override;
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override;

  const Options options_;
  Transport& transport_;
  Mailbox& mailbox_;
  Random& random_;
  Handler& handler_;
  std::unique_ptr<Listener> listener_;
  std::map<SessionNumber, Session> sessions_;
  std::map<const MessageChannel*, SessionNumber> numbers_;  // Looked up only, never iterated.
  SessionNumber next_session_ = 1;
  bool stopped_ = false;
};

}  // namespace freshet
