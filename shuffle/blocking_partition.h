#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shuffle/blocking_channel.h"
#include "shuffle/partition_file_writer.h"
#include "shuffle/result_partition.h"
#include "shuffle/sparse_array.h"

namespace freshet {

/// A partition file that has its name.
struct PublishedPartition {
  std::string path;
  uint64_t file_bytes = 0;
  uint64_t hash = 0;  // As in PartitionFooter: equal when consumers get the same.
  uint64_t elements = 0;
};

/// The partition whose consumers read once it is finished, from a file. What is written collects in
/// memory by consumer; when that is full it becomes a region of the file. So it never holds more
/// than its claim, however many consumers it has, beside the element under way, what the file has
/// not taken yet (see PartitionFileWriter), and some hundred bytes for each channel that exists.
///
/// It is available while the disk keeps up; writing waits only when that is far behind. After
/// end_of_data() its task waits until published() says how it went. A full disk, or another error
/// of it, is its status.
class BlockingPartition final : public ResultPartition {
 public:
  struct Context {
    std::shared_ptr<SegmentPool> pool;
    MemoryClaim claim;                     // At least RegionBuffer::kLeastBytes are guaranteed.
    std::shared_ptr<MemoryShares> shares;  // May be null: the claim is what it has.
    SpillPlace place;
    std::string file_name;  // Of this attempt alone.
    BlockCodec codec = BlockCodec::kLz4;
    /// Before handed_over() is true. `filled`: the subpartitions that have something, rising;
    /// nullopt: all may have. Its error becomes status(). May be empty.
    std::function<Status(const PublishedPartition&, std::optional<std::vector<uint32_t>> filled)>
        on_published;
    std::function<void()> on_release;
  };

  BlockingPartition(const Options& options, Context context);
  ~BlockingPartition() override;

  /// Nullopt before end_of_data() and until it is there, which `wake` tells; then where it is, or
  /// status().
  std::optional<Result<PublishedPartition>> published() const;

  bool available() const override { return file_ && status().ok() && file_->has_room(); }
  bool spilled() const override { return false; }
  bool pay_back() override { return false; }
  Duration waited() const override { return file_ ? file_->waited() : waited_; }
  const Status& status() const override;
  void watch(bool* full, const std::atomic<bool>* cancelled) override;
  Encoder& begin_record(uint32_t subpartition, EpochMillis timestamp) override;
  void end_record() override;
  void write_to_all() override;
  /// Ends a region: not often.
  void broadcast_event(ElementKind kind, std::string_view payload) override;
  void end_step() override {}
  void flush() override {}
  void flush_older() override {}
  bool wants_flush() const override { return false; }
  void end_of_data() override;
  bool handed_over() override;
  std::optional<uint64_t> stored_hash() const override;
  std::vector<ChannelPosition> positions() const override;
  uint64_t records_written() const override { return footer().elements * copies(); }
  uint64_t bytes_written() const override { return footer().bytes * copies(); }
  uint64_t buffers_written() const override { return blocks_; }
  double pool_usage() const override;
  /// The file stays, once it is published.
  void release() override;

  /// What it holds of which budget.
  const MemoryAccount& account() const { return *account_; }

 private:
  const PartitionFooter& footer() const { return file_ ? file_->footer() : footer_; }
  uint64_t copies() const { return to_all_ ? options_.subpartitions : 1; }
  BlockingChannel& channel(uint32_t subpartition);
  void end_region();
  void write_chunks(BlockingChannel* channel);
  void write_block(uint32_t subpartition, const RegionChunk* first, const RegionChunk* end);
  void note(const Status& status);
  uint64_t hash() const;
  std::optional<std::vector<uint32_t>> filled() const;

  const Options options_;
  const Context context_;
  const std::shared_ptr<MemoryAccount> account_;
  std::unique_ptr<PartitionFileWriter> file_;  // Until it is released.
  PartitionFooter footer_;                     // These of the file, afterwards.
  Duration waited_{};
  BlockingChannel::Shared shared_;
  SparseArray<BlockingChannel> channels_;
  ChannelPosition untouched_;  // Of the channels that do not exist.
  bool to_all_ = false;
  uint64_t blocks_ = 0;
  std::vector<std::string_view> parts_;  // Empty but in write_block().

  BlockingChannel* writing_ = nullptr;  // The channel of the record under way.
  EpochMillis timestamp_ = kNoTimestamp;
  Encoder encoder_;
  char no_room_ = 0;
  bool* full_ = nullptr;
  const std::atomic<bool>* cancelled_ = nullptr;
  mutable Status status_;
  bool ended_ = false;
  bool handed_over_ = false;
  bool released_ = false;
};

}  // namespace freshet
