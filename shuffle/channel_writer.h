#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "shuffle/block_reserve.h"
#include "shuffle/element_layout.h"
#include "shuffle/partition_queues.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// What flushes have to do with a channel; see FlushLists.
enum class FlushState : uint8_t {
  kNothing,  // It has no memory.
  kWritten,  // Since the last flush.
  kFlushed,  // Nothing was written since the last flush.
  kIdle,     // Nor since the one before, and what it wrote waits.
};

/// Cuts the elements of one channel into buffers: the open block, the numbers, the hash. Buffers go
/// to a list of the partition, which hands them over. What is flushed is a piece of the open block,
/// which is written on behind it.
class ChannelWriter {
 public:
  /// What all channels of a partition share.
  struct Shared {
    std::shared_ptr<SegmentPool> pool;
    std::shared_ptr<MemoryAccount> account;
    BlockReserve reserve;  // Of small blocks, when there are many channels.
    uint32_t fixed_record_size = 0;
    bool hash = false;
    std::function<uint64_t()> log_position;
    uint64_t channels = 0;
    std::vector<PartitionQueues::Pushed> closed;  // Not handed over yet.
    uint64_t closed_bytes = 0;
    std::function<void()> hand_over;  // Empties `closed`, within a long element.
    uint64_t records = 0;             // In these buffers, with the bytes they take.
    uint64_t bytes = 0;
    uint64_t open_bytes = 0;  // Of all open blocks.
    uint64_t open_large = 0;  // How many of them are not small.
    uint32_t step = 1;        // Of the task, in which all is written now.
    /// The largest block that each channel may have.
    uint32_t fair_block_bytes();
    uint32_t fair_bytes = 0;  // 0: to be computed again; at the latest in each step.
    // Those who read what is written to all; null: each channel is for one.
    const std::vector<PartitionQueues::Channel*>* readers = nullptr;
  };

  /// `open` is where records are written in place, without this class.
  ChannelWriter(Shared* shared, RecordOutput::OpenBlock* open, uint32_t subpartition,
                PartitionQueues::Channel* channel, const ChannelPosition& start)
      : shared_(*shared),
        open_(*open),
        subpartition_(subpartition),
        channel_(channel),
        first_element_(start.elements),
        hash_(start.hash),
        hash_before_(start.hash) {}

  /// Lets the encoder write in place when there is room for that.
  void begin_record(EpochMillis timestamp, Encoder* encoder);

  /// Takes in what was encoded. Throws CodecError when it has not the size that all have, or more
  /// than kRecordBytesMax; nothing may be written to the partition any more then.
  void end_record(EpochMillis timestamp, std::string_view payload);

  /// Puts the event behind all that was written. `event` holds u8 kind, fields.
  void append_event(ElementKind kind, const ConstBlockRef& event, uint32_t size);

  /// Cuts off what was written since. Until begin_record() nothing is written in place then: the
  /// first record after a flush is seen.
  void flush();
  /// Of a block in which nothing was written since flush(): false while something of it waits, so
  /// that it is not free anyway and may as well be filled.
  bool may_close_unwritten() const;
  /// The same as flush(), and the block goes.
  void close();
  /// The same for a block that is larger than a new one would be.
  void close_if_too_large();

  PartitionQueues::Channel* queue() const { return channel_; }
  bool is_for_all() const { return shared_.readers != nullptr; }
  /// Then nothing is left of what was written before that step.
  bool was_cut_in(uint32_t step) const { return cut_in_step_ == step; }
  bool has_block() const { return static_cast<bool>(block_); }
  uint64_t elements() const { return first_element_ + open_.records; }
  uint64_t hash() const { return hash_; }

  FlushState flush_state = FlushState::kNothing;

 private:
  /// Bytes of the block, and those of them that no buffer has.
  uint32_t filled() const {
    return block_ ? static_cast<uint32_t>(open_.cursor - block_->data()) : 0;
  }
  uint32_t used() const { return block_ ? filled() - cut_at_ : 0; }
  uint32_t room() const { return block_ ? block_->capacity() - filled() : 0; }
  size_t header_bytes(EpochMillis timestamp) const;
  char* put_header(char* out, EpochMillis timestamp, uint64_t payload_bytes) const;
  uint32_t block_bytes_max() const;
  bool may_be_as_large(uint32_t block_bytes) const {
    return block_bytes == kSmallBlockBytes || block_bytes <= block_bytes_max();
  }
  void open_block();
  /// From here on records are written in place, without this class.
  void open_in_place();
  /// May the block be kept when nothing is left to cut off?
  bool may_keep() const;
  /// `block`: the open one, or what is left of it when nothing more is written there.
  void cut(ConstBlockRef block, uint8_t more_flags, uint64_t hash);
  void close_block(uint8_t more_flags, uint64_t hash);
  void close_full_block(uint8_t more_flags, uint64_t hash);
  bool finish_in_place(EpochMillis timestamp, std::string_view payload);
  void append_copied(EpochMillis timestamp, std::string_view payload);
  void append_spanning(std::string_view bytes);
  void start_element(EpochMillis timestamp, std::string_view payload);
  bool is_in_block(std::string_view payload) const;

  Shared& shared_;
  RecordOutput::OpenBlock& open_;  // Where in the block.
  const uint32_t subpartition_;
  PartitionQueues::Channel* const channel_;

  BlockRef block_;
  uint32_t block_bytes_ = kSmallBlockBytes;  // Of the next block.
  uint32_t cut_at_ = 0;                      // Where in the block the next buffer begins.
  uint32_t flushes_ = 0;                     // Of the block.
  uint32_t cut_in_step_ = 0;                 // The last cut.
  uint8_t flags_ = 0;
  uint32_t tail_bytes_ = 0;     // Of the element that began in an earlier block.
  uint32_t length_guess_ = 1;   // Bytes kept for the varint of the record under way.
  uint64_t first_element_ = 0;  // Of the open block, or the next one.
  uint64_t hash_ = 0;           // After all complete elements.
  uint64_t hash_before_ = 0;    // Before the element under way.
  size_t reserved_ = 0;         // Bytes kept before the payload in place.
};

}  // namespace freshet
