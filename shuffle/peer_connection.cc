#include "shuffle/peer_connection.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr uint32_t kConnectAttempts = 3;
constexpr Duration kFirstPause = 100ms;

}  // namespace

PeerConnection::PeerConnection(Options options)
    : options_(std::move(options)),
      attempts_left_(kConnectAttempts),
      pause_(kFirstPause),
      by_unix_(options_.unix_address.has_value()),
      proved_(!options_.handshake || !options_.handshake->has_secret()),
      reserve_(options_.pool, nullptr),
      opened_(proved_) {
  append_hello(Hello{options_.self, options_.handshake ? options_.handshake->nonce() : ""},
               &opening_);
}

void PeerConnection::connect() {
  if (!by_unix_) --attempts_left_;
  options_.transport->connect(
      by_unix_ ? *options_.unix_address : options_.address,
      options_.connect_timeout / kConnectAttempts,
      [self = shared_from_this()](Result<std::shared_ptr<Connection>> connection) {
        self->on_connected(std::move(connection));
      });
}

void PeerConnection::on_connected(Result<std::shared_ptr<Connection>> connection) {
  bool closed = false;
  {
    MutexLock lock(mutex_);
    closed = closed_;
    if (!closed && connection.ok()) connection_ = *connection;
  }
  if (connection.ok()) {
    log_fallback();
    (*connection)->start(shared_from_this());
    if (closed) {
      (*connection)->close();
    } else {
      pump();
    }
  } else if (by_unix_ && !closed) {
    unix_failure_ = connection.status();
    by_unix_ = false;
    connect();
  } else if (!try_again()) {
    lose(connection.status());
  }
}

void PeerConnection::log_fallback() {
  if (unix_failure_.ok() || !options_.fallback_logged) return;
  if (options_.fallback_logged->exchange(true)) return;
  LOG_WARN("data_unix_socket_not_used", {{"task_manager", to_string(options_.peer)},
                                         {"instead", options_.address.to_string()},
                                         {"cause", unix_failure_}});
}

bool PeerConnection::try_again() {
  if (attempts_left_ == 0) return false;
  {
    MutexLock lock(mutex_);
    if (closed_) return false;
    if (options_.timers != nullptr) {
      options_.timers->schedule(pause_, "data_connect_again", [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && !self->is_closed()) self->connect();
      });
      pause_ *= 2;
      return true;
    }
  }
  connect();
  return true;
}

bool PeerConnection::is_closed() {
  MutexLock lock(mutex_);
  return closed_;
}

Result<uint32_t> PeerConnection::attach(const std::shared_ptr<GateInbox>& inbox,
                                        const std::shared_ptr<const GateInbox::Source>& source) {
  uint32_t id = 0;
  {
    MutexLock lock(mutex_);
    if (closed_) return unavailable("the connection is closed");
    id = next_attachment_;
    RETURN_IF_ERROR(append_attach(id, source->attachment, &control_));
    ++next_attachment_;
    attached_.emplace(id, Attached{inbox, source});
  }
  pump();
  return id;
}

void PeerConnection::detach(uint32_t attachment) {
  Attached removed;
  {
    MutexLock lock(mutex_);
    const auto at = attached_.find(attachment);
    if (at == attached_.end()) return;
    removed = std::move(at->second);
    attached_.erase(at);
    ++detached_;
    append_detach(attachment, &control_);
  }
  pump();
}

void PeerConnection::give_credit(std::span<const CreditReturn> credits) {
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    credits_.insert(credits_.end(), credits.begin(), credits.end());
  }
  pump();
}

void PeerConnection::pump() {
  std::shared_ptr<Connection> connection;
  std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
  {
    MutexLock lock(mutex_);
    const bool more = opened_ && !(control_.empty() && credits_.empty());
    if (sending_ || closed_ || !connection_ || (opening_.empty() && !more)) return;
    sending_ = true;
    connection = connection_;
    bytes->swap(opening_);
    if (more) {
      bytes->append(std::exchange(control_, {}));
      append_credit(credits_, bytes.get());
      credits_.clear();
    }
  }
  options_.unconfirmed_sends->fetch_add(1);
  std::vector<OutgoingBytes> pieces;
  pieces.push_back({*bytes, bytes});
  connection->send(std::move(pieces));
}

void PeerConnection::on_sent() {
  options_.unconfirmed_sends->fetch_sub(1);
  {
    MutexLock lock(mutex_);
    sending_ = false;
  }
  drop_detached();  // Perhaps nothing is read any more: detaching was the last that was said.
  pump();
}

void PeerConnection::wake_gates() {
  for (const auto& inbox : woken_) inbox->wake();
  woken_.clear();
}

void PeerConnection::drop_detached() {
  const uint64_t detached = detached_.load();
  if (detached == routes_detached_) return;
  routes_detached_ = detached;
  routes_.clear();
}

Status PeerConnection::on_bytes(std::string_view bytes) {
  drop_detached();
  const Status status = frames_.on_bytes(
      bytes,
      [this](const FrameHeader& header, std::string_view payload) {
        return on_frame(header, payload, std::exchange(placed_, nullptr));
      },
      [this](const FrameHeader& header) { return place_for(header); });
  reserve_.give_back();
  wake_gates();
  pump();
  return status;
}

Result<const PeerConnection::Attached*> PeerConnection::find(uint32_t attachment) {
  if (const auto known = routes_.find(attachment); known != routes_.end()) [[likely]]
    return &known->second;
  MutexLock lock(mutex_);
  const auto at = attached_.find(attachment);
  if (at != attached_.end()) return &(routes_[attachment] = at->second);
  if (attachment != 0 && attachment < next_attachment_)
    return nullptr;  // Detached; the peer does not know yet.
  return data_loss(fmt::format("a frame for attachment {}, which does not exist", attachment));
}

