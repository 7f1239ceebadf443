#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/buffer.h"
#include "shuffle/channel_reader.h"
#include "shuffle/result_partition.h"
#include "shuffle/sparse_array.h"
#include "shuffle/stored_partition.h"

namespace freshet {

/// One channel of a partition, and what waits in it. Lives as long as the partition. Three cache
/// lines, because with very many channels each visit waits for each of them.
struct alignas(64) QueuedChannel {
  explicit QueuedChannel(uint32_t of_subpartition) : subpartition(of_subpartition) {}

  /// The largest block its reader takes; kSmallBlockBytes while it has none.
  std::atomic<uint32_t> block_bytes_max{kSmallBlockBytes};
  const uint32_t subpartition;

 private:
  friend class PartitionQueues;
  /// For a reader that comes again.
  struct Past {
    BufferQueue retained;  // Given away, just before `buffers`.
    Buffer whole;          // What the first of `buffers` was cut from; without block: nothing.
  };

  /// Nothing was cut from anything.
  bool is_uncut() const { return !past || !past->whole.block; }
  Past& make_past() {
    if (!past) past = std::make_unique<Past>();
    return *past;
  }

  uint32_t hash = 0;  // Low half, of the elements before `position`; 0: not known.
  std::shared_ptr<ChannelReader> reader;
  std::unique_ptr<Past> past;
  uint64_t position = 0;        // Number of the next element that starts in `buffers`.
  bool inside_element = false;  // What was given away last ends incomplete.
  bool skipping = false;        // The reader has what comes next; see skip().
  bool was_read = false;        // It has or had a reader.
  bool end_told = false;
  bool awaited = false;  // The producer wants to know when `buffers` is empty.
  BufferQueue buffers;   // Not given away yet.
};

/// Something to tell a reader once no lock is held.
struct ReaderCall {
  enum class Kind { kReady, kEnded, kLost };
  Kind kind = Kind::kReady;
  std::shared_ptr<ChannelReader> reader;
  PartitionQueues* partition = nullptr;
  QueuedChannel* channel =
      nullptr;   // Of kReady: what to take from. Lives as long as the partition.
  Status cause;  // Of kLost.
  // Null in what the partition's producer is told, who owns it himself.
  std::shared_ptr<PartitionQueues> keep;
};

/// Why these are lost whose partitions are not here any more.
Status went_away(ProducerSpan producers);

/// Makes the calls, in order. No lock may be held.
void tell(const std::vector<ReaderCall>& calls);

/// The handed-over buffers of one partition, a queue per channel that exists. The producing task
/// pushes, readers take.
///
/// A channel outlives its readers. A new one says which element it wants next. What was given away
/// since is there again if it was retained; what it has already (of a producer that starts again)
/// passes without being sent. A channel whose reader went away holds up nobody: what is written
/// meanwhile is given away, and so is what was waiting.
///
/// Thread-safe, one lock. Takes no other lock and calls nobody: what there is to tell is returned.
/// Who reads a channel is decided by the DatasetIndex, under whose lock the functions that say so
/// are called.
class PartitionQueues : public std::enable_shared_from_this<PartitionQueues> {
 public:
  using Channel = QueuedChannel;

  struct Options {
    JobId job;
    DatasetId dataset;
    uint32_t producer = 0;
    AttemptNumber attempt = 0;
    uint32_t subpartitions = 1;
    uint32_t fixed_record_size = 0;
    bool hash = false;
    std::vector<ChannelPosition> start;  // Of channels that do not begin with element 0; rising.
    uint64_t retained_bytes_max = 0;
  };

  struct Pushed {
    uint32_t subpartition = 0;
    Channel* channel = nullptr;
    Buffer buffer;
  };

  struct Taken {
    uint32_t charged_bytes = 0;
    uint32_t next_charge = 0;    // Least credit with which it goes on.
    uint64_t waiting_bytes = 0;  // Charges of what is left, when there is not enough credit; about.
    bool more = false;
    bool more_data = false;  // Not only events.
    bool ended = false;      // Everything is taken and the producer has ended. Said once.
  };

  explicit PartitionQueues(Options options);

  /// A part of a stored partition for one reader: its one channel takes from there, and nobody
  /// pushes. The reader is told at once that it is ready.
  static std::shared_ptr<PartitionQueues> view(std::shared_ptr<const StoredPartition> stored,
                                               const std::shared_ptr<ChannelReader>& reader,
                                               std::vector<ReaderCall>* calls);
  /// The reader loses its channel.
  void lose_view(const Status& cause);
  /// The reader has gone.
  void close_view();

  JobId job() const { return options_.job; }
  DatasetId dataset() const { return options_.dataset; }
  uint32_t producer() const { return options_.producer; }
  AttemptNumber attempt() const { return options_.attempt; }
  uint32_t subpartitions() const { return options_.subpartitions; }

  const std::vector<ChannelPosition>& start() const { return options_.start; }

  /// Where a channel begins.
  ChannelPosition start_of(uint32_t subpartition) const {
    return position_of(options_.start, subpartition);
  }

  /// Appends and empties `pushed`; adds whom to tell. What goes on in the block of the last buffer
  /// that waits becomes part of that.
  ///
  /// Only the producer calls it, which owns the partition: the calls do not.
  void push(std::vector<Pushed>* pushed, std::vector<ReaderCall>* calls);

  /// Each of `channels` will be among those that take_drained() adds, as soon as nothing waits in
  /// it.
  void await_drained(const std::vector<Channel*>& channels);
  void take_drained(std::vector<Channel*>* channels);

