#include "shuffle/serving_connection.h"

#include <fmt/format.h>

#include "runtime/base/log.h"

namespace freshet {

namespace {

constexpr size_t kSendBuffersMax = 64;
constexpr uint64_t kSendBytesMax = 256u << 10;
constexpr uint64_t kTurnBytes = kLargeBlockBytes;
constexpr uint32_t kCopiedBytesMax = 512;  // Cheaper to copy beside the header than to gather.

/// Takes as long whatever the difference.
bool equal_secrets(std::string_view given, std::string_view expected) {
  unsigned difference = given.size() != expected.size();
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(expected.empty() ? 0 : expected[i % expected.size()]);
  }
  return difference == 0;
}

}  // namespace

/// One attachment of the peer, as partitions see it.
class ServingConnection::Reader final : public ChannelReader {
 public:
  Reader(std::weak_ptr<ServingConnection> connection, uint32_t id, Attachment attachment)
      : connection_(std::move(connection)), id_(id), attachment_(std::move(attachment)) {}

  const Attachment& attachment() const override { return attachment_; }
  void on_ready(const std::shared_ptr<PartitionQueues>& partition) override {
    if (auto connection = connection_.lock()) connection->channel_ready(id_, partition);
  }
  void on_ended(uint32_t producer) override {
    if (auto connection = connection_.lock()) connection->producer_ended(id_, producer);
  }
  void on_lost(ProducerSpan producers, const Status& cause) override {
    if (auto connection = connection_.lock())
      connection->channels_lost(id_, Loss{producers, cause});
  }

 private:
  const std::weak_ptr<ServingConnection> connection_;
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
  LOG_WARN("data_connection_closed", {{"peer", connection_->remote_address().to_string()},
                                      {"cause", "it did not say who it is in time"}});
  connection_->close();
}

Status ServingConnection::on_bytes(std::string_view bytes) {
  return frames_.on_bytes(bytes, [this](const FrameHeader& header, std::string_view payload) {
    return greeted_ ? on_frame(header, payload) : on_hello(header, payload);
  });
}

Status ServingConnection::on_hello(const FrameHeader& header, std::string_view payload) {
  if (header.kind != FrameKind::kHello)
    return data_loss("a data connection that does not begin with hello");
  ASSIGN_OR_RETURN(const Hello hello, decode_hello(payload));
  if (!equal_secrets(hello.secret, context_.secret))
    return invalid_argument("the peer does not know the secret");
  greeted_ = true;
  return Status();
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
  auto reader = std::make_shared<Reader>(weak_from_this(), attachment, std::move(wanted));
  {
    MutexLock lock(mutex_);
    if (closed_) return Status();
    if (!served_.try_emplace(attachment, Served{reader, {}, {}}).second) {
      return data_loss(fmt::format("attachment {} twice", attachment));
    }
  }
  const Status status = context_.index->attach(reader);
  if (!status.ok()) {
    for (const AttachedProducers& range : reader->attachment().producers)
      reader->on_lost(range.span, status);
  }
  return Status();
}

Status ServingConnection::on_credit(std::string_view payload) {
  ASSIGN_OR_RETURN(const std::vector<CreditReturn> credits, decode_credit(payload));
  {
    MutexLock lock(mutex_);
    for (const CreditReturn& credit : credits) {
      const auto served = served_.find(credit.attachment);
      if (served == served_.end()) continue;  // Detached meanwhile.
      const auto at = served->second.channels.find(credit.producer);
      if (at == served->second.channels.end()) continue;  // Lost meanwhile.
      Channel& channel = at->second;
      channel.credit_bytes += credit.bytes;
      if (channel.credit_bytes > served->second.reader->attachment().credit_bytes) {
        return data_loss(fmt::format("more credit for producer {} than was used", credit.producer));
      }
      if (channel.next_charge != 0 && channel.next_charge <= channel.credit_bytes) {
        list(credit.attachment, credit.producer, &channel);
      }
    }
  }
  pump();
  return Status();
}

