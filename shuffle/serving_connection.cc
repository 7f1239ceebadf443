#include "shuffle/serving_connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/limited_log.h"

namespace freshet {

namespace {

constexpr uint64_t kTurnBytes = kLargeBlockBytes;
constexpr size_t kTurnsMax = 64;  // Taken from the queue at once.

/// Which rule of the protocol was broken, and about what.
Status breach(const Attachment& attachment, const std::string& what) {
  return data_loss(fmt::format("dataset {}, subpartition {}: {}", attachment.dataset.value,
                               attachment.subpartition, what));
}

}  // namespace

/// One attachment of the peer, as partitions see it.
class ServingConnection::Reader final : public ChannelReader {
 public:
  Reader(const std::shared_ptr<ServingConnection>& connection, uint32_t id, Attachment attachment)
      : connection_(connection),
        hub_(connection.get()),
        id_(id),
        attachment_(std::move(attachment)) {}

  uint32_t id() const { return id_; }

  const Attachment& attachment() const override { return attachment_; }
  bool is_charged() const override { return true; }
  void on_ready(const ReaderCall& call) override { on_all_ready({&call, 1}); }
  const void* hub() const override { return hub_; }
  void on_all_ready(std::span<const ReaderCall> calls) override {
    if (auto connection = connection_.lock()) connection->channels_ready(calls);
  }
  void on_ended(ProducerSpan producers) override { on_all_ended({&producers, 1}); }
  void on_all_ended(std::span<const ProducerSpan> producers) override {
    if (auto connection = connection_.lock()) connection->producers_ended(id_, producers);
  }
  void on_lost(ProducerSpan producers, const Status& cause) override {
    if (auto connection = connection_.lock())
      connection->channels_lost(id_, Loss{producers, cause});
  }

