#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "network/frame.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/block_reserve.h"
#include "shuffle/buffer.h"
#include "shuffle/data_messages.h"
#include "shuffle/floating_credit.h"
#include "shuffle/input_gate.h"
#include "shuffle/partition_queues.h"
#include "shuffle/producer_set.h"

namespace freshet {

/// Where everything for one gate arrives, from connections and partitions of this process, until
/// the gate's task takes it. Checks what comes from the network: numbers, attempts, sizes, credit.
/// A producer belongs to one source at a time; what another one still brings of it is dropped.
///
/// Thread-safe, one lock, under which nothing is called. Wakes the task once per change from
/// nothing to something.
class GateInbox {
 public:
  /// What was asked of one TaskManager at once. Kept, without change, as long as the inbox.
  struct Source {
    TaskManagerId task_manager;
    Attachment attachment;
    bool local = false;  // In this process.
    size_t index = 0;    // Given by the inbox.
  };
  struct Options {
    DatasetId dataset;
    std::shared_ptr<SegmentPool> pool;
    uint64_t floating_bytes = 0;  // Receive blocks beside those of the channels.
    std::function<void()> wake;
    std::function<void(const ChannelLoss&)> on_loss;
  };
  using Arrived = ProducerBuffer;
  /// A channel of a partition of this process that has something.
  struct ReadyChannel {
    uint32_t producer = 0;
    std::shared_ptr<PartitionQueues> partition;
    QueuedChannel* channel = nullptr;
  };
  struct Arrivals {
    std::vector<Arrived> buffers;
    std::vector<ReadyChannel> ready;
    std::vector<ProducerSpan> ended;  // Everything of these was taken, or is in `buffers`.
    bool credit_to_grant = false;     // By add_credit(): somebody waits, and something is free.

    void clear() {
      buffers.clear();
      ready.clear();
      ended.clear();
      credit_to_grant = false;
    }
  };

  explicit GateInbox(Options options)
      : options_(std::move(options)), floating_(options_.floating_bytes) {}

  // From a connection. An error is the peer's breach of the protocol and must close the connection.

  struct FrameOutcome {
    uint32_t returned_bytes = 0;  // Credit that is free at once.
    bool wake = false;            // The task is to be woken, by wake().
  };
  /// A data or event frame. `placed`: what block_for() gave for it, with the payload; or null.
  /// A copy goes to a block of `reserve` (may be null) if it is small.
  Status on_frame(const Source& source, const FrameHeader& header, std::string_view payload,
                  FrameOutcome* outcome, BlockRef placed = nullptr,
                  BlockReserve* reserve = nullptr);
  /// A block for a payload of data that is still on its way. Null when its header is enough to know
  /// that it will not be taken.
  BlockRef block_for(const Source& source, const FrameHeader& header) const;
  /// After the last of several frames.
  void wake() const { wake_if(true); }
  /// More waits in a channel than its credit lets through. What it gets for that, at once, is 0 or
  /// `granted_bytes`.
  Status on_backlog(const Source& source, uint32_t producer, uint32_t bytes,
                    uint32_t* granted_bytes);
  /// The producer has no use for so much of what floats.
  Status on_credit_back(const Source& source, uint32_t producer, uint32_t bytes);
  Status on_ended(const Source& source, const std::vector<ProducerSpan>& spans);

  // From a connection or a partition here.

  /// on_ready() comes soon.
  [[gnu::always_inline]] void prefetch() const {
    __builtin_prefetch(&mutex_, 1);
    __builtin_prefetch(&arrivals_, 1);
  }

  /// All channels of the source within `producers` that did not end are disconnected. One that is
  /// lost never ends, until another source takes it over.
  void on_lost(const Source& source, ProducerSpan producers, const Status& cause);
  void on_source_lost(const Source& source, const Status& cause);
  void on_ready(const Source& source, const ReaderCall& call);
  /// All that these have, who have ended; they rise.
  void on_at_hand(const Source& source, std::vector<ProducerBuffer> buffers,
                  std::span<const ProducerSpan> producers);
  /// `producers` rise.
  void on_local_ended(const Source& source, std::span<const ProducerSpan> producers);

  // From the task.

  /// From now on the source's producers belong to it: what is here of them is dropped, and ends and
  /// losses are forgotten. Returns the sources that have no producer left.
  std::vector<std::shared_ptr<const Source>> add(const std::shared_ptr<Source>& source);

  /// Whose the producer is; null when nobody's.
  std::shared_ptr<const Source> source_of(uint32_t producer) const;

  bool has_arrivals() const { return pending_.load(std::memory_order_acquire); }
  /// What is here goes to `arrivals`, which is empty, and whose memory is used again.
  void take(Arrivals* arrivals);

  /// Everything of this local producer was taken.
  void note_ended(uint32_t producer);

  /// The channel's bytes are wrong: it is lost, whether or not its end came, and nothing more of it
  /// is let in. The task has dropped what it had of it.
  void fail(uint32_t producer, const Status& cause);

  /// Buffers were used up: makes room that the peer will be told of. `attachment` is the index of
  /// the source from which the bytes came. What floats may go to another channel instead: `credits`
  /// become what is to be told.
  void add_credit(std::vector<CreditReturn>* credits);

  /// What of the floating credit belongs to nobody, and how much is lent to each channel that has
  /// some; together always as much as there is.
  uint64_t floating_free_bytes() const;
  std::map<uint32_t, uint64_t> floating_lent_bytes() const;