void ServingConnection::on_detach(uint32_t attachment) {
  Served removed;
  {
    MutexLock lock(mutex_);
    const auto at = served_.find(attachment);
    if (at == served_.end()) return;
    removed = std::move(at->second);
    served_.erase(at);
  }
  context_.index->detach(*removed.reader);
}

void ServingConnection::on_sent() {
  context_.unconfirmed_sends->fetch_sub(1);
  {
    MutexLock lock(mutex_);
    sending_ = false;
  }
  pump();
}

void ServingConnection::on_closed(const Status& why) {
  std::map<uint32_t, Served> removed;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    removed.swap(served_);
    ready_.clear();
    with_ends_.clear();
  }
  for (const auto& [id, served] : removed) context_.index->detach(*served.reader);
  if (why.code() == StatusCode::kDataLoss || why.code() == StatusCode::kInvalidArgument) {
    LOG_WARN("data_connection_refused",
             {{"peer", connection_->remote_address().to_string()}, {"cause", why}});
  }
  if (context_.on_closed) context_.on_closed();
}

void ServingConnection::list(uint32_t attachment, uint32_t producer, Channel* channel) {
  channel->next_charge = 0;
  if (channel->listed) return;
  channel->listed = true;
  ready_.push_back({attachment, producer});
}

void ServingConnection::channel_ready(uint32_t attachment,
                                      const std::shared_ptr<PartitionQueues>& partition) {
  {
    MutexLock lock(mutex_);
    const auto at = served_.find(attachment);
    if (at == served_.end()) return;
    const auto [channel, is_new] = at->second.channels.try_emplace(partition->producer());
    if (is_new) {
      channel->second.partition = partition;
      channel->second.credit_bytes = at->second.reader->attachment().credit_bytes;
    }
    list(attachment, partition->producer(), &channel->second);
  }
  pump();
}

void ServingConnection::add_ended(uint32_t attachment, Served* served, uint32_t producer) {
  if (served->ended.empty()) with_ends_.push_back(attachment);
  served->ended.add({producer, producer + 1});
}

void ServingConnection::producer_ended(uint32_t attachment, uint32_t producer) {
  {
    MutexLock lock(mutex_);
    const auto at = served_.find(attachment);
    if (at == served_.end()) return;
    add_ended(attachment, &at->second, producer);
  }
  pump();
}

void ServingConnection::channels_lost(uint32_t attachment, const Loss& loss) {
  std::vector<Channel> removed;
  {
    MutexLock lock(mutex_);
    const auto at = served_.find(attachment);
    if (at == served_.end()) return;
    auto& channels = at->second.channels;
    auto channel = channels.lower_bound(loss.producers.begin);
    while (channel != channels.end() && channel->first < loss.producers.end) {
      removed.push_back(std::move(channel->second));
      channel = channels.erase(channel);
    }
    append_attach_reply(attachment, loss, &replies_);
  }
  pump();
}

bool ServingConnection::has_work() const {
  return !ready_.empty() || !with_ends_.empty() || !replies_.empty();
}

void ServingConnection::pump() {
  {
    MutexLock lock(mutex_);
    if (sending_ || closed_ || !has_work()) return;
    sending_ = true;
  }
  while (true) {
    std::string control;
    std::vector<OutgoingFrame> frames;
    gather(&control, &frames);
    if (!control.empty() || !frames.empty()) {
      context_.unconfirmed_sends->fetch_add(1);
      connection_->send(to_pieces(std::move(control), std::move(frames)));
      return;
    }
    MutexLock lock(mutex_);
    if (closed_ || !has_work()) {
      sending_ = false;
      return;
    }
  }
}