 private:
  const std::weak_ptr<ServingConnection> connection_;
  const void* const hub_;
  const uint32_t id_;
  const Attachment attachment_;
};

ServingConnection::ServingConnection(std::shared_ptr<Connection> connection, Context context)
    : connection_(std::move(connection)), context_(std::move(context)) {}

ServingConnection::~ServingConnection() = default;

void ServingConnection::start() { connection_->start(shared_from_this()); }

void ServingConnection::close() { connection_->close(); }

void ServingConnection::close_unless_greeted() {
  if (greeted_) return;
  log_limited_warning("data_connection_closed",
                      {{"peer", connection_->remote_address().to_string()},
                       {"cause", "it did not say who it is in time"}});
  connection_->close();
}

Status ServingConnection::on_bytes(std::string_view bytes) {
  if (!refusal_.ok()) return Status();  // It hears why; nothing else matters.
  Status status =
      frames_.on_bytes(bytes, [this](const FrameHeader& header, std::string_view payload) {
        return greeted_ ? on_frame(header, payload) : on_stranger(header, payload);
      });
  refused_ = refused_ || !status.ok();
  return status;
}

Status ServingConnection::on_stranger(const FrameHeader& header, std::string_view payload) {
  if (!refusal_.ok()) return Status();
  if (challenged_) return on_proof(payload);  // The reader lets nothing else through.
  if (header.kind != FrameKind::kHello)
    return data_loss("a data connection that does not begin with hello");
  return on_hello(payload);
}

Status ServingConnection::on_hello(std::string_view payload) {
  ASSIGN_OR_RETURN(const Hello hello, decode_hello(payload));
  SecretHandshake& handshake = *context_.handshake;
  if (const Status met = handshake.meet(hello.nonce, to_string(hello.task_manager)); !met.ok()) {
    refuse(met);
    return Status();
  }
  if (!handshake.has_secret()) {
    greeted_ = true;
    return Status();
  }
  challenged_ = true;
  frames_.open_again_with(FrameKind::kProof);
  std::string challenge;
  append_challenge(handshake.nonce(), &challenge);
  reply(challenge);
  return Status();
}

Status ServingConnection::on_proof(std::string_view payload) {
  if (const Status known = context_.handshake->check(payload); !known.ok()) {
    refuse(known);
    return Status();
  }
  greeted_ = true;
  std::string proof;
  append_proof(context_.handshake->proof(), &proof);
  reply(proof);
  return Status();
}

void ServingConnection::reply(const std::string& frame) {
  {
    MutexLock lock(mutex_);
    replies_ += frame;
  }
  pump();
}

void ServingConnection::refuse(const Status& cause) {
  refusal_ = cause;
  refused_ = true;
  std::string refusal;
  append_refusal(cause, &refusal);
  reply(refusal);
}

Status ServingConnection::on_frame(const FrameHeader& header, std::string_view payload) {
  switch (header.kind) {
    case FrameKind::kAttach:
      return on_attach(header.attachment, payload);
    case FrameKind::kCredit:
      return on_credit(payload);
    case FrameKind::kDetach:
      on_detach(header.attachment);
      return Status();
    default:
      return data_loss(fmt::format("a frame of kind {} from a consumer", to_string(header.kind)));
  }
}

Status ServingConnection::on_attach(uint32_t attachment, std::string_view payload) {
  ASSIGN_OR_RETURN(Attachment wanted, decode_attach(payload));
  auto reader = std::make_shared<Reader>(shared_from_this(), attachment, std::move(wanted));
  {
    MutexLock lock(mutex_);
    if (closed_) return Status();
    std::unique_ptr<Served>& served = served_[attachment];
    if (served) return breach(reader->attachment(), fmt::format("attachment {} twice", attachment));
    served = std::make_unique<Served>();
    served->reader = reader;
  }
  const Status status = context_.index->attach(reader);
  if (!status.ok()) {
    for (const AttachedProducers& range : reader->attachment().producers)
      reader->on_lost(range.span, status);
  }
  return Status();
}

ServingConnection::Served* ServingConnection::find(uint32_t attachment) {
  const auto at = served_.find(attachment);
  return at == served_.end() ? nullptr : at->second.get();
}

ServingConnection::Channel* ServingConnection::find_channel(const CreditReturn& credit) {
  Served* const served = find(credit.attachment);
  if (served == nullptr) return nullptr;
  const auto at = served->channels.find(credit.producer);
  if (at == served->channels.end()) return nullptr;
  prefetch_bytes(at->second.get(), sizeof(Channel));
  return at->second.get();
}

Status ServingConnection::on_credit(std::string_view payload) {
  ASSIGN_OR_RETURN(const std::vector<CreditReturn> credits, decode_credit(payload));
  {
    MutexLock lock(mutex_);
    std::vector<Channel*> channels;
    channels.reserve(credits.size());
    for (const CreditReturn& credit : credits) channels.push_back(find_channel(credit));
    for (size_t i = 0; i < credits.size(); ++i) {
      if (channels[i] == nullptr) continue;  // Detached or lost meanwhile.
      const CreditReturn& credit = credits[i];
      Channel& channel = *channels[i];
      channel.credit_bytes += credit.bytes;
      channel.backlog_told = false;
      if (channel.credit_bytes > channel.credit_bytes_max) {
        return breach(
            channel.reader->attachment(),
            fmt::format("producer {}: {} bytes of credit more make {}, and at most {} are "
                        "possible",
                        credit.producer, credit.bytes, channel.credit_bytes,
                        channel.credit_bytes_max));
      }
      if (channel.listed || channel.in_turn) continue;  // What it does not use goes back then.
      if (channel.next_charge == 0) {
        note_spare(channel);
      } else if (channel.next_charge <= channel.credit_bytes) {
        list(&channel);
      }
    }
  }
  pump();
  return Status();
}

void ServingConnection::on_detach(uint32_t attachment) {
  std::shared_ptr<Reader> removed;
  Dropped dropped;
  {
    MutexLock lock(mutex_);
    const auto at = served_.find(attachment);
    if (at == served_.end()) return;
    removed = at->second->reader;
    for (auto& [producer, channel] : at->second->channels) remove(std::move(channel), &dropped);
    served_.erase(at);
  }
  context_.index->detach(*removed);
}

void ServingConnection::on_sent() {
  context_.unconfirmed_sends->fetch_sub(1);
  {
    MutexLock lock(mutex_);
    sending_ = false;
  }
  if (!refusal_.ok() && !has_unsent_replies()) return connection_->close();
  pump();
}

bool ServingConnection::has_unsent_replies() {
  MutexLock lock(mutex_);
  return !replies_.empty();
}

void ServingConnection::on_closed(const Status& why) {
  std::vector<std::shared_ptr<Reader>> removed;
  Dropped dropped;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    for (auto& [attachment, served] : served_) {
      removed.push_back(served->reader);
      for (auto& [producer, channel] : served->channels) remove(std::move(channel), &dropped);
    }
    served_.clear();
    for (Channel* channel : std::exchange(ready_, {})) {
      channel->listed = false;
      drop_if_done(channel, &dropped);
    }
    with_ends_.clear();
    backlogs_.clear();
    with_spare_.clear();
  }
  std::ranges::sort(removed, {}, &Reader::id);
  for (const auto& reader : removed) context_.index->detach(*reader);
  if (refused_) {
    log_limited_warning("data_connection_refused",
                        {{"peer", connection_->remote_address().to_string()},
                         {"cause", refusal_.ok() ? why : refusal_}});
  }
  if (context_.on_closed) context_.on_closed();
}