  /// On any thread: what the task has not taken, and how much of what floats is lent.
  struct Load {
    uint64_t buffers = 0;
    uint64_t payload_bytes = 0;
    uint64_t receive_bytes = 0;
    uint64_t floating_lent_bytes = 0;
  };
  Load load() const;

  /// Dropped, because an execution of their producer sent them that is not wanted (any more).
  uint64_t frames_of_other_attempts() const;

  /// Drops what is here and all that comes.
  void close();

 private:
  struct Channel {
    uint64_t next_element = 0;
    uint64_t credit_bytes = 0;    // That the producer has not used.
    uint64_t floating_bytes = 0;  // Part of all that was given and has not come back.
    bool more_follows = false;    // Behind the last frame.
    bool waits = false;           // For what floats.
  };

  struct Owned {
    ProducerSpan span;
    std::shared_ptr<const Source> source;
  };

  static Status check_data(const FrameHeader& header, size_t payload_bytes);
  static Status check_event(const FrameHeader& header, std::string_view payload);
  static Status check_shape(const FrameHeader& header, std::string_view payload);
  /// Which rule of the protocol was broken, and by whom.
  Status breach(const Source& source, uint32_t producer, const std::string& what) const;
  Status let_in(const Source& source, const FrameHeader& header, std::string_view payload,
                FrameOutcome* outcome, BlockRef placed, BlockReserve* reserve);
  /// Of an execution that is not wanted (any more): dropped.
  void note_other_attempt(const Source& source, const FrameHeader& header, AttemptNumber wanted);
  Status admit(const Source& source, const FrameHeader& header, uint32_t* returned_bytes,
               bool* accepted) REQUIRES(mutex_);
  /// Whether more data waits at the producer; if not, it does not wait for credit either.
  void note_follows(bool more, uint32_t producer, Channel* channel) REQUIRES(mutex_);
  Channel& channel_of(const Attachment& attachment, uint32_t producer) REQUIRES(mutex_);
  /// Of `bytes` that came back: what the channel keeps.
  uint32_t keep_credit(Channel* channel, uint32_t bytes) REQUIRES(mutex_);
  void grant_floating(std::vector<CreditReturn>* credits) REQUIRES(mutex_);
  /// Those of these that are the source's and were not lost have ended. True: the task is to be
  /// woken.
  bool end_sound(const Source& source, std::span<const ProducerSpan> producers) REQUIRES(mutex_);
  /// Nothing more comes from these.
  void stop_floating(ProducerSpan producers) REQUIRES(mutex_);
  /// The channels are gone, with all that was lent to them.
  void drop_channels(ProducerSpan producers) REQUIRES(mutex_);
  /// After something that floats became free: true when the task must be woken to pass it on.
  bool note_floating() REQUIRES(mutex_);
  const Owned* owner_of(uint32_t producer) const REQUIRES(mutex_);
  bool owns(const Source& source, uint32_t producer) const REQUIRES(mutex_) {
    const Owned* owner = owner_of(producer);
    return owner != nullptr && owner->source.get() == &source;
  }
  /// The parts of `span` that belong to the source.
  std::vector<ProducerSpan> owned_in(const Source& source, ProducerSpan span) const
      REQUIRES(mutex_);
  /// Makes the source the owner of all its producers; false, and nothing is done, when one of them
  /// has an owner.
  bool take_unowned(const std::shared_ptr<const Source>& source) REQUIRES(mutex_);
  /// Returns the sources that lose some of their producers by it.
  std::vector<std::shared_ptr<const Source>> take_over(ProducerSpan span,
                                                       const std::shared_ptr<const Source>& source)
      REQUIRES(mutex_);
  std::vector<std::shared_ptr<const Source>> hand_over_to(const std::shared_ptr<Source>& source,
                                                          Arrivals* dropped) REQUIRES(mutex_);
  void forget(ProducerSpan span, Arrivals* dropped) REQUIRES(mutex_);
  void forget_end(ProducerSpan span) REQUIRES(mutex_);
  /// Returns what is lost by it, to be reported after the lock.
  std::vector<ProducerSpan> lose(const Source& source, ProducerSpan producers) REQUIRES(mutex_);
  void report(const Source& source, const std::vector<ProducerSpan>& lost,
              const Status& cause) const;
  /// In `block`, or in a copy when that is null.
  Buffer make_buffer(const FrameHeader& header, std::string_view payload, BlockRef block,
                     BlockReserve* reserve) const;
  /// Under the lock: true when the task must be woken after it.
  bool note_arrival() REQUIRES(mutex_);
  void wake_if(bool needed) const;

  const Options options_;
  mutable Mutex mutex_;
  std::atomic<bool> pending_{false};
  bool closed_ GUARDED_BY(mutex_) = false;
  std::vector<Owned> owners_ GUARDED_BY(mutex_);  // Rising, disjoint.
  Arrivals arrivals_ GUARDED_BY(mutex_);
  boost::unordered_flat_map<uint32_t, Channel> channels_
      GUARDED_BY(mutex_);  // Remote ones that exist, by producer; their order decides nothing.
  std::vector<std::shared_ptr<const Source>> sources_ GUARDED_BY(mutex_);
  FloatingCredit floating_ GUARDED_BY(mutex_);
  ProducerSet ended_ GUARDED_BY(mutex_);
  ProducerSet lost_ GUARDED_BY(mutex_);
  uint64_t frames_of_other_attempts_ GUARDED_BY(mutex_) = 0;
  std::set<size_t> with_other_attempts_ GUARDED_BY(mutex_);  // Sources, by index.
};

}  // namespace freshet
