#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shuffle/channel_writer.h"
#include "shuffle/dataset_index.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// The partition whose consumers read while it is written.
class PipelinedPartition final : public ResultPartition {
 public:
  struct Context {
    std::shared_ptr<SegmentPool> pool;
    std::shared_ptr<DatasetIndex> index;
    MemoryClaim claim;
    std::shared_ptr<const MemoryShares> shares;
    std::function<void()> on_release;
  };

  static Result<std::shared_ptr<ResultPartition>> create(const Options& options, Context context);
  PipelinedPartition(const Options& options, Context context);
  ~PipelinedPartition() override;

  bool available() const override { return account_->available(); }
  void watch(bool* full) override { full_ = full; }
  Encoder& begin_record(uint32_t subpartition, EpochMillis timestamp) override;
  void end_record() override;
  void broadcast_event(ElementKind kind, std::string_view payload) override;
  void flush() override;
  bool wants_flush() const override { return !open_channels_.empty(); }
  void end_of_data() override;
  std::vector<ChannelPosition> positions() const override;
  uint64_t records_written() const override { return shared_.records; }
  uint64_t bytes_written() const override { return shared_.bytes; }
  void release() override;

 private:
  ChannelWriter& channel(uint32_t subpartition);
  void hand_over();
  void note_space();

  const Context context_;
  const uint32_t subpartitions_;
  const std::shared_ptr<MemoryAccount> account_;
  const std::shared_ptr<PartitionQueues> queues_;
  ChannelWriter::Shared shared_;
  SparseArray<ChannelWriter> channels_;
  std::vector<ChannelWriter*> open_channels_;  // Those with a block, and some without.
  std::vector<ReaderCall> calls_;

  Encoder encoder_;
  ChannelWriter* current_ = nullptr;  // Between begin_record and end_record.
  EpochMillis timestamp_ = kNoTimestamp;
  bool* full_ = nullptr;
  bool ended_ = false;
  bool released_ = false;
};

}  // namespace freshet