void ServingConnection::list(Channel* channel) {
  channel->next_charge = 0;
  if (channel->listed) return;
  channel->listed = true;
  ready_.push_back(channel);
}

void ServingConnection::remove(std::unique_ptr<Channel> channel, Dropped* dropped) {
  channel->gone = true;
  (channel->listed || channel->in_turn ? gone_ : *dropped).push_back(std::move(channel));
}

void ServingConnection::drop_if_done(Channel* channel, Dropped* dropped) {
  if (!channel->gone || channel->listed || channel->in_turn) return;
  const auto at = std::ranges::find(gone_, channel, &std::unique_ptr<Channel>::get);
  dropped->push_back(std::move(*at));
  gone_.erase(at);
}

void ServingConnection::channels_ready(std::span<const ReaderCall> calls) {
  {
    MutexLock lock(mutex_);
    for (const ReaderCall& call : calls) add_ready(call);
  }
  pump();
}

void ServingConnection::add_ready(const ReaderCall& call) {
  Served* const served = find(static_cast<const Reader&>(*call.reader).id());
  if (served == nullptr) return;
  std::unique_ptr<Channel>& channel = served->channels[call.partition->producer()];
  if (!channel) {
    channel = std::make_unique<Channel>();
    channel->producer = call.partition->producer();
    channel->reader = served->reader;
    channel->partition = call.partition->shared_from_this();
    channel->queue = call.channel;
    channel->credit_bytes = served->reader->attachment().credit_bytes;
    channel->credit_bytes_max = channel->credit_bytes;
  }
  list(channel.get());
}

void ServingConnection::add_ended(Served* served, std::span<const ProducerSpan> producers) {
  if (served->ended.empty()) with_ends_.push_back(served->reader->id());
  served->ended.add_all(producers);
}

void ServingConnection::producers_ended(uint32_t attachment,
                                        std::span<const ProducerSpan> producers) {
  {
    MutexLock lock(mutex_);
    Served* const served = find(attachment);
    if (served == nullptr) return;
    add_ended(served, producers);
  }
  pump();
}

void ServingConnection::channels_lost(uint32_t attachment, const Loss& loss) {
  Dropped dropped;
  {
    MutexLock lock(mutex_);
    Served* const served = find(attachment);
    if (served == nullptr) return;
    Dropped lost;
    boost::unordered::erase_if(served->channels, [&](auto& entry) {
      if (entry.first < loss.producers.begin || entry.first >= loss.producers.end) return false;
      lost.push_back(std::move(entry.second));
      return true;
    });
    for (auto& channel : lost) remove(std::move(channel), &dropped);
    append_attach_reply(attachment, loss, &replies_);
  }
  pump();
}

bool ServingConnection::has_work() const {
  return !ready_.empty() || !with_ends_.empty() || !replies_.empty() || !backlogs_.empty() ||
         !with_spare_.empty();
}

void ServingConnection::pump() {
  {
    MutexLock lock(mutex_);
    if (sending_ || closed_ || !has_work()) return;
    sending_ = true;
  }
  while (true) {
    std::vector<OutgoingBytes> pieces = gather();
    if (!pieces.empty()) {
      context_.unconfirmed_sends->fetch_add(1);
      connection_->send(std::move(pieces));
      return;
    }
    MutexLock lock(mutex_);
    if (closed_ || !has_work()) {
      sending_ = false;
      return;
    }
  }
}

std::vector<OutgoingBytes> ServingConnection::gather() {
  // Ends first: what they stand behind was gathered before they were added.
  std::string control;
  take_control(&control);
  batch_.begin(std::move(control));
  while (!batch_.is_full()) {
    begin_turns();
    if (turns_.empty()) break;
    for (size_t i = 0; i < turns_.size() && !batch_.is_full(); ++i) {
      prefetch_turns_behind(i);
      take_turn(&turns_[i]);
    }
    end_turns();
  }
  return batch_.take();
}

void ServingConnection::begin_turns() {
  Dropped dropped;
  MutexLock lock(mutex_);
  while (!ready_.empty() && turns_.size() < kTurnsMax) {
    Channel* const channel = ready_.front();
    ready_.pop_front();
    channel->listed = false;  // Before taking: what comes meanwhile lists it again.
    if (channel->gone) {
      drop_if_done(channel, &dropped);
      continue;
    }
    channel->in_turn = true;
    turns_.push_back(Turn{channel, channel->credit_bytes, false, {}});
  }
}

