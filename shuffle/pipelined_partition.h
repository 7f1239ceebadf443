#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shuffle/channel_writer.h"
#include "shuffle/dataset_index.h"
#include "shuffle/flush_lists.h"
#include "shuffle/prefetch.h"
#include "shuffle/result_partition.h"
#include "shuffle/spill_file.h"

namespace freshet {

/// The partition whose consumers read while it is written. What is handed over goes to the queues
/// or, once much more is held than may be, to a spill file, and everything behind it too, until
/// that is empty; so nothing passes anything.
class PipelinedPartition final : public ResultPartition {
 public:
  struct Context {
    std::shared_ptr<SegmentPool> pool;
    std::shared_ptr<DatasetIndex> index;
    MemoryClaim claim;
    std::shared_ptr<MemoryShares> shares;
    std::function<void()> on_release;
    uint64_t overdraft_bytes_max = 0;  // Beyond the budget, before anything is spilled.
    std::optional<SpillPlace> spill;   // Nullopt: nothing is spilled.
  };

  static Result<std::shared_ptr<ResultPartition>> create(const Options& options, Context context);
  PipelinedPartition(const Options& options, Context context);
  ~PipelinedPartition() override;

  bool available() const override { return !spill_ && account_->available(); }
  bool spilled() const override { return spill_ != nullptr; }
  bool pay_back() override;
  Duration waited() const override { return waited_ + (spill_ ? spill_->waited() : Duration{}); }
  const Status& status() const override { return status_; }
  void watch(bool* full, const std::atomic<bool>* cancelled) override {
    full_ = full;
    cancelled_ = cancelled;
  }
  Encoder& begin_record(uint32_t subpartition, EpochMillis timestamp) override;
  void end_record() override;
  void write_to_all() override;
  void broadcast_event(ElementKind kind, std::string_view payload) override;
  void end_step() override;
  void flush() override;
  void flush_older() override;
  bool wants_flush() const override { return flush_lists_.wants_flush(); }
  void end_of_data() override;
  std::vector<ChannelPosition> positions() const override;
  uint64_t records_written() const override { return shared_.records * copies(); }
  uint64_t bytes_written() const override { return shared_.bytes * copies(); }
  uint64_t buffers_written() const override { return buffers_written_; }
  double pool_usage() const override {
    const uint64_t budget = account_->budget_bytes();
    return budget == 0 ? 0
                       : static_cast<double>(account_->held_bytes()) / static_cast<double>(budget);
  }
  uint64_t buffers_waiting() const override { return queues_->buffers_waiting(); }
  uint64_t bytes_waiting() const override { return queues_->bytes_waiting(); }
  void release() override;

  /// What it holds of which budget.
  const MemoryAccount& account() const { return *account_; }
  /// How many times flushes looked at a channel.
  uint64_t flush_visits() const { return flush_lists_.visits(); }

 private:
  ChannelWriter& channel(uint32_t subpartition);
  [[gnu::always_inline]] void prefetch_channel(uint32_t subpartition) const {
    if (subpartition >= subpartitions_) return;
    if (const ChannelWriter* writer = channels_.find(subpartition))
      prefetch_bytes(writer, sizeof(*writer));
  }
  ChannelWriter& make_channel(uint32_t subpartition);
  /// How many consumers get what one writer writes.
  uint64_t copies() const { return to_all_ ? subpartitions_ : 1; }
  /// What one channel closed becomes a buffer of each.
  void fan_out(std::vector<PartitionQueues::Pushed>* buffers);
  template <class Condition>
  void flush_if(Condition condition);
  void close_blocks();
  void close_large_blocks();
  void hand_over();
  bool must_spill() const;
  void spill();
  /// False when the next is not read yet.
  Result<bool> bring_back(uint64_t* bytes);
  void push(std::vector<PartitionQueues::Pushed>* buffers);
  void announce_end();
  void note_space();

  const Context context_;
  const uint32_t subpartitions_;
  const std::shared_ptr<MemoryAccount> account_;
  const std::shared_ptr<PartitionQueues> queues_;
  ChannelWriter::Shared shared_;
  SparseArray<ChannelWriter> channels_;
  FlushLists flush_lists_{channels_, *queues_};
  std::vector<ReaderCall> calls_;
  uint64_t buffers_written_ = 0;
  bool to_all_ = false;
  std::vector<PartitionQueues::Channel*> all_;         // By subpartition; when written to all.
  std::vector<PartitionQueues::Pushed> to_be_copied_;  // Empty but inside fan_out().
  const std::function<void()> wake_;
  std::unique_ptr<SpillFile> spill_;                // While something is in it.
  uint64_t spills_ = 0;                             // Files so far.
  Duration waited_{};                               // For the files before this one.
  std::vector<PartitionQueues::Pushed> returning_;  // From there to the queues.
  Status status_;

  Encoder encoder_;
  ChannelWriter* current_ = nullptr;  // Between begin_record and end_record.
  EpochMillis timestamp_ = kNoTimestamp;
  bool* full_ = nullptr;
  const std::atomic<bool>* cancelled_ = nullptr;
  bool ended_ = false;
  bool released_ = false;
};

}  // namespace freshet
