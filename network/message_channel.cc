#include "network/message_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr size_t kHeaderBytes = 8;
constexpr size_t kReserveBytesMax = 1 << 20;  // A header alone must not cost more memory.

/// Cuts a stream into messages; see the grammar in the header.
class MessageParser {
 public:
  explicit MessageParser(uint32_t bytes_max) : bytes_max_(bytes_max) {}

  /// On any thread.
  void take_large_messages() { bytes_max_ = kMessageBytesMax; }

  /// Appends what `bytes` completes to `messages`.
  Status parse(std::string_view bytes, std::vector<std::string>& messages) {
    while (true) {
      if (!header_done_) {
        if (!take_header(bytes)) return Status();
        RETURN_IF_ERROR(check_header());
      }
      const size_t taken = std::min(bytes.size(), size_ - payload_.size());
      payload_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (payload_.size() < size_) return Status();
      messages.push_back(std::exchange(payload_, {}));
      header_done_ = false;
      header_size_ = 0;
    }
  }

  bool at_boundary() const { return header_size_ == 0; }

 private:
  bool take_header(std::string_view& bytes) {
    const size_t taken = std::min(bytes.size(), kHeaderBytes - header_size_);
    std::memcpy(header_.data() + header_size_, bytes.data(), taken);
    header_size_ += taken;
    bytes.remove_prefix(taken);
    return header_size_ == kHeaderBytes;
  }

  Status check_header() {
    uint32_t magic = 0;
    uint32_t size = 0;
    std::memcpy(&magic, header_.data(), sizeof(magic));
    std::memcpy(&size, header_.data() + sizeof(magic), sizeof(size));
    if (magic != kControlMagic) {
      return data_loss(
          fmt::format("not a Freshet control message: it starts with {:#010x}", magic));
    }
    if (const uint32_t bytes_max = bytes_max_; size > bytes_max) {
      return data_loss(
          fmt::format("a message of {} bytes; at most {} are allowed", size, bytes_max));
    }
    size_ = size;
    payload_.reserve(std::min<size_t>(size_, kReserveBytesMax));
    header_done_ = true;
    return Status();
  }

  std::array<char, kHeaderBytes> header_{};
  size_t header_size_ = 0;
  bool header_done_ = false;
  std::atomic<uint32_t> bytes_max_;
  size_t size_ = 0;  // Of the message, once header_done_.
  std::string payload_;
};

class Receiver;

class ChannelOfConnection final : public MessageChannel {
 public:
  ChannelOfConnection(std::shared_ptr<Connection> connection, Mailbox& mailbox, Handler& handler)
      : connection_(std::move(connection)), mailbox_(mailbox), handler_(handler) {}
  ~ChannelOfConnection() override { connection_->close(); }

  void start(uint32_t bytes_max);
  void take_large_messages() override;
  void send(std::string payload) override;
  void close_after_sending(Duration linger) override;
  void close() override;
  void detach() override;
  uint64_t unsent_bytes() const override { return unsent_bytes_; }
  Address local_address() const override { return connection_->local_address(); }
  Address remote_address() const override { return connection_->remote_address(); }

  // The events, on the mailbox's thread.
  void on_messages(std::vector<std::string> messages);
  void on_sent();
  void on_closed(Status why);
  void on_linger_over() {
    if (state_ == State::kClosing) close();
  }

 private:
  enum class State { kOpen, kClosing, kEnded };

  void send_queue();
  void close_because(Status why);
  void cancel_linger();
  std::shared_ptr<ChannelOfConnection> self() {
    return std::static_pointer_cast<ChannelOfConnection>(shared_from_this());
  }

  const std::shared_ptr<Connection> connection_;
  Mailbox& mailbox_;
  Handler& handler_;
  std::shared_ptr<Receiver> receiver_;
  State state_ = State::kOpen;
  std::deque<std::string> queue_;
  uint64_t unsent_bytes_ = 0;  // In the queue and on their way.
  uint64_t sending_bytes_ = 0;
  bool sending_ = false;
  TimerId linger_timer_;
  Status reason_;  // Why this side closes; ok: without a reason to tell.
};

/// Brings events from the connection's thread to the channel's. Holds the channel until either ends
/// it.
class Receiver final : public ConnectionHandler {
 public:
  Receiver(std::shared_ptr<ChannelOfConnection> channel, Mailbox& mailbox, uint32_t bytes_max)
      : remote_(channel->remote_address().to_string()),
        parser_(bytes_max),
        mailbox_(mailbox),
        channel_(std::move(channel)) {}

  Status on_bytes(std::string_view bytes) override {
    std::vector<std::string> messages;
    const Status status = parser_.parse(bytes, messages);
    if (!messages.empty()) RETURN_IF_ERROR(deliver(std::move(messages)));
    return status.with_context(remote_);
  }

  void on_sent() override {
    post("control_sent", [](ChannelOfConnection& channel) { channel.on_sent(); });
  }

  void on_closed(const Status& why) override {
    Status status = why;
    if (why.ok() && !parser_.at_boundary()) {
      status = data_loss(fmt::format("{}: the stream ends inside a message", remote_));
    }
    post("control_closed", [status](ChannelOfConnection& channel) { channel.on_closed(status); });
    detach();
  }

  void take_large_messages() { parser_.take_large_messages(); }

  /// Afterwards the mailbox is not touched any more.
  void detach() {
    std::shared_ptr<ChannelOfConnection> dropped;
    std::lock_guard lock(mutex_);
    dropped.swap(channel_);
  }

