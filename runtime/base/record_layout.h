#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/base/time.h"

namespace freshet {

// Bytes of one record in a buffer:
//
//   record := [i64 timestamp]   in buffers whose records have timestamps
//             [varint length]   unless records have a fixed size
//             payload

inline constexpr size_t kTimestampBytes = 8;
inline constexpr size_t kVarintBytesMax = 10;
inline constexpr size_t kRecordHeaderBytesMax = kTimestampBytes + kVarintBytesMax;
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 31;

/// How the records of one buffer are laid out.
struct RecordLayout {
  uint32_t fixed_size = 0;  // 0: each has its length before it.
  bool timestamps = false;
};

enum class ParseResult { kComplete, kIncomplete, kInvalid };

/// Where a record's parts are.
struct RecordView {
  EpochMillis timestamp = kNoTimestamp;
  size_t header_bytes = 0;
  uint64_t payload_bytes = 0;  // Known once the header is complete.
};

/// Reads the header only; kComplete says nothing about the payload.
inline ParseResult parse_record_header(RecordLayout layout, std::string_view bytes,
                                       RecordView* record) {
  size_t at = 0;
  record->timestamp = kNoTimestamp;
  if (layout.timestamps) {
    if (bytes.size() < kTimestampBytes) return ParseResult::kIncomplete;
    std::memcpy(&record->timestamp, bytes.data(), kTimestampBytes);
    at = kTimestampBytes;
  }
  record->payload_bytes = layout.fixed_size;
  if (layout.fixed_size == 0) {
    uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      if (shift > 35) return ParseResult::kInvalid;
      if (at == bytes.size()) return ParseResult::kIncomplete;
      const auto byte = static_cast<uint8_t>(bytes[at++]);
      length |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    if (length > kRecordBytesMax) return ParseResult::kInvalid;
    record->payload_bytes = length;
  }
  record->header_bytes = at;
  return ParseResult::kComplete;
}

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

/// Writes `value` in exactly `varint_size(value)` bytes; returns what is behind them.
inline char* put_varint(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(static_cast<uint8_t>(value) | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

/// Records of one channel that lie back to back in one buffer, read in place: by whoever knows
/// their type, one after the other, as long as next() gives one.
class RecordRun {
 public:
  RecordRun() = default;
  /// At most `records_max` (at least 1) of what is in `bytes`, whose last record may be cut off.
  /// The run stops early once `*stop`.
  RecordRun(RecordLayout layout, std::string_view bytes, uint32_t records_max, const bool* stop)
      : layout_(layout),
        begin_(bytes.data()),
        cursor_(bytes.data()),
        end_(bytes.data() + bytes.size()),
        records_max_(records_max),
        stop_(stop) {}

  /// The payload of the next record; from then on it counts as taken. False when there is none that
  /// is whole, or the run is at its end.
  [[gnu::noinline]] bool next(std::string_view* payload, EpochMillis* timestamp) {
    if (next_small(payload, timestamp)) return true;
    if (records_ == records_max_ || *stop_) return false;
    RecordView record;
    const std::string_view rest{cursor_, static_cast<size_t>(end_ - cursor_)};
    if (parse_record_header(layout_, rest, &record) != ParseResult::kComplete ||
        record.payload_bytes > rest.size() - record.header_bytes)
      return false;
    take(record.timestamp, rest.substr(record.header_bytes, record.payload_bytes), payload,
         timestamp);
    return true;
  }

  /// The same for whoever wants it inlined. False also when the length of the next record takes
  /// more than one byte.
  bool next_small(std::string_view* payload, EpochMillis* timestamp) {
    if (records_ == records_max_ || *stop_) return false;
    const char* at = cursor_;
    EpochMillis time = kNoTimestamp;
    if (layout_.timestamps) {
      if (end_ - at < static_cast<ptrdiff_t>(kTimestampBytes)) return false;
      std::memcpy(&time, at, kTimestampBytes);
      at += kTimestampBytes;
    }
    uint32_t size = layout_.fixed_size;
    if (size == 0) {
      if (at == end_) return false;
      size = static_cast<uint8_t>(*at++);
      if (size >= 0x80) return false;
    }
    if (size > static_cast<size_t>(end_ - at)) return false;
    take(time, {at, size}, payload, timestamp);
    return true;
  }

  /// The next records as they lie there, when they have a fixed size and no timestamps: at most
  /// `records_max`. Nothing when next() gives nothing, or they are otherwise.
  std::string_view next_plain(uint32_t records_max) {
    const size_t size = layout_.fixed_size;
    if (size == 0 || layout_.timestamps || *stop_) return {};
    const size_t most = std::min(records_max, records_max_ - records_);
    const size_t count = std::min(most, static_cast<size_t>(end_ - cursor_) / size);
    const std::string_view bytes(cursor_, count * size);
    records_ += static_cast<uint32_t>(count);
    cursor_ += bytes.size();
    return bytes;
  }

  /// Taken so far, and their bytes with their headers.
  uint32_t records() const { return records_; }
  size_t bytes() const { return static_cast<size_t>(cursor_ - begin_); }

 private:
  void take(EpochMillis time, std::string_view bytes, std::string_view* payload,
            EpochMillis* timestamp) {
    ++records_;
    *timestamp = time;
    *payload = bytes;
    cursor_ = bytes.data() + bytes.size();
  }

  RecordLayout layout_;
  const char* begin_ = nullptr;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;
  uint32_t records_ = 0;
  uint32_t records_max_ = 0;
  const bool* stop_ = nullptr;
};

}  // namespace freshet