  /// That wait in all channels.
  uint64_t buffers_waiting() const {
    MutexLock lock(mutex_);
    return waiting_;
  }
  uint64_t bytes_waiting() const {
    MutexLock lock(mutex_);
    return waiting_bytes_;
  }

  /// take() comes soon.
  [[gnu::always_inline]] void prefetch() const {
    __builtin_prefetch(this, 1);
    __builtin_prefetch(&options_);
    __builtin_prefetch(&mutex_, 1);
  }

  /// Takes buffers in order while their charge fits `credit_bytes` and fewer than `bytes_max`, with
  /// the headers of their frames, were taken. One for which the credit is too little is split,
  /// unless somebody may want to have it again. Nothing when `reader` is not the channel's reader
  /// any more.
  Taken take(Channel* channel, const ChannelReader* reader, uint64_t credit_bytes,
             uint64_t bytes_max, std::vector<Buffer>* buffers);

  // Under the lock of the DatasetIndex:

  // Buffers in `dropped` are for the caller to let go when no lock is held.

  /// Makes the channel, with its reader if there is one (may be null).
  Channel* create_channel(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                          std::vector<ReaderCall>* calls);
  /// Of a channel that exists.
  void attach(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
              std::vector<ReaderCall>* calls, std::vector<Buffer>* dropped);
  void detach(uint32_t subpartition, const ChannelReader* reader, std::vector<Buffer>* dropped);
  void set_ended();
  /// After set_ended(), for each reader of the dataset.
  void tell_end(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                std::vector<ReaderCall>* calls);
  /// The same for the readers of all channels that exist.
  void tell_ends(std::vector<ReaderCall>* calls);
  /// For each reader of the dataset, when the partition goes before its end.
  void tell_release(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                    std::vector<ReaderCall>* calls);
  /// When it goes after its end: for those who did not take all that is in channels.
  void tell_untaken(std::vector<ReaderCall>* calls);

  bool ended() const;

  /// The channels that exist, rising.
  std::vector<uint32_t> existing() const;

  /// Empties all queues and forgets all readers.
  void clear(std::vector<Buffer>* dropped);

 private:
  /// The next of a view's channel, if it has none.
  void refill(Channel* channel) REQUIRES(mutex_);
  void note_source_ready();
  void add(Channel* channel, Buffer buffer) REQUIRES(mutex_);
  void put_first(Channel* channel, Buffer buffer) REQUIRES(mutex_);
  Buffer pop_first(Channel* channel) REQUIRES(mutex_);
  /// Charge of the piece of the first buffer for which `credit_bytes` are enough; 0: none.
  uint32_t fitting_charge(const Channel& channel, uint64_t credit_bytes) const REQUIRES(mutex_);
  uint32_t least_charge(const Channel& channel) const REQUIRES(mutex_);
  Buffer take_piece(Channel* channel, uint32_t charge) REQUIRES(mutex_);
  /// Gives the channel to `reader`, or says why it cannot go on with it.
  Status hand_to(const std::shared_ptr<ChannelReader>& reader, Channel* channel,
                 std::vector<Buffer>* dropped) REQUIRES(mutex_);
  /// Gives away what the reader has already; goes on when more is pushed.
  Status skip(Channel* channel, std::vector<Buffer>* dropped) REQUIRES(mutex_);
  /// The reader's elements up to the channel's position are those that were written.
  Status check_hash(const Channel& channel, const ChannelReader& reader) const REQUIRES(mutex_);
  /// Makes the buffer the first one not given away, and its start the channel's position.
  void put_back(Buffer buffer, Channel* channel) REQUIRES(mutex_);
  /// The first buffer, which is given away now: it is retained if it can be.
  Buffer give_away(Channel* channel) REQUIRES(mutex_);
  void retain(const Buffer& buffer, Channel* channel) REQUIRES(mutex_);
  void note_drained(Channel* channel) REQUIRES(mutex_);
  void give_away_all(Channel* channel, std::vector<Buffer>* dropped) REQUIRES(mutex_);
  void lose_reader(Channel* channel, Status cause, std::vector<ReaderCall>* calls,
                   std::vector<Buffer>* dropped) REQUIRES(mutex_);
  /// Not ok when the reader has more than the producer ever wrote.
  Status missing_at_end(uint64_t written, const ChannelReader& reader) const;
  void end_channel(Channel* channel, std::vector<ReaderCall>* calls) REQUIRES(mutex_);
  void add_end(uint64_t written, const std::shared_ptr<ChannelReader>& reader,
               std::vector<ReaderCall>* calls);
  ReaderCall release_call(const std::shared_ptr<ChannelReader>& reader);
  ReaderCall call(ReaderCall::Kind kind, const std::shared_ptr<ChannelReader>& reader,
                  Status cause = {});
  uint32_t block_limit(const ChannelReader& reader) const;
  /// The largest charge that the reader surely has the credit for one day.
  uint32_t charge_limit(const ChannelReader& reader) const;
  /// Where buffers begin matters to nobody.
  bool may_split() const { return !options_.hash && options_.retained_bytes_max == 0; }

  const Options options_;

  mutable Mutex mutex_;
  SparseArray<Channel> channels_ GUARDED_BY(mutex_);
  std::vector<Channel*> drained_ GUARDED_BY(mutex_);  // Those that were awaited.
  uint64_t retained_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t waiting_ GUARDED_BY(mutex_) = 0;        // Buffers in all channels.
  uint64_t waiting_bytes_ GUARDED_BY(mutex_) = 0;  // Of them.
  bool ended_ GUARDED_BY(mutex_) = false;
  // Of a view:
  std::unique_ptr<BufferSource> source_ GUARDED_BY(mutex_);
  bool source_failed_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const StoredPartition> stored_;
};

}  // namespace freshet