 private:
  Status deliver(std::vector<std::string> messages) {
    uint64_t bytes = 0;
    for (const std::string& message : messages) bytes += message.size() + kHeaderBytes;
    if (*waiting_bytes_ + bytes > kMessageQueueBytesMax) {
      return resource_exhausted(fmt::format("{}: {} bytes of messages wait to be handled", remote_,
                                            *waiting_bytes_ + bytes));
    }
    *waiting_bytes_ += bytes;
    post("control_messages", [messages = std::move(messages), waiting = waiting_bytes_,
                              bytes](ChannelOfConnection& channel) mutable {
      *waiting -= bytes;
      channel.on_messages(std::move(messages));
    });
    return Status();
  }

  /// The channel lives until the function has run.
  template <class F>
  void post(std::string_view name, F function) {
    std::lock_guard lock(mutex_);
    if (!channel_) return;
    mailbox_.post(name, [channel = channel_, function = std::move(function)]() mutable {
      function(*channel);
    });
  }

  const std::string remote_;
  MessageParser parser_;  // Of the connection's thread.
  const std::shared_ptr<std::atomic<uint64_t>> waiting_bytes_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::mutex mutex_;  // Orders events and detach(): the mailbox may be gone after it.
  Mailbox& mailbox_;
  std::shared_ptr<ChannelOfConnection> channel_;
};

void ChannelOfConnection::start(uint32_t bytes_max) {
  receiver_ = std::make_shared<Receiver>(self(), mailbox_, bytes_max);
  connection_->start(receiver_);
}

void ChannelOfConnection::take_large_messages() {
  mailbox_.assert_on_thread();
  receiver_->take_large_messages();
}

void ChannelOfConnection::send(std::string payload) {
  mailbox_.assert_on_thread();
  if (state_ != State::kOpen) return;
  const uint64_t size = payload.size() + kHeaderBytes;
  if (payload.size() > kMessageBytesMax) {
    return close_because(resource_exhausted(
        fmt::format("{}: a message of {} bytes cannot be sent; at most {} are allowed",
                    remote_address().to_string(), payload.size(), kMessageBytesMax)));
  }
  if (unsent_bytes_ + size > kMessageQueueBytesMax) {
    return close_because(resource_exhausted(
        fmt::format("{}: the peer does not take its messages: {} bytes are waiting",
                    remote_address().to_string(), unsent_bytes_)));
  }
  unsent_bytes_ += size;
  queue_.push_back(std::move(payload));
  if (!sending_) send_queue();
}

void ChannelOfConnection::send_queue() {
  struct Batch {
    std::deque<std::string> payloads;
    std::vector<std::array<char, kHeaderBytes>> headers;
  };
  auto batch = std::make_shared<Batch>();
  batch->payloads.swap(queue_);
  batch->headers.resize(batch->payloads.size());
  std::vector<OutgoingBytes> pieces;
  pieces.reserve(2 * batch->payloads.size());
  for (size_t i = 0; i < batch->payloads.size(); ++i) {
    const std::string& payload = batch->payloads[i];
    char* header = batch->headers[i].data();
    const auto size = static_cast<uint32_t>(payload.size());
    std::memcpy(header, &kControlMagic, sizeof(kControlMagic));
    std::memcpy(header + sizeof(kControlMagic), &size, sizeof(size));
    pieces.push_back({std::string_view(header, kHeaderBytes), batch});
    pieces.push_back({payload, batch});
  }
  sending_ = true;
  sending_bytes_ = unsent_bytes_;
  connection_->send(std::move(pieces));
}

void ChannelOfConnection::close_after_sending(Duration linger) {
  mailbox_.assert_on_thread();
  if (state_ != State::kOpen) return;
  if (!sending_) return close();
  state_ = State::kClosing;
  linger_timer_ = mailbox_.schedule(linger, "control_linger", [weak = weak_from_this()] {
    if (const auto channel = weak.lock())
      static_cast<ChannelOfConnection&>(*channel).on_linger_over();
  });
}

void ChannelOfConnection::close() {
  mailbox_.assert_on_thread();
  if (state_ == State::kEnded) return;
  state_ = State::kClosing;
  cancel_linger();
  queue_.clear();
  connection_->close();
}

void ChannelOfConnection::close_because(Status why) {
  reason_ = std::move(why);
  close();
}

void ChannelOfConnection::detach() {
  mailbox_.assert_on_thread();
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  cancel_linger();
  queue_.clear();
  const auto alive = shared_from_this();
  receiver_->detach();
  connection_->close();
}

void ChannelOfConnection::on_messages(std::vector<std::string> messages) {
  for (std::string& message : messages) {
    if (state_ != State::kOpen) return;
    handler_.on_message(shared_from_this(), std::move(message));
  }
}

void ChannelOfConnection::on_sent() {
  if (state_ == State::kEnded) return;
  sending_ = false;
  unsent_bytes_ -= std::exchange(sending_bytes_, 0);
  if (!queue_.empty()) return send_queue();
  if (state_ == State::kClosing) close();
}

void ChannelOfConnection::on_closed(Status why) {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  cancel_linger();
  queue_.clear();
  handler_.on_closed(shared_from_this(), reason_.ok() ? why : reason_);
}

void ChannelOfConnection::cancel_linger() {
  if (linger_timer_ != TimerId{}) mailbox_.cancel(linger_timer_);
  linger_timer_ = TimerId{};
}

}  // namespace

std::shared_ptr<MessageChannel> MessageChannel::open(std::shared_ptr<Connection> connection,
                                                     Mailbox& mailbox, Handler& handler,
                                                     uint32_t bytes_max) {
  auto channel = std::make_shared<ChannelOfConnection>(std::move(connection), mailbox, handler);
  channel->start(bytes_max);
  return channel;
}

}  // namespace freshet
