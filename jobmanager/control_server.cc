#include "jobmanager/control_server.h"

#include <utility>

#include "jobmanager/control_messages.h"
#include "runtime/base/limited_log.h"
#include "runtime/base/log.h"
#include "runtime/base/peer_version.h"
#include "runtime/base/version.h"
#include "runtime/proto/control.pb.h"

namespace freshet {

namespace {

constexpr Duration kLinger = 1s;

constexpr char kSelf[] = "this JobManager";

std::string_view name_of(proto::Hello::Role role) {
  return role == proto::Hello::CLIENT ? "a client" : "a TaskManager";
}

}  // namespace

ControlServer::ControlServer(Options options, Transport& transport, Mailbox& mailbox,
                             Random& random, Handler& handler)
    : options_(std::move(options)),
      transport_(transport),
      mailbox_(mailbox),
      random_(random),
      handler_(handler) {}

Result<Address> ControlServer::listen() {
  Executor& executor = mailbox_.executor();
  auto accept = [&executor, weak = weak_from_this()](std::shared_ptr<Connection> connection) {
    executor.post("control_accepted", [weak, connection = std::move(connection)]() mutable {
      const auto self = weak.lock();
      if (self && !self->stopped_) {
        self->on_accepted(std::move(connection));
      } else {
        connection->close();
      }
    });
  };
  ASSIGN_OR_RETURN(listener_, transport_.listen(options_.bind, std::move(accept)));
  return listener_->address();
}

void ControlServer::stop() {
  mailbox_.assert_on_thread();
  stopped_ = true;
  listener_.reset();
  for (auto& [number, session] : sessions_) {
    mailbox_.cancel(session.handshake_timer);
    session.channel->detach();
  }
  sessions_.clear();
  numbers_.clear();
}

void ControlServer::on_accepted(std::shared_ptr<Connection> connection) {
  if (sessions_.size() >= options_.connections_max) {
    log_limited_warning("connection_refused", {{"peer", connection->remote_address().to_string()},
                                               {"cause", "too many connections"}});
    connection->close();
    return;
  }
  const SessionNumber number = next_session_++;
  Session& session = sessions_[number];
  session.channel = MessageChannel::open(std::move(connection), mailbox_, *this, kOpeningBytesMax);
  numbers_[session.channel.get()] = number;
  session.handshake_timer = mailbox_.schedule(
      options_.handshake_timeout, "control_handshake_timeout", [weak = weak_from_this(), number] {
        if (const auto self = weak.lock()) self->on_handshake_timeout(number);
      });
}

void ControlServer::on_handshake_timeout(SessionNumber number) {
  const auto it = sessions_.find(number);
  if (it == sessions_.end()) return;
  log_limited_warning("connection_closed",
                      {{"peer", it->second.channel->remote_address().to_string()},
                       {"cause", "it did not say who it is in time"}});
  it->second.channel->close();
}

Status ControlServer::check_hello(const proto::Hello& hello) const {
  RETURN_IF_ERROR(check_same_version(name_of(hello.role()),
                                     {hello.library_version(), hello.protocol_version()}, kSelf,
                                     {options_.library_version, kProtocolVersion}));
  if (hello.role() < proto::Hello::TASK_MANAGER || hello.role() > proto::Hello::BLOB_CLIENT) {
    return invalid_argument("a peer of unknown kind");
  }
  return Status();
}

void ControlServer::on_stranger(Session& session, SessionNumber number,
                                const proto::Envelope& envelope) {
  if (session.handshake) {
    if (envelope.has_hello_proof()) return on_proof(session, number, envelope.hello_proof());
    return refuse(number, data_loss("a message before the proof"));
  }
  if (!envelope.has_hello()) return refuse(number, data_loss("the first message is no Hello"));
  on_hello(session, number, envelope.hello());
}

void ControlServer::on_hello(Session& session, SessionNumber number, const proto::Hello& hello) {
  if (const Status status = check_hello(hello); !status.ok()) return answer_hello(session, status);
  auto handshake = std::make_unique<SecretHandshake>(
      SecretHandshake::Options{HandshakeSide::kAccepting, options_.secret, kSelf,
                               std::string(name_of(hello.role()))},
      random_);
  const Status met = handshake->meet(hello.nonce(), std::to_string(hello.role()));
  if (!met.ok()) return answer_hello(session, met);
  session.claimed = static_cast<PeerRole>(hello.role());
  session.handshake = std::move(handshake);
  if (!session.handshake->has_secret()) return welcome(session, number);
  proto::Envelope challenge;
  challenge.mutable_hello_challenge()->set_nonce(session.handshake->nonce());
  session.channel->send(challenge.SerializeAsString());
}

void ControlServer::on_proof(Session& session, SessionNumber number,
                             const proto::HelloProof& proof) {
  const Status status = session.handshake->check(proof.proof());
  if (!status.ok()) return answer_hello(session, status);
  welcome(session, number);
}

void ControlServer::answer_hello(Session& session, const Status& status) {
  proto::Envelope reply;
  proto::HelloReply* const answer = reply.mutable_hello_reply();
  control_messages::write(status, answer->mutable_status());
  answer->set_protocol_version(kProtocolVersion);
  answer->set_library_version(options_.library_version);
  if (status.ok()) {
    answer->set_job_manager_epoch(options_.epoch);
    if (session.handshake->has_secret()) answer->set_proof(session.handshake->proof());
  }
  session.channel->send(reply.SerializeAsString());
  if (status.ok()) return;
  log_limited_warning("connection_refused",
                      {{"peer", session.channel->remote_address().to_string()}, {"cause", status}});
  session.channel->close_after_sending(kLinger);
}

void ControlServer::welcome(Session& session, SessionNumber number) {
  session.channel->take_large_messages();
  answer_hello(session, Status());
  session.handshake.reset();
  session.role = session.claimed;
  if (session.role != PeerRole::kTaskManager) set_established(number);
}

void ControlServer::refuse(SessionNumber number, const Status& why) {
  const auto it = sessions_.find(number);
  if (it == sessions_.end()) return;
  const std::string peer = it->second.channel->remote_address().to_string();
  if (it->second.role == PeerRole::kUnknown) {
    log_limited_warning("connection_closed", {{"peer", peer}, {"cause", why}});
  } else {
    LOG_WARN("connection_closed", {{"peer", peer}, {"cause", why}});
  }
  it->second.channel->close_after_sending(kLinger);
}

void ControlServer::on_message(const std::shared_ptr<MessageChannel>& channel,
                               std::string payload) {
  const auto it = numbers_.find(channel.get());
  if (it == numbers_.end()) return;
  const SessionNumber number = it->second;
  Session& session = sessions_.at(number);
  proto::Envelope envelope;
  if (!envelope.ParseFromString(payload)) {
    return refuse(number, data_loss("a message that cannot be parsed"));
  }
  if (session.role == PeerRole::kUnknown) return on_stranger(session, number, envelope);
  const Status status = handler_.on_message(number, session.role, std::move(envelope));
  if (!status.ok()) refuse(number, status);
}

void ControlServer::on_closed(const std::shared_ptr<MessageChannel>& channel, const Status& why) {
  const auto it = numbers_.find(channel.get());
  if (it == numbers_.end()) return;
  const SessionNumber number = it->second;
  Session session = std::move(sessions_.at(number));
  mailbox_.cancel(session.handshake_timer);
  numbers_.erase(it);
  sessions_.erase(number);
  if (session.role == PeerRole::kUnknown) {
    LOG_WARN("connection_ended_early",
             {{"peer", channel->remote_address().to_string()}, {"cause", why}});
    return;
  }
  handler_.on_closed(number, session.role, why);
}

void ControlServer::send(SessionNumber number, std::string message) {
  const auto it = sessions_.find(number);
  if (it != sessions_.end()) it->second.channel->send(std::move(message));
}

uint64_t ControlServer::unsent_bytes(SessionNumber number) const {
  const auto it = sessions_.find(number);
  return it == sessions_.end() ? 0 : it->second.channel->unsent_bytes();
}

void ControlServer::set_established(SessionNumber number) {
  const auto it = sessions_.find(number);
  if (it == sessions_.end()) return;
  mailbox_.cancel(it->second.handshake_timer);
  it->second.handshake_timer = TimerId{};
}

void ControlServer::close(SessionNumber number) {
  const auto it = sessions_.find(number);
  if (it != sessions_.end()) it->second.channel->close_after_sending(kLinger);
}

}  // namespace freshet
