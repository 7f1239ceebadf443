#pragma once

#include <cstdint>

namespace freshet {

/// When a running aggregate is given on.
enum class Emit : uint8_t {
  updates,  // The new value, for each record.
  final,    // The last value of each key, once, at the end of the input, in serialised-key order.
};

/// Most results that an operator emits in one call of finish(), so that outputs can be drained in
/// between.
inline constexpr uint32_t kFinishBatch = 512;

}  // namespace freshet
