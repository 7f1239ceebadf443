#include "runtime/base/hash.h"

#include <fmt/format.h>

#include "runtime/base/hash_128.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace freshet {

uint64_t hash_detail::hash_long(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hash128 hash_128(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string content_hash(std::string_view bytes) {
  const Hash128 hash = hash_128(bytes);
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace freshet
