#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "shuffle/element_layout.h"
#include "shuffle/partition_queues.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// Cuts the elements of one channel into buffers: the open block, the numbers, the hash. Closed
/// buffers go to a list of the partition, which hands them over.
class ChannelWriter {
 public:
  /// What all channels of a partition share.
  struct Shared {
    std::shared_ptr<SegmentPool> pool;
    std::shared_ptr<MemoryAccount> account;
    uint32_t fixed_record_size = 0;
    bool hash = false;
    std::function<uint64_t()> log_position;
    uint64_t channels = 0;
    std::vector<PartitionQueues::Pushed> closed;  // Not handed over yet.
    uint64_t records = 0;                         // In closed buffers, with the bytes they take.
    uint64_t bytes = 0;
  };

  ChannelWriter(Shared* shared, uint32_t subpartition, PartitionQueues::Channel* channel,
                const ChannelPosition& start)
      : shared_(*shared),
        subpartition_(subpartition),
        channel_(channel),
        first_element_(start.elements),
        hash_(start.hash),
        hash_before_(start.hash) {}

  /// Lets the encoder write in place when there is room for that.
  void begin_record(EpochMillis timestamp, Encoder* encoder);

  /// Takes in what was encoded.
  void end_record(EpochMillis timestamp, std::string_view payload);

  /// Closes the open block and puts the event behind it. `event` holds u8 kind, fields.
  void append_event(ElementKind kind, const std::shared_ptr<const Block>& event, uint32_t size);

  /// Closes the open block, if it holds anything. It fills before its time when traffic is slow:
  /// the next one is smaller.
  void flush();

  bool has_unflushed() const { return used() != 0; }
  uint64_t elements() const { return first_element_ + open_.records; }
  uint64_t hash() const { return hash_; }

  /// For records that are written in place without this class.
  RecordOutput::OpenBlock* open() { return &open_; }

  /// Membership in the partition's list of channels with unflushed bytes.
  bool listed = false;

 private:
  uint32_t used() const {
    return block_ ? static_cast<uint32_t>(open_.cursor - block_->data()) : 0;
  }
  uint32_t room() const { return block_ ? block_->capacity() - used() : 0; }
  size_t header_bytes(EpochMillis timestamp) const;
  char* put_header(char* out, EpochMillis timestamp, uint64_t payload_bytes) const;
  uint32_t block_bytes_max() const;
  void open_block();
  void close_block(uint8_t more_flags, uint64_t hash);
  void grow_block();
  bool finish_in_place(EpochMillis timestamp, std::string_view payload);
  void append_copied(EpochMillis timestamp, std::string_view payload);
  void append_spanning(std::string_view bytes);
  void start_element(EpochMillis timestamp, std::string_view payload);
  bool is_in_block(std::string_view payload) const;

  Shared& shared_;
  const uint32_t subpartition_;
  PartitionQueues::Channel* const channel_;

  std::shared_ptr<Block> block_;
  RecordOutput::OpenBlock open_;             // Where in the block.
  uint32_t block_bytes_ = kSmallBlockBytes;  // Of the next block.
  uint8_t flags_ = 0;
  uint32_t tail_bytes_ = 0;     // Of the element that began in an earlier block.
  uint32_t length_guess_ = 1;   // Bytes kept for the varint of the record under way.
  uint64_t first_element_ = 0;  // Of the open block, or the next one.
  uint64_t hash_ = 0;           // After all complete elements.
  uint64_t hash_before_ = 0;    // Before the element under way.
  size_t reserved_ = 0;         // Bytes kept before the payload in place.
};

}  // namespace freshet
