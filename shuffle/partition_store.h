#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/ids.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/blocking_partition.h"
#include "shuffle/file_elevator.h"
#include "shuffle/file_remover.h"
#include "shuffle/read_pool.h"
#include "shuffle/stored_partition.h"
#include "shuffle/temp_directories.h"

namespace freshet {

/// One attempt's partition.
using PartitionKey = StoredPartition::Name;

/// The partition files of one process: where they are written, which are published, who reads them.
/// They are read as often as anybody likes until they are released; two attempts of one producer do
/// not know of each other. The files of a job are in a directory of its own.
///
/// Thread-safe, one lock, under which nothing is called. Files are removed by the
/// executor, a few at a time.
class PartitionStore {
 public:
  struct Options {
    // Its directories belong to this store alone. Files go to all of them in turn.
    SpillPlace place;
    uint64_t read_bytes = 32u << 20;  // Of the ReadPool.
  };

  /// Removes what a process left that was killed.
  static Result<std::unique_ptr<PartitionStore>> create(Options options);

  /// Where a job's partitions are written, and under which name.
  SpillPlace place_of(const JobId& job);
  static std::string file_name(const PartitionKey& key);

  /// It can be read from now on. kAlreadyExists when it is there.
  Status publish(const PartitionKey& key, const PublishedPartition& partition);

  /// kNotFound when it was never published here, or is released.
  Result<PublishedPartition> find(const PartitionKey& key) const;
  Result<std::shared_ptr<PartitionReader>> read(const PartitionKey& key,
                                                PartitionReader::Options options);
  /// As FileElevator::take_at_hand().
  bool take_at_hand(const PartitionKey& key, uint32_t subpartition, std::vector<Buffer>* buffers);

  /// Removes it. Who reads it reads on, or hears kNotFound. Nothing when it is not there.
  void release(const PartitionKey& key);
  /// The same of all that the job has, with what was not published: when its tasks have ended.
  void release_job(const JobId& job);

  size_t partition_count() const;
  uint64_t file_bytes() const;  // Of all that are published.
  const std::shared_ptr<ReadPool>& read_pool() const { return pool_; }

 private:
  struct Entry {
    PublishedPartition partition;
    std::weak_ptr<FileElevator> elevator;  // While somebody reads it, or it is kept.
    std::shared_ptr<FileElevator> kept;
  };

  // Those that were read last keep what they know of their files: the next consumer comes soon.
  static constexpr size_t kElevatorsKept = 1024;

  explicit PartitionStore(Options options);
  std::shared_ptr<FileElevator> elevator_of(const PartitionKey& key, Entry* entry) REQUIRES(mutex_);

  const Options options_;
  const std::shared_ptr<TempDirectories> directories_;
  const std::shared_ptr<FileRemover> remover_;
  const std::shared_ptr<ReadPool> pool_;
  mutable Mutex mutex_;
  std::map<PartitionKey, Entry> entries_ GUARDED_BY(mutex_);
  std::deque<PartitionKey> kept_ GUARDED_BY(mutex_);  // The oldest first; some may be gone.
};

}  // namespace freshet
