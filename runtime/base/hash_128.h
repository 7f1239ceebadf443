#pragma once

#include <cstdint>
#include <string_view>

namespace freshet {

/// So many bits that different bytes never share them by chance. Not against forgery.
struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const Hash128&) const = default;
};

/// XXH3 with seed 0.
Hash128 hash_128(std::string_view bytes);

}  // namespace freshet
