#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "shuffle/dataset_index.h"
#include "shuffle/gate_channel.h"
#include "shuffle/gate_inbox.h"
#include "shuffle/input_gate.h"
#include "shuffle/peer_connection.h"

namespace freshet {

/// The task's side of a gate: takes what arrived, gives producers their turns, counts what has
/// ended, returns credit. Belongs to the task's thread.
class GateReader {
 public:
  struct Options {
    uint32_t fixed_record_size = 0;
    bool hash = false;
    std::vector<ChannelPosition> start;
    uint32_t producers_end = 0;  // One above the largest.
    uint64_t producer_count = 0;
    std::shared_ptr<GateInbox> inbox;
    std::shared_ptr<ChannelReader> local;  // Null when no producer is here.
    std::function<void(const std::vector<CreditReturn>&)>
        return_credit;  // Attachment: index of the source.
  };

  explicit GateReader(Options options);

  std::optional<uint32_t> next_ready();
  void ready(std::vector<uint32_t>* producers);
  std::optional<Element> take_from(uint32_t producer);
  bool ended();
  Status status();
  std::vector<ChannelPosition> positions() const;
  uint64_t records() const { return shared_.records; }
  uint64_t bytes() const { return shared_.bytes; }
  void drop_all();

 private:
  GateChannel& channel(uint32_t producer);
  bool absorb();
  void take_local(const std::shared_ptr<PartitionQueues>& partition);
  void add(uint32_t producer, Buffer buffer);
  bool prepare(GateChannel* channel);
  void collect_credit(const GateChannel& channel);
  void flush_credit();
  size_t source_of(uint32_t producer) const;

  const Options options_;
  GateChannel::Shared shared_;
  SparseArray<GateChannel> channels_;
  std::deque<GateChannel*> turns_;  // Each that may have a complete element, once.
  ProducerSet ended_;
  std::vector<CreditReturn> credits_;
  uint64_t credit_bytes_ = 0;
  std::vector<Buffer> local_buffers_;
  Status status_;
};

/// The gate whose producers are read while they write.
class PipelinedGate final : public InputGate {
 public:
  /// One connection's part.
  struct Remote {
    std::shared_ptr<PeerConnection> peer;
    uint32_t attachment = 0;
  };

  PipelinedGate(GateReader::Options options, std::shared_ptr<DatasetIndex> index,
                std::function<void()> on_release);
  ~PipelinedGate() override;

  /// Before use: where each source is; empty for the one of this process.
  void set_remotes(std::vector<Remote> remotes) { remotes_ = std::move(remotes); }

  std::optional<uint32_t> next_ready() override { return reader_->next_ready(); }
  void ready(std::vector<uint32_t>* producers) override { reader_->ready(producers); }
  std::optional<Element> take_from(uint32_t producer) override {
    return reader_->take_from(producer);
  }
  bool ended() const override { return reader_->ended(); }
  Status status() const override { return reader_->status(); }
  std::vector<ChannelPosition> positions() const override { return reader_->positions(); }
  uint64_t records_read() const override { return reader_->records(); }
  uint64_t bytes_read() const override { return reader_->bytes(); }
  void release() override;

 private:
  void return_credit(const std::vector<CreditReturn>& credits);

  const std::shared_ptr<GateInbox> inbox_;
  const std::shared_ptr<ChannelReader> local_;
  const std::shared_ptr<DatasetIndex> index_;
  const std::function<void()> on_release_;
  std::vector<Remote> remotes_;
  std::unique_ptr<GateReader> reader_;
  bool released_ = false;
};

/// Reads partitions of the same process for a gate.
class LocalReader final : public ChannelReader {
 public:
  LocalReader(std::shared_ptr<GateInbox> inbox, size_t source)
      : inbox_(std::move(inbox)), source_(source) {}

  const Attachment& attachment() const override { return inbox_->sources()[source_].attachment; }
  void on_ready(const std::shared_ptr<PartitionQueues>& partition) override {
    inbox_->on_ready(partition);
  }
  void on_ended(uint32_t producer) override { inbox_->on_local_ended(producer); }
  void on_lost(ProducerSpan producers, const Status& cause) override {
    inbox_->on_lost(source_, producers, cause);
  }

 private:
  const std::shared_ptr<GateInbox> inbox_;
  const size_t source_;
};

}  // namespace freshet
