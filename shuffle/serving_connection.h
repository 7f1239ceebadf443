#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/frame.h"
#include "network/transport.h"
#include "runtime/base/mutex.h"
#include "runtime/base/secret_handshake.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/data_messages.h"
#include "shuffle/dataset_index.h"
#include "shuffle/prefetch.h"
#include "shuffle/send_batch.h"

namespace freshet {

/// The producing side of the connection to one consuming TaskManager, which made it: serves all
/// that is attached over it. Ready channels wait in one queue and are taken in turns by bytes, as
/// far as the credit of each goes; many buffers leave in one send.
///
/// Thread-safe. One lock, for the list of what is ready and for credits; never held while anything
/// else is called.
class ServingConnection final : public ConnectionHandler,
                                public std::enable_shared_from_this<ServingConnection> {
 public:
  struct Context {
    std::shared_ptr<DatasetIndex> index;
    std::shared_ptr<SecretHandshake> handshake;  // Of this connection.
    std::shared_ptr<std::atomic<int64_t>> unconfirmed_sends;
    std::function<void()> on_closed;
  };

  ServingConnection(std::shared_ptr<Connection> connection, Context context);
  ~ServingConnection() override;

  void start();
  void close();
  /// The time for a valid hello is over.
  void close_unless_greeted();

  Status on_bytes(std::string_view bytes) override;
  void on_sent() override;
  void on_closed(const Status& why) override;

 private:
  class Reader;

  struct Channel {
    uint32_t producer = 0;
    std::shared_ptr<Reader> reader;
    std::shared_ptr<PartitionQueues> partition;
    QueuedChannel* queue = nullptr;  // In it.
    uint64_t credit_bytes = 0;
    uint64_t credit_bytes_max = 0;  // Its own, and what may float to it once it asked.
    uint32_t next_charge = 0;       // What it waits for credit for; 0: it does not.
    bool backlog_told = false;      // Since there was credit last.
    bool listed = false;            // In ready_.
    bool in_turn = false;           // In turns_.
    bool gone = false;              // Not served any more; kept in gone_ while listed or in turn.
  };
  struct Served {
    std::shared_ptr<Reader> reader;
    // By producer; only those that had something.
    boost::unordered_flat_map<uint32_t, std::unique_ptr<Channel>> channels;
    ProducerSet ended;  // Not sent yet.
  };
  struct ChannelKey {
    uint32_t attachment = 0;
    uint32_t producer = 0;
  };
  struct Turn {
    Channel* channel = nullptr;
    uint64_t credit_bytes = 0;
    bool done = false;
    PartitionQueues::Taken taken;
  };
  static constexpr size_t kTurnsAhead = 6;
  /// What is dropped once no lock is held.
  using Dropped = std::vector<std::unique_ptr<Channel>>;

  // From readers, on any thread.
  void channels_ready(std::span<const ReaderCall> calls);
  void producers_ended(uint32_t attachment, std::span<const ProducerSpan> producers);
  void channels_lost(uint32_t attachment, const Loss& loss);

  // From the peer.
  Status on_frame(const FrameHeader& header, std::string_view payload);
  Status on_stranger(const FrameHeader& header, std::string_view payload);
  Status on_hello(std::string_view payload);
  Status on_proof(std::string_view payload);
  void reply(const std::string& frame);
  bool has_unsent_replies();
  /// Tells the peer why, and closes.
  void refuse(const Status& cause);
  Status on_attach(uint32_t attachment, std::string_view payload);
  Status on_credit(std::string_view payload);
  void on_detach(uint32_t attachment);

  void pump();
  bool has_work() const REQUIRES(mutex_);
  /// What is to be sent next, as far as it is good to send at once.
  std::vector<OutgoingBytes> gather();
  void take_control(std::string* control);
  Served* find(uint32_t attachment) REQUIRES(mutex_);
  /// Of the one that `credit` names; null when there is none, or none any more.
  Channel* find_channel(const CreditReturn& credit) REQUIRES(mutex_);
  void begin_turns();
  /// A channel's state, and what that points to once it is here.
  [[gnu::always_inline]] void prefetch_turns_behind(size_t index) const {
    if (index + 2 * kTurnsAhead < turns_.size())
      prefetch_bytes(turns_[index + 2 * kTurnsAhead].channel, sizeof(Channel));
    if (index + kTurnsAhead >= turns_.size()) return;
    const Channel& soon = *turns_[index + kTurnsAhead].channel;
    prefetch_bytes(soon.queue, sizeof(QueuedChannel));
    soon.partition->prefetch();
  }
  void take_turn(Turn* turn);
  void end_turns();
  void end_turn(const Turn& turn) REQUIRES(mutex_);
  void tell_backlog(Channel* channel, uint64_t bytes) REQUIRES(mutex_);
  /// Nothing waits in the channel: what it has beyond its own credit is for others.
  void note_spare(const Channel& channel) REQUIRES(mutex_);
  /// Takes the spare credit from its channels, if they still have no use for it.
  std::vector<CreditBack> take_spare() REQUIRES(mutex_);
  void add_ready(const ReaderCall& call) REQUIRES(mutex_);
  void list(Channel* channel) REQUIRES(mutex_);
  void remove(std::unique_ptr<Channel> channel, Dropped* dropped) REQUIRES(mutex_);
  void drop_if_done(Channel* channel, Dropped* dropped) REQUIRES(mutex_);
  void add_ended(Served* served, std::span<const ProducerSpan> producers) REQUIRES(mutex_);

  const std::shared_ptr<Connection> connection_;
  const Context context_;
  FrameReader frames_;                 // Connection's thread.
  bool refused_ = false;               // Likewise: what it sent was an error.
  bool challenged_ = false;            // Likewise.
  Status refusal_;                     // Likewise: why it is not let in; ok: it may be.
  std::atomic<bool> greeted_ = false;  // Set once, there.

  // Of whoever gathers: one at a time, while sending_.
  std::vector<Turn> turns_;
  std::vector<Buffer> buffers_;
  SendBatch batch_;

  Mutex mutex_;
  boost::unordered_flat_map<uint32_t, std::unique_ptr<Served>> served_ GUARDED_BY(mutex_);
  std::deque<Channel*> ready_ GUARDED_BY(mutex_);
  Dropped gone_ GUARDED_BY(mutex_);
  std::vector<uint32_t> with_ends_ GUARDED_BY(mutex_);  // Attachments whose `ended` is not empty.
  std::string replies_ GUARDED_BY(mutex_);
  // To be told, of all channels at once.
  std::vector<Backlog> backlogs_ GUARDED_BY(mutex_);
  std::vector<ChannelKey> with_spare_ GUARDED_BY(mutex_);  // May be gone, or need it after all.
  bool sending_ GUARDED_BY(mutex_) = false;                // From gathering to on_sent().
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace freshet