Status PeerConnection::on_greeting(const FrameHeader& header, std::string_view payload) {
  if (header.kind == FrameKind::kChallenge && !challenged_) return on_challenge(payload);
  if (header.kind != FrameKind::kProof || !challenged_)
    return data_loss(
        fmt::format("a frame of kind {} before the proof that the peer knows the secret",
                    to_string(header.kind)));
  RETURN_IF_ERROR(options_.handshake->check(payload));
  proved_ = true;
  return Status();
}

Status PeerConnection::on_challenge(std::string_view nonce) {
  RETURN_IF_ERROR(options_.handshake->meet(nonce, to_string(options_.self)));
  challenged_ = true;
  MutexLock lock(mutex_);
  append_proof(options_.handshake->proof(), &opening_);
  opened_ = true;  // Whoever asked for it wants no more than to know which channels.
  return Status();
}

Status PeerConnection::on_backlog(std::string_view payload) {
  ASSIGN_OR_RETURN(const std::vector<Backlog> backlogs, decode_backlog(payload));
  std::vector<CreditReturn> granted;
  for (const Backlog& backlog : backlogs) {
    ASSIGN_OR_RETURN(const Attached* const attached, find(backlog.attachment));
    if (attached == nullptr) continue;
    CreditReturn grant = backlog;
    RETURN_IF_ERROR(attached->inbox->on_backlog(*attached->source, backlog.producer, backlog.bytes,
                                                &grant.bytes));
    if (grant.bytes != 0) granted.push_back(grant);
  }
  MutexLock lock(mutex_);
  credits_.insert(credits_.end(), granted.begin(), granted.end());
  return Status();
}

Status PeerConnection::on_credit_back(std::string_view payload) {
  ASSIGN_OR_RETURN(const std::vector<CreditBack> credits, decode_credit_back(payload));
  for (const CreditBack& credit : credits) {
    ASSIGN_OR_RETURN(const Attached* const attached, find(credit.attachment));
    if (attached == nullptr) continue;
    RETURN_IF_ERROR(
        attached->inbox->on_credit_back(*attached->source, credit.producer, credit.bytes));
  }
  return Status();
}

char* PeerConnection::place_for(const FrameHeader& header) {
  if (!proved_) return nullptr;
  const Result<const Attached*> attached = find(header.attachment);
  if (!attached.ok() || *attached == nullptr) return nullptr;
  placed_ = (*attached)->inbox->block_for(*(*attached)->source, header);
  return placed_ ? placed_->data() : nullptr;
}

Status PeerConnection::on_frame(const FrameHeader& header, std::string_view payload,
                                BlockRef placed) {
  if (header.kind == FrameKind::kRefusal) return decode_refusal(payload);
  if (!proved_) return on_greeting(header, payload);
  if (header.kind == FrameKind::kBacklog) return on_backlog(payload);
  if (header.kind == FrameKind::kCreditBack) return on_credit_back(payload);
  ASSIGN_OR_RETURN(const Attached* const found, find(header.attachment));
  if (found == nullptr) return Status();
  const Attached& attached = *found;
  switch (header.kind) {
    case FrameKind::kData:
    case FrameKind::kEvent: {
      GateInbox::FrameOutcome outcome;
      RETURN_IF_ERROR(attached.inbox->on_frame(*attached.source, header, payload, &outcome,
                                               std::move(placed), &reserve_));
      if (outcome.wake) woken_.push_back(attached.inbox);
      if (outcome.returned_bytes == 0) return Status();
      MutexLock lock(mutex_);
      credits_.push_back({header.attachment, header.producer, outcome.returned_bytes});
      return Status();
    }
    case FrameKind::kProducersEnded: {
      ASSIGN_OR_RETURN(const std::vector<ProducerSpan> spans, decode_producers_ended(payload));
      return attached.inbox->on_ended(*attached.source, spans);
    }
    case FrameKind::kAttachReply: {
      ASSIGN_OR_RETURN(const Loss loss, decode_attach_reply(payload));
      attached.inbox->on_lost(*attached.source, loss.producers, loss.cause);
      return Status();
    }
    default:
      return data_loss(fmt::format("a frame of kind {} from a producer", to_string(header.kind)));
  }
}

void PeerConnection::on_closed(const Status& why) {
  Status cause = why.ok() ? unavailable("the peer closed the connection") : why;
  {
    MutexLock lock(mutex_);
    if (!refused_.ok()) cause = refused_;
  }
  // Perhaps no gate is left to say so.
  if (cause.code() == StatusCode::kDataLoss || cause.code() == StatusCode::kFailedPrecondition) {
    LOG_WARN("data_from_peer_refused",
             {{"task_manager", to_string(options_.peer)}, {"cause", cause}});
  }
  routes_.clear();
  placed_ = nullptr;
  lose(cause);
}

void PeerConnection::lose(const Status& cause) {
  std::map<uint32_t, Attached> lost;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    lost.swap(attached_);
  }
  if (options_.on_closed) options_.on_closed(this);
  const Status status =
      cause.with_context(fmt::format("data connection to TaskManager {} at {}",
                                     to_string(options_.peer), options_.address.to_string()));
  for (const auto& [id, attached] : lost) attached.inbox->on_source_lost(*attached.source, status);
}

void PeerConnection::refuse(const Status& cause) {
  {
    MutexLock lock(mutex_);
    if (closed_ || !refused_.ok()) return;
    refused_ = cause;
  }
  close();
}

void PeerConnection::close() {
  std::shared_ptr<Connection> connection;
  {
    MutexLock lock(mutex_);
    connection = connection_;
  }
  if (connection) {
    connection->close();
  } else {
    lose(aborted("shut down"));
  }
}

}  // namespace freshet
