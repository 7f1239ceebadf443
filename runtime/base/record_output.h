#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "runtime/base/encoding.h"
#include "runtime/base/record_layout.h"

namespace freshet {

/// Where the encoded records of one edge go, a channel per consumer. Whoever knows the type of the
/// records writes them straight into a channel's open block, while there is room; the rest is
/// behind begin_record() and end_record().
///
/// Belongs to one thread.
class RecordOutput {
 public:
  /// What the short way takes at most: as much as a length of one byte can say.
  static constexpr size_t kSmallRecordBytes = 127;

  /// What is open in one channel.
  struct OpenBlock {
    char* cursor = nullptr;  // Behind the last record.
    char* end = nullptr;     // At or before the cursor when nothing may be written here.
    uint32_t records = 0;    // Started in this block.
    bool timestamps = false;
    bool small = true;  // The last record was.
  };

  explicit RecordOutput(uint32_t channels)
      : pages_((static_cast<size_t>(channels) + kPage - 1) / kPage) {}
  virtual ~RecordOutput() = default;
  RecordOutput(const RecordOutput&) = delete;
  RecordOutput& operator=(const RecordOutput&) = delete;

  /// Starts a record for one consumer; encode it, then end_record(). One at a time.
  virtual Encoder& begin_record(uint32_t channel, EpochMillis timestamp) = 0;
  virtual void end_record() = 0;

  /// Writes a record: `encode(Encoder&)`. `fixed_size` is that of all records, or 0.
  template <class Encode>
  void write(uint32_t channel, EpochMillis timestamp, uint32_t fixed_size, Encode&& encode) {
    OpenBlock* open = open_block(channel);
    if (open == nullptr || !write_in_place(*open, timestamp, fixed_size, encode)) [[unlikely]]
      write_elsewhere(channel, timestamp, encode);
  }

  /// Writes a record that is encoded as the bytes that it is.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void write_plain(uint32_t channel, EpochMillis timestamp, const T& record) {
    OpenBlock* const open = open_block(channel);
    if (open != nullptr && timestamp == kNoTimestamp && !open->timestamps &&
        open->end - open->cursor >= static_cast<ptrdiff_t>(sizeof(T))) [[likely]] {
      std::memcpy(open->cursor, &record, sizeof(T));
      open->cursor += sizeof(T);
      ++open->records;
      return;
    }
    const auto encode = [&record](Encoder& encoder) { encoder.write_fixed(record); };
    write(channel, timestamp, sizeof(T), encode);
  }

 protected:
  /// A channel's; it stays where it is as long as the output.
  OpenBlock* make_open_block(uint32_t channel) {
    auto& page = pages_[channel / kPage];
    if (!page) page = std::make_unique<Page>();
    return &(*page)[channel % kPage];
  }

 private:
  static constexpr size_t kPage = 64;
  // In place, so that going through the channels in turn is going through memory.
  using Page = std::array<OpenBlock, kPage>;

  /// Null when none was made near it.
  OpenBlock* open_block(uint32_t channel) const {
    const size_t index = channel / kPage;
    if (index >= pages_.size() || !pages_[index]) return nullptr;
    return &(*pages_[index])[channel % kPage];
  }

  template <class Encode>
  [[gnu::noinline]] void write_elsewhere(uint32_t channel, EpochMillis timestamp, Encode& encode) {
    encode(begin_record(channel, timestamp));
    end_record();
  }

  template <class Encode>
  bool write_in_place(OpenBlock& open, EpochMillis timestamp, uint32_t fixed_size,
                      Encode&& encode) {
    const bool timed = timestamp != kNoTimestamp;
    char* at = open.cursor;
    const size_t payload_max = fixed_size == 0 ? kSmallRecordBytes : fixed_size;
    if (open.end - at < static_cast<ptrdiff_t>(kTimestampBytes + 1 + payload_max) ||
        timed != open.timestamps || (fixed_size == 0 && !open.small))
      return false;
    if (timed) {
      std::memcpy(at, &timestamp, kTimestampBytes);
      at += kTimestampBytes;
    }
    char* const payload = fixed_size == 0 ? at + 1 : at;
    encoder_.start(payload, payload + payload_max);
    encode(encoder_);
    const std::string_view bytes = encoder_.bytes();
    if (bytes.data() != payload) return false;
    if (fixed_size == 0) {
      *at = static_cast<char>(bytes.size());
    } else if (bytes.size() != fixed_size) {
      return false;
    }
    open.cursor = payload + bytes.size();
    ++open.records;
    return true;
  }

  Encoder encoder_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace freshet
