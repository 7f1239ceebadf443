#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "shuffle/element.h"

namespace freshet {

// Bytes of one record in a data frame:
//
//   record := [i64 timestamp]   when the frame in which it starts has kFrameHasTimestamps
//             [varint length]   unless records have a fixed size
//             payload
//
// and of an event frame's payload:
//
//   event := u8 ElementKind, fields

inline constexpr size_t kTimestampBytes = 8;
inline constexpr size_t kVarintBytesMax = 10;
inline constexpr size_t kRecordHeaderBytesMax = kTimestampBytes + kVarintBytesMax;
inline constexpr uint64_t kRecordBytesMax = uint64_t{1} << 31;
inline constexpr EpochMillis kNoTimestamp = INT64_MIN;

/// How the records of one channel are laid out.
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

/// Writes `value` in exactly `varint_size(value)` bytes.
char* put_varint(char* out, uint64_t value);

}  // namespace freshet
