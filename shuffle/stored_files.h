#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "shuffle/blocking_partition.h"
#include "shuffle/dataset_index.h"
#include "shuffle/partition_store.h"

namespace freshet {

/// The blocking partitions of one process: makes them, and lets readers have them once they are
/// published, until they are released.
///
/// Thread-safe. Owned by shared_ptr, by what can still be read.
class StoredFiles : public std::enable_shared_from_this<StoredFiles> {
 public:
  struct Context {
    std::shared_ptr<SegmentPool> pool;
    std::shared_ptr<MemoryShares> shares;
    std::shared_ptr<DatasetIndex> index;
    SpillPlace place;
    BlockCodec codec = BlockCodec::kLz4;
    uint64_t read_bytes = 0;
    // Of a partition, for what becomes a region of its file.
    uint64_t write_bytes_max = kWriteBytesMax;
  };
  /// Less makes more regions, and more reading here and there.
  static constexpr uint64_t kWriteBytesMax = 16u << 20;

  static Result<std::shared_ptr<StoredFiles>> create(Context context);

  /// Errors as of ShuffleEnvironment::create_partition().
  Result<std::shared_ptr<ResultPartition>> create_partition(
      const ResultPartition::Options& options);
  static uint64_t least_bytes();

  /// Removes what was published, if it was; whoever reads it loses it.
  void release(const StoredPartition::Name& name);
  void release_job(const JobId& job);

 private:
  explicit StoredFiles(Context context) : context_(std::move(context)) {}
  Status publish(const ResultPartition::Options& options, const PublishedPartition& published,
                 std::optional<std::vector<uint32_t>> filled);

  const Context context_;
  std::shared_ptr<PartitionStore> store_;
};

}  // namespace freshet
