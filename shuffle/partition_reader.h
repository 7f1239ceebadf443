#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/buffer.h"
#include "shuffle/fifo.h"
#include "shuffle/partition_file_format.h"
#include "shuffle/read_pool.h"

namespace freshet {

class FileElevator;

/// One consumer's part of one partition file: what there is for its subpartitions, in the order in
/// which each of them was written. A FileElevator reads ahead; whoever takes also checks and
/// decompresses, so that the one thread for the disk does nothing else.
///
/// take(), ended() and close() belong to one thread; the rest is the elevator's. One lock.
class PartitionReader : public std::enable_shared_from_this<PartitionReader> {
 public:
  struct Options {
    uint32_t subpartition = 0;  // The first of `count`.
    uint32_t count = 1;
    // Of a consumer that has what is before it; only when `count` is 1.
    uint64_t next_element = 0;
    uint32_t fixed_record_size = 0;
    // Called on the executor when take() had nothing and has something now, or the end, or an
    // error. It may still run when close() has returned.
    std::function<void()> wake;
  };

  struct Taken {
    uint32_t subpartition = 0;
    Buffer buffer;
  };

  PartitionReader(Options options, std::shared_ptr<FileElevator> elevator,
                  std::shared_ptr<ReadPool> pool);
  ~PartitionReader();
  PartitionReader(const PartitionReader&) = delete;
  PartitionReader& operator=(const PartitionReader&) = delete;

  /// The next; nullopt when it is not read yet, or at the end. kNotFound or kDataLoss when the file
  /// has gone or is damaged, with path and offset: is_partition_lost().
  Result<std::optional<Taken>> take();

  /// All was taken.
  bool ended() const;

  /// Read, and not taken. Any thread.
  uint64_t waiting_bytes() const;

  /// Drops what was not taken, and is told nothing more.
  void close();

  /// The rolling hash and the number of elements up to what was taken, of the first subpartition.
  uint64_t hash() const { return channels_[0].hash; }
  uint64_t elements() const { return channels_[0].elements; }

 private:
  friend class FileElevator;

  /// A block as it is in the file.
  struct Stored {
    ConstBlockRef block;
    uint32_t size = 0;
    uint32_t subpartition = 0;
    uint64_t offset = 0;
  };
  struct Channel {
    uint64_t elements = 0;  // Before what comes next.
    uint64_t hash = 0;
  };
  /// What there is for it in a region.
  struct Wanted {
    IndexEntry entry;
    uint32_t region = 0;
    uint64_t expected = 0;  // The disk brings what is before this offset.
  };
  /// Where the elevator is with it. In its hands only.
  struct Position {
    uint32_t region = 0;  // To be looked at next.
    Fifo<Wanted> wanted;
    uint64_t offset = 0;    // In the first of these.
    uint64_t elements = 0;  // Up to the last of these, of all subpartitions.
    bool skips = true;      // Nothing was read yet.
    Status ahead;           // Behind what is wanted.
  };
  /// Who has it: nobody, the elevator, or the elevator until there is memory.
  enum class Hands : uint8_t { kNone, kQueued, kParked };

  // For the elevator:
  bool wants() const;
  bool waits() const;
  /// Elements that it has already; before the first delivery.
  void skip(const IndexEntry& entry);
  void deliver(std::vector<Stored> blocks);
  /// No more comes; so many elements were there, of all subpartitions.
  void end(uint64_t elements);
  void fail(Status status);

  bool stop_waiting() REQUIRES(mutex_);
  Status decode(const Stored& stored);
  void begin();
  Status add(const BlockHeader& header, uint32_t channel, Buffer buffer);
  void push(uint32_t channel, Buffer buffer);
  Status check_end();
  Status give_up(Status status);

  const Options options_;
  const std::shared_ptr<FileElevator> elevator_;
  const std::shared_ptr<ReadPool> pool_;
  Position position_;
  // Under the elevator's lock:
  uint64_t serial_ = 0;
  Hands hands_ = Hands::kNone;

  // Of the thread that takes.
  std::vector<Channel> channels_;  // By subpartition, from the first.
  Fifo<Taken> ready_;
  bool began_ = false;
  bool delivered_ = false;  // Something from next_element on.

  mutable Mutex mutex_;
  Fifo<Stored> stored_ GUARDED_BY(mutex_);
  uint64_t stored_bytes_ GUARDED_BY(mutex_) = 0;
  Channel skipped_ GUARDED_BY(mutex_);
  bool waits_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::optional<uint64_t> end_ GUARDED_BY(mutex_);
  Status status_ GUARDED_BY(mutex_);
};

}  // namespace freshet
