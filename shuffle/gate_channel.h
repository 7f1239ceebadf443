#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shuffle/buffer.h"
#include "shuffle/element_layout.h"
#include "shuffle/gate_inbox.h"
#include "shuffle/input_gate.h"
#include "shuffle/prefetch.h"

namespace freshet {

/// A number that one thread changes and any may read.
class SharedCount {
 public:
  void add(uint64_t more) { set(get() + more); }
  void subtract(uint64_t less) { set(get() - less); }
  void clear() { set(0); }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  void set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }

  std::atomic<uint64_t> value_{0};
};

/// One channel at the consumer: makes elements of buffers. Elements that are not whole in one
/// buffer are put together on the heap, and their buffers are done with at once.
class alignas(64) GateChannel {
 public:
  /// What the channels of a gate share.
  struct Shared {
    uint32_t fixed_record_size = 0;
    bool hash = false;
    bool may_lack_hash = false;  // Of a buffer: 0 then.
    // What the views of the last element that was taken point into: the current buffer of `viewed`,
    // or one of these.
    const GateChannel* viewed = nullptr;
    std::vector<ConstBlockRef> kept_blocks;
    std::string kept_bytes;
    // Bytes of credit of buffers done with by the last call.
    uint32_t freed_bytes = 0;
    uint64_t records = 0;
    uint64_t bytes = 0;
    // Of all channels, for those who look on from other threads.
    SharedCount waiting_buffers;
    SharedCount waiting_bytes;    // Of receive blocks.
    SharedCount waiting_payload;  // Bytes.
    InputGate::Received received;
  };

  /// `source` says from which of the gate's sources it comes; `start` where it begins.
  GateChannel(Shared* shared, std::shared_ptr<const GateInbox::Source> source,
              const ChannelPosition& start)
      : shared_(*shared),
        producer_(start.peer),
        source_(std::move(source)),
        taken_(start.elements),
        taken_hash_(start.hash),
        verified_hash_(start.hash) {}

  void push(Buffer buffer) {
    note_come(buffer);
    queue_.push(std::move(buffer));
  }

  /// Something arrives for it soon.
  [[gnu::always_inline]] void prefetch_state() const { prefetch_bytes(this, kVisitedBytes); }

  /// Its turn comes soon.
  [[gnu::always_inline]] void prefetch() const {
    if (!queue_.empty()) queue_.front().prefetch();
  }

  /// Goes on until a complete element is there, or no buffer is left, or the bytes are wrong: see
  /// status().
  bool prepare();

  /// After prepare() gave true.
  Element take();

  /// The same: whole records that lie in one buffer. Nullopt when something else comes next.
  std::optional<RecordRun> begin_run(uint32_t records_max, const bool* stop);
  void end_run(const RecordRun& run);

  /// A fair turn ends where a buffer does.
  bool at_buffer_start() const { return !started_; }

  uint32_t producer() const { return producer_; }
  const GateInbox::Source& source() const { return *source_; }
  const Status& status() const { return status_; }

  /// Goes on from another source, behind the last element that was taken. What is here is dropped.
  void move_to(std::shared_ptr<const GateInbox::Source> source);
  /// Drops what is here; the views of the last element that was taken stay.
  void discard();
  bool inside_element() const { return assembling_; }
  ChannelPosition position() const { return {producer_, taken_, taken_hash_}; }

  /// In the gate's queue of turns.
  bool listed = false;

 private:
  bool fail(std::string why);
  bool start_next_buffer();
  bool continue_element();
  bool begin_element();
  bool parse_next();
  bool start_event();
  bool verify_hash();
  bool check_hash();
  bool finish_buffer();
  void drop_current();
  void note_come(const Buffer& buffer) {
    InputGate::Received& received = shared_.received;
    if (source_->local) {
      ++received.local_buffers;
      received.local_bytes += buffer.size;
    } else {
      ++received.remote_buffers;
      received.remote_bytes += buffer.size;
      shared_.waiting_bytes.add(buffer.charge());
    }
    shared_.waiting_buffers.add(1);
    shared_.waiting_payload.add(buffer.size);
  }
  void note_gone(const Buffer& buffer) {
    shared_.waiting_buffers.subtract(1);
    shared_.waiting_payload.subtract(buffer.size);
    if (!source_->local) shared_.waiting_bytes.subtract(buffer.charge());
  }
  Element take_event();
  Element take_assembled();
  void count(ElementKind kind, EpochMillis timestamp, std::string_view payload);
  void count_run(const RecordRun& run);

  const Buffer& current() const { return queue_.front(); }

  static constexpr size_t kVisitedBytes = 256;

  // Each visit needs what comes first, kVisitedBytes of it: with very many channels it waits for
  // each cache line.
  Shared& shared_;
  const uint32_t producer_;
  bool started_ = false;  // The first of queue_ is the current buffer, of which some was looked at.
  bool parsed_ = false;   // next_ is the complete record at at_.
  bool assembling_ = false;  // An element that is on the heap, complete or not.
  bool assembled_ = false;
  RecordLayout layout_;         // Of elements that start in the current buffer.
  uint32_t elements_seen_ = 0;  // Started in it.
  size_t at_ = 0;               // Next byte of it.
  std::shared_ptr<const GateInbox::Source> source_;
  BufferQueue queue_;
  RecordView next_;
  uint64_t taken_ = 0;
  Status status_;

  uint64_t taken_hash_ = 0;
  uint64_t verified_hash_ = 0;
  std::string heap_;
  RecordLayout heap_layout_;
  RecordView heap_record_;
  bool heap_header_known_ = false;
};

}  // namespace freshet