void ServingConnection::take_turn(Turn* turn) {
  const Channel& channel = *turn->channel;
  PartitionQueues& partition = *channel.partition;
  turn->done = true;
  turn->taken = partition.take(channel.queue, channel.reader.get(), turn->credit_bytes, kTurnBytes,
                               &buffers_);
  size_t data_left = std::ranges::count(buffers_, false, &Buffer::event);
  for (Buffer& buffer : buffers_) {
    FrameHeader header;
    header.payload_bytes = buffer.size;
    header.kind = buffer.event ? FrameKind::kEvent : FrameKind::kData;
    header.flags = buffer.flags;
    header.block_class = static_cast<uint16_t>(buffer.charge() / kFrameCreditUnitBytes);
    header.attachment = channel.reader->id();
    header.producer = channel.producer;
    header.producer_attempt = partition.attempt();
    header.elements_started = buffer.elements_started;
    header.first_element = buffer.first_element;
    header.hash = buffer.hash;
    header.gate = buffer.gate;
    if (!buffer.event && (--data_left != 0 || turn->taken.more_data))
      header.flags |= kFrameMoreFollows;
    batch_.add(header, std::move(buffer));
  }
  buffers_.clear();
}

void ServingConnection::end_turns() {
  Dropped dropped;
  MutexLock lock(mutex_);
  for (const Turn& turn : turns_) {
    turn.channel->in_turn = false;
    if (turn.channel->gone) {
      drop_if_done(turn.channel, &dropped);
    } else {
      end_turn(turn);
    }
  }
  turns_.clear();
}

void ServingConnection::end_turn(const Turn& turn) {
  Channel& channel = *turn.channel;
  if (!turn.done) return list(&channel);
  if (turn.taken.ended) {
    const ProducerSpan ended{channel.producer, channel.producer + 1};
    add_ended(find(channel.reader->id()), {&ended, 1});
  }
  channel.credit_bytes -=
      turn.taken.charged_bytes;  // Only this thread takes, so there was as much.
  if (!turn.taken.more) {
    if (!channel.listed) note_spare(channel);
    return;
  }
  if (turn.taken.next_charge <= channel.credit_bytes) {
    list(&channel);
  } else if (!channel.listed) {
    channel.next_charge = turn.taken.next_charge;
    tell_backlog(&channel, turn.taken.waiting_bytes);
  }
}

void ServingConnection::tell_backlog(Channel* channel, uint64_t bytes) {
  if (channel->backlog_told) return;
  channel->backlog_told = true;
  channel->credit_bytes_max = channel->reader->attachment().credit_bytes + kFloatingBytesMax;
  const auto told = static_cast<uint32_t>(std::min<uint64_t>(bytes, kFloatingBytesMax));
  backlogs_.push_back({channel->reader->id(), channel->producer, told});
}

void ServingConnection::note_spare(const Channel& channel) {
  const Attachment& attachment = channel.reader->attachment();
  if (channel.credit_bytes > attachment.credit_bytes)
    with_spare_.push_back({channel.reader->id(), channel.producer});
}

std::vector<CreditBack> ServingConnection::take_spare() {
  std::vector<CreditBack> credits;
  for (const ChannelKey& key : std::exchange(with_spare_, {})) {
    Served* const served = find(key.attachment);
    if (served == nullptr) continue;
    const auto at = served->channels.find(key.producer);
    if (at == served->channels.end()) continue;
    Channel& channel = *at->second;
    const uint64_t own = channel.reader->attachment().credit_bytes;
    if (channel.listed || channel.next_charge != 0 || channel.credit_bytes <= own) continue;
    const auto spare = static_cast<uint32_t>(channel.credit_bytes - own);
    channel.credit_bytes = own;
    credits.push_back({key.attachment, key.producer, spare});
  }
  return credits;
}

void ServingConnection::take_control(std::string* control) {
  MutexLock lock(mutex_);
  control->swap(replies_);
  for (const uint32_t attachment : with_ends_) {
    Served* const served = find(attachment);
    if (served == nullptr) continue;
    append_producers_ended(attachment, served->ended.spans(), control);
    served->ended.clear();
  }
  with_ends_.clear();
  // Not before this: what is taken from a channel behind it must also be sent behind it.
  append_credit_back(take_spare(), control);
  append_backlog(backlogs_, control);
  backlogs_.clear();
}

}  // namespace freshet
