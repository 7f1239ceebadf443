#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "runtime/base/record_output.h"
#include "shuffle/region_buffer.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// One channel of a blocking partition: what is written to it collects in chunks of the partition's
/// memory, until that is full and becomes a region of the file. Exists from its first record.
class BlockingChannel {
 public:
  /// What all channels of a partition share.
  struct Shared {
    RegionBuffer memory;
    uint32_t fixed_record_size = 0;
    std::vector<BlockingChannel*> written;  // Those that have chunks.
    std::function<void()> end_region;       // Empties `memory` and takes all chunks.
  };

  /// `open` is where records are written in place, without this class.
  BlockingChannel(Shared* shared, RecordOutput::OpenBlock* open, uint32_t subpartition,
                  const ChannelPosition& start)
      : shared_(*shared),
        open_(*open),
        subpartition_(subpartition),
        elements_(start.elements),
        hash_(start.hash) {}

  /// The next record has a timestamp or not.
  void begin_record(EpochMillis timestamp);
  /// Takes in what was encoded, which is not in place.
  void end_record(EpochMillis timestamp, std::string_view payload);

  /// Closes what is open and gives away all chunks, in order; null if there are none.
  RegionChunk* take_chunks();

  /// Counts an event that all consumers get.
  void count_event(ElementKind kind, std::string_view payload);

  uint32_t subpartition() const { return subpartition_; }
  /// Right when nothing is open.
  uint64_t elements() const { return elements_ + open_.records; }
  uint64_t hash() const { return hash_; }

 private:
  uint32_t room() const {
    return chunk_ == nullptr
               ? 0
               : chunk_->capacity - static_cast<uint32_t>(open_.cursor - chunk_->data());
  }
  void open_chunk(size_t least);
  /// Takes what was written in place into the hash.
  void hash_written();
  void close_chunk(uint8_t more_flags, uint64_t hash);
  void close();
  void append_spanning(std::string_view bytes, uint64_t hash_before);

  Shared& shared_;
  RecordOutput::OpenBlock& open_;
  const uint32_t subpartition_;

  RegionChunk* chunk_ = nullptr;  // The open one.
  const char* hashed_ = nullptr;  // In it: what is before is in `hash_`.
  RegionChunk* first_ = nullptr;  // Of those that are closed.
  RegionChunk* last_ = nullptr;
  uint32_t chunk_bytes_ = RegionBuffer::kChunkBytesMin;  // Of the next one.
  bool inside_element_ = false;
  uint64_t elements_ = 0;  // Before the open chunk.
  uint64_t hash_ = 0;
};

}  // namespace freshet
