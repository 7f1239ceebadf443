#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "shuffle/dataset_index.h"
#include "shuffle/gate_channel.h"
#include "shuffle/gate_inbox.h"
#include "shuffle/input_gate.h"
#include "shuffle/memory_shares.h"
#include "shuffle/peer_connection.h"

namespace freshet {

/// The task's side of a gate: takes what arrived, gives producers their turns, counts what has
/// ended, returns credit. Belongs to the task's thread.
class GateReader {
 public:
  struct Options {
    uint32_t fixed_record_size = 0;
    bool hash = false;
    bool may_lack_hash = false;
    std::vector<ChannelPosition> start;
    uint32_t producers_end = 0;  // One above the largest.
    uint64_t producer_count = 0;
    std::shared_ptr<GateInbox> inbox;
    // Who reads the producers of a source that is in this process.
    std::function<const ChannelReader*(const GateInbox::Source&)> local_reader;
    std::function<void(std::vector<CreditReturn>)>
        return_credit;  // Attachment: index of the source.
    // It sent bytes that no sound producer sends. May be a local one.
    std::function<void(const GateInbox::Source&, const Status&)> refuse;
  };

  explicit GateReader(Options options);

  std::optional<uint32_t> next_ready();
  void ready(std::vector<uint32_t>* producers);
  std::optional<Element> take_from(uint32_t producer);
  std::optional<RecordRun> begin_run(uint32_t producer, uint32_t records_max, const bool* stop);
  void end_run(uint32_t producer, const RecordRun& run);
  /// Before the task waits or gives up its thread: nobody waits for what it is done with.
  void rest();
  bool ended();
  std::vector<ChannelPosition> positions() const;
  /// The source's producers come from it now; what their channels hold is dropped.
  void move_to(const std::shared_ptr<const GateInbox::Source>& source);
  uint64_t records() const { return shared_.records; }
  uint64_t bytes() const { return shared_.bytes; }
  const InputGate::Received& received() const { return shared_.received; }
  /// On any thread.
  uint64_t waiting_buffers() const { return shared_.waiting_buffers.get(); }
  uint64_t waiting_bytes() const { return shared_.waiting_bytes.get(); }
  uint64_t waiting_payload() const { return shared_.waiting_payload.get(); }
  void drop_all();

 private:
  GateChannel& channel(uint32_t producer);
  bool absorb();
  [[gnu::always_inline]] void prefetch_channel(uint32_t producer) const {
    if (const GateChannel* to = channels_.find(producer)) to->prefetch_state();
  }
  void take_all_local();
  void take_local(const GateInbox::ReadyChannel& ready);
  void add(uint32_t producer, Buffer buffer);
  void add_ended(std::span<const ProducerSpan> spans);
  void fail(GateChannel* channel, const Status& cause);
  void drop_views();
  void drop_blocks();
  void after_taking(GateChannel* from);
  bool prepare(GateChannel* channel);
  void collect_credit(const GateChannel& channel);
  void flush_credit();
  /// Nothing is returned, but what floats can go to somebody who waits.
  void grant_credit();

  const Options options_;
  GateChannel::Shared shared_;
  SparseArray<GateChannel> channels_;
  std::deque<GateChannel*> turns_;  // Each that may have a complete element, once.
  ProducerSet ended_;
  ProducerSet failed_;  // Their bytes were wrong; none of them is in ended_.
  std::vector<CreditReturn> credits_;
  uint64_t credit_bytes_ = 0;
  std::vector<Buffer> local_buffers_;
  GateInbox::Arrivals arrivals_;  // Empty but inside absorb().
};

/// Reads partitions of the same process for a gate.
class LocalReader final : public ChannelReader {
 public:
  LocalReader(std::shared_ptr<GateInbox> inbox, std::shared_ptr<const GateInbox::Source> source)
      : inbox_(std::move(inbox)), source_(std::move(source)) {}

