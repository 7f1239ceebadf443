#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet {

/// For set_buffer_timeout(): a buffer is sent when it is full, and not before. All negative
/// durations and Duration::max() say the same.
inline constexpr Duration kNoBufferTimeout = Duration(-1);

/// Of edges, where time sends nothing.
inline constexpr uint64_t kNeverFlushedByTime = ~0ull;

inline constexpr uint64_t kBufferTimeoutMsMax = 86'400'000;  // A day.

/// What an edge has for it: 0 sends each record by itself, parts of a millisecond are rounded up.
/// More than a day is kInvalidArgument, with what is allowed.
Result<uint64_t> buffer_timeout_ms_of(Duration);

}  // namespace freshet
