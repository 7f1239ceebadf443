#include "runtime/base/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freshet {

uint64_t hash_detail::hash_long(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace freshet