  const Attachment& attachment() const override { return source_->attachment; }
  void prefetch() const override { inbox_->prefetch(); }
  void on_ready(const ReaderCall& call) override { inbox_->on_ready(*source_, call); }
  bool takes_at_hand() const override { return true; }
  void on_at_hand(std::vector<ProducerBuffer> buffers,
                  std::span<const ProducerSpan> producers) override {
    inbox_->on_at_hand(*source_, std::move(buffers), producers);
  }
  void on_ended(ProducerSpan producers) override {
    inbox_->on_local_ended(*source_, {&producers, 1});
  }
  void on_all_ended(std::span<const ProducerSpan> producers) override {
    inbox_->on_local_ended(*source_, producers);
  }
  void on_lost(ProducerSpan producers, const Status& cause) override {
    inbox_->on_lost(*source_, producers, cause);
  }

 private:
  const std::shared_ptr<GateInbox> inbox_;
  const std::shared_ptr<const GateInbox::Source> source_;
};

/// The gate whose producers are read while they write.
class PipelinedGate final : public InputGate {
 public:
  /// One connection's part.
  struct Remote {
    std::shared_ptr<PeerConnection> peer;
    uint32_t attachment = 0;
  };
  struct Context {
    TaskManagerId self;
    ReceiveMemory receive;  // For what comes from other processes.
    std::shared_ptr<DatasetIndex> index;
    std::shared_ptr<SegmentPool> pool;
    /// Attaches over the connection to a TaskManager, which is made if there is none.
    std::function<Result<Remote>(const ProducerLocation&, const std::shared_ptr<GateInbox>&,
                                 const std::shared_ptr<const GateInbox::Source>&)>
        connect;
    std::function<void()> on_release;
  };

  /// Attached to all its producers. kInvalidArgument for ranges that do not rise, or locations that
  /// are not there.
  static Result<std::shared_ptr<PipelinedGate>> create(const Options& options, Context context);
  PipelinedGate(const Options& options, Context context);
  ~PipelinedGate() override;

  std::optional<uint32_t> next_ready() override { return reader_->next_ready(); }
  void ready(std::vector<uint32_t>* producers) override { reader_->ready(producers); }
  std::optional<Element> take_from(uint32_t producer) override {
    return reader_->take_from(producer);
  }
  std::optional<RecordRun> begin_run(uint32_t producer, uint32_t records_max,
                                     const bool* stop) override {
    return reader_->begin_run(producer, records_max, stop);
  }
  void end_run(uint32_t producer, const RecordRun& run) override {
    reader_->end_run(producer, run);
  }
  void end_step() override { reader_->rest(); }
  bool ended() const override { return reader_->ended(); }
  std::vector<ChannelPosition> positions() const override { return reader_->positions(); }
  uint64_t records_read() const override { return reader_->records(); }
  uint64_t bytes_read() const override { return reader_->bytes(); }
  Received received() const override { return reader_->received(); }
  Load load() const override;
  Status reattach(const Move& move) override;
  void release() override;

 private:
  /// One source's way: a reader of this process or a connection; nothing once it is detached.
  struct Way {
    std::shared_ptr<LocalReader> local;
    Remote remote;
  };

  static Status check_producers(const Options& options);
  std::shared_ptr<GateInbox::Source> make_source(const ProducerLocation& location,
                                                 std::vector<AttachedProducers> producers,
                                                 const std::vector<ChannelPosition>& positions);
  Status attach_all();
  Status attach(const ProducerLocation& location, const std::shared_ptr<GateInbox::Source>& source);
  void detach(Way* way);
  void return_credit(std::vector<CreditReturn> credits);
  void refuse(const GateInbox::Source& source, const Status& cause);

  const Options options_;
  const Context context_;
  const std::shared_ptr<GateInbox> inbox_;
  std::vector<Way> ways_;  // By index of the source.
  std::unique_ptr<GateReader> reader_;
  bool released_ = false;
};

}  // namespace freshet
