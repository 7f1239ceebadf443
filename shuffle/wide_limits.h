#pragma once

#include <cstddef>
#include <cstdint>

namespace freshet {

/// From which size on channels are not served one by one; see "Wide gates" in README.md. Tests
/// lower them, so that small jobs behave as large ones.
struct WideLimits {
  uint64_t windows_max = 64;    // Channels of a gate from elsewhere that always have memory.
  bool windows_if_room = true;  // More have it where there is enough.
  size_t readers_at_once = 64;  // Of a dataset; more are told of ends and losses in rounds.
};

}  // namespace freshet
