#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/time.h"

namespace freshet {

/// What flows through a channel, in order. Records travel back to back in data frames; everything
/// else is an event, in a frame of its own, which needs no credit. All but barriers are numbered.
enum class ElementKind : uint8_t {
  kRecord = 0,
  kWatermark = 1,  // i64 event time.
  kStatus = 2,     // u8: 1 active, 0 idle.
  kEndOfData = 3,  // The producer has no more data for anybody.
  kBarrier =
      4,  // u64 checkpoint id, u64 position: the number of elements before it. Not numbered itself.
};

/// One element as it comes out of a gate. `payload` (a record's encoding, or an event's fields) is
/// valid until the gate is asked for the next one.
struct Element {
  ElementKind kind = ElementKind::kRecord;
  uint32_t producer = 0;  // Subtask of the producing vertex.
  EpochMillis timestamp = INT64_MIN;
  std::string_view payload;
};

}  // namespace freshet