void ServingConnection::gather(std::string* control, std::vector<OutgoingFrame>* frames) {
  // Ends first: what they stand behind was gathered before they were added.
  take_control(control);
  uint64_t bytes = 0;
  Turn turn;
  std::shared_ptr<Reader> reader;
  std::shared_ptr<PartitionQueues> partition;
  uint64_t credit = 0;
  std::vector<Buffer> buffers;
  while (frames->size() < kSendBuffersMax && bytes < kSendBytesMax &&
         next_turn(&turn, &reader, &partition, &credit)) {
    const PartitionQueues::Taken taken = partition->take(
        reader->attachment().subpartition, reader.get(), credit, kTurnBytes, &buffers);
    for (Buffer& buffer : buffers) {
      FrameHeader header;
      header.payload_bytes = buffer.size;
      header.kind = buffer.event ? FrameKind::kEvent : FrameKind::kData;
      header.flags = buffer.flags;
      header.block_class = static_cast<uint16_t>(buffer.charge() / kFrameCreditUnitBytes);
      header.attachment = turn.attachment;
      header.producer = turn.producer;
      header.producer_attempt = partition->attempt();
      header.elements_started = buffer.elements_started;
      header.first_element = buffer.first_element;
      header.hash = buffer.hash;
      header.gate = buffer.gate;
      bytes += kFrameHeaderBytes + buffer.size;
      frames->push_back({header, std::move(buffer)});
    }
    buffers.clear();
    after_turn(turn, taken);
  }
}

bool ServingConnection::next_turn(Turn* turn, std::shared_ptr<Reader>* reader,
                                  std::shared_ptr<PartitionQueues>* partition, uint64_t* credit) {
  MutexLock lock(mutex_);
  while (!ready_.empty()) {
    *turn = ready_.front();
    ready_.pop_front();
    const auto served = served_.find(turn->attachment);
    if (served == served_.end()) continue;
    const auto channel = served->second.channels.find(turn->producer);
    if (channel == served->second.channels.end()) continue;
    channel->second.listed = false;  // Before taking: what comes meanwhile lists it again.
    *reader = served->second.reader;
    *partition = channel->second.partition;
    *credit = channel->second.credit_bytes;
    return true;
  }
  return false;
}

void ServingConnection::after_turn(const Turn& turn, const PartitionQueues::Taken& taken) {
  MutexLock lock(mutex_);
  const auto served = served_.find(turn.attachment);
  if (served == served_.end()) return;
  if (taken.ended) add_ended(turn.attachment, &served->second, turn.producer);
  const auto at = served->second.channels.find(turn.producer);
  if (at == served->second.channels.end()) return;
  Channel& channel = at->second;
  channel.credit_bytes -= taken.charged_bytes;  // Only this thread takes, so there was as much.
  if (!taken.more) return;
  if (taken.next_charge <= channel.credit_bytes) {
    list(turn.attachment, turn.producer, &channel);
  } else if (!channel.listed) {
    channel.next_charge = taken.next_charge;
  }
}

void ServingConnection::take_control(std::string* control) {
  MutexLock lock(mutex_);
  control->swap(replies_);
  for (const uint32_t attachment : with_ends_) {
    const auto at = served_.find(attachment);
    if (at == served_.end()) continue;
    append_producers_ended(attachment, at->second.ended.spans(), control);
    at->second.ended.clear();
  }
  with_ends_.clear();
}

std::vector<OutgoingBytes> ServingConnection::to_pieces(std::string control,
                                                        std::vector<OutgoingFrame> frames) {
  size_t size = control.size();
  for (const OutgoingFrame& frame : frames) {
    size += kFrameHeaderBytes + (frame.buffer.size <= kCopiedBytesMax ? frame.buffer.size : 0);
  }
  const std::shared_ptr<char[]> arena = std::make_shared_for_overwrite<char[]>(size);
  std::vector<OutgoingBytes> pieces;
  char* begin = arena.get();
  char* at = begin;
  const auto cut = [&] {
    if (at != begin) pieces.push_back({{begin, static_cast<size_t>(at - begin)}, arena});
    begin = at;
  };
  at = std::copy(control.begin(), control.end(), at);
  for (OutgoingFrame& frame : frames) {
    frame.header.encode_to(at);
    at += kFrameHeaderBytes;
    const std::string_view bytes = frame.buffer.bytes();
    if (bytes.size() <= kCopiedBytesMax) {
      at = std::copy(bytes.begin(), bytes.end(), at);
    } else {
      cut();
      pieces.push_back({bytes, std::move(frame.buffer.block)});
    }
  }
  cut();
  return pieces;
}

}  // namespace freshet
