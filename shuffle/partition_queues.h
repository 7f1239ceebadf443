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

namespace freshet {

/// Something to tell a reader once no lock is held.
struct ReaderCall {
  enum class Kind { kReady, kEnded, kLost };
  Kind kind = Kind::kReady;
  std::shared_ptr<ChannelReader> reader;
  std::shared_ptr<PartitionQueues> partition;
  Status cause;  // Of kLost.
};

/// Makes the calls, in order. No lock may be held.
void tell(const std::vector<ReaderCall>& calls);

/// The handed-over buffers of one partition, a queue per channel that exists. The producing task
/// pushes, readers take.
///
/// Thread-safe, one lock. Takes no other lock and calls nobody: what there is to tell is returned.
/// Who reads a channel is decided by the DatasetIndex, under whose lock the functions that say so
/// are called.
class PartitionQueues : public std::enable_shared_from_this<PartitionQueues> {
 public:
  /// One channel. Lives as long as the partition.
  struct Channel {
    /// The largest block its reader takes; kSmallBlockBytes while it has none.
    std::atomic<uint32_t> block_bytes_max{kSmallBlockBytes};

   private:
    friend class PartitionQueues;
    BufferQueue buffers;
    std::shared_ptr<ChannelReader> reader;
    uint64_t position = 0;        // Number of the next element that starts in what was not taken.
    uint32_t hash = 0;            // Low half, of the elements before `position`; 0: not known.
    bool inside_element = false;  // What was taken last ends incomplete.
    bool end_told = false;
  };

  struct Pushed {
    uint32_t subpartition = 0;
    Channel* channel = nullptr;
    Buffer buffer;
  };

  struct Taken {
    uint32_t charged_bytes = 0;
    uint32_t next_charge = 0;  // Of the buffer left in front.
    bool more = false;
    bool ended = false;  // Everything is taken and the producer has ended. Said once.
  };

  PartitionQueues(JobId job, DatasetId dataset, uint32_t producer, AttemptNumber attempt,
                  uint32_t subpartitions);

  JobId job() const { return job_; }
  DatasetId dataset() const { return dataset_; }
  uint32_t producer() const { return producer_; }
  AttemptNumber attempt() const { return attempt_; }
  uint32_t subpartitions() const { return subpartitions_; }

  /// Appends and empties `pushed`; adds whom to tell.
  void push(std::vector<Pushed>* pushed, std::vector<ReaderCall>* calls);

  /// Takes buffers in order while their charge fits `credit_bytes` and fewer than `bytes_max` were
  /// taken. Nothing when `reader` is not the channel's reader any more.
  Taken take(uint32_t subpartition, const ChannelReader* reader, uint64_t credit_bytes,
             uint64_t bytes_max, std::vector<Buffer>* buffers);

  // Under the lock of the DatasetIndex:

  /// Makes the channel, with its reader if there is one (may be null).
  Channel* create_channel(uint32_t subpartition, const ChannelPosition& start,
                          const std::shared_ptr<ChannelReader>& reader,
                          std::vector<ReaderCall>* calls);
  void attach(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
              std::vector<ReaderCall>* calls);
  void detach(uint32_t subpartition, const ChannelReader* reader);
  void set_ended();
  /// After set_ended(), for each reader of the dataset.
  void tell_end(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                std::vector<ReaderCall>* calls);
  /// For each reader of the dataset, when the partition goes.
  void tell_release(uint32_t subpartition, const std::shared_ptr<ChannelReader>& reader,
                    std::vector<ReaderCall>* calls);

  /// Empties all queues and forgets all readers; what was in them is for the caller to drop.
  std::vector<std::vector<Buffer>> clear();

 private:
  /// The reason why `reader` cannot go on with this channel.
  Status refusal(const Channel& channel, const ChannelReader& reader) const REQUIRES(mutex_);
  ReaderCall call(ReaderCall::Kind kind, const std::shared_ptr<ChannelReader>& reader,
                  Status cause = {});
  static uint32_t block_limit(const ChannelReader& reader);

  const JobId job_;
  const DatasetId dataset_;
  const uint32_t producer_;
  const AttemptNumber attempt_;
  const uint32_t subpartitions_;

  mutable Mutex mutex_;
  SparseArray<Channel> channels_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace freshet
