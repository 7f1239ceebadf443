#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace freshet {

namespace hash_detail {

// XXH3 of at most 16 bytes, with seed 0 and its default secret: inlined, since it is called for
// each record.

inline constexpr size_t kShortBytes = 16;

inline uint64_t hash_1_to_3(uint32_t first, uint32_t middle, uint32_t last, size_t size) {
  uint64_t h = (first << 16 | middle << 24 | last | static_cast<uint32_t>(size) << 8) ^ 0x87275A9Bu;
  h = (h ^ (h >> 33)) * 0xC2B2AE3D27D4EB4Full;
  h = (h ^ (h >> 29)) * 0x165667B19E3779F9ull;
  return h ^ (h >> 32);
}

inline uint64_t hash_4_to_8(uint32_t first, uint32_t last, size_t size) {
  constexpr uint64_t kMultiplier = 0x9FB21C651E98DF25ull;
  uint64_t h = (last + (static_cast<uint64_t>(first) << 32)) ^ 0xC73AB174C5ECD5A2ull;
  h ^= (h << 49 | h >> 15) ^ (h << 24 | h >> 40);
  h *= kMultiplier;
  h ^= (h >> 35) + size;
  h *= kMultiplier;
  return h ^ (h >> 28);
}

inline uint64_t hash_9_to_16(uint64_t first, uint64_t last, size_t size) {
  const uint64_t low = first ^ 0x6782737BEA4239B9ull;
  const uint64_t high = last ^ 0xAF56BC3B0996523Aull;
  const auto product = static_cast<unsigned __int128>(low) * high;
  uint64_t h = size + __builtin_bswap64(low) + high +
               (static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64));
  h = (h ^ (h >> 37)) * 0x165667919E3779F9ull;
  return h ^ (h >> 32);
}

uint64_t hash_long(std::string_view bytes);

template <class Word>
Word load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

}  // namespace hash_detail

/// XXH3 with seed 0 of serialised bytes. The same in every process, version and machine: routing,
/// key groups and stored fingerprints depend on it.
inline uint64_t hash_bytes(std::string_view bytes) {
  const char* const begin = bytes.data();
  const size_t size = bytes.size();
  if (size > hash_detail::kShortBytes || size == 0) return hash_detail::hash_long(bytes);
  const char* const end = begin + size;
  if (size > 8)
    return hash_detail::hash_9_to_16(hash_detail::load<uint64_t>(begin),
                                     hash_detail::load<uint64_t>(end - 8), size);
  if (size > 3)
    return hash_detail::hash_4_to_8(hash_detail::load<uint32_t>(begin),
                                    hash_detail::load<uint32_t>(end - 4), size);
  return hash_detail::hash_1_to_3(hash_detail::load<uint8_t>(begin),
                                  hash_detail::load<uint8_t>(begin + size / 2),
                                  hash_detail::load<uint8_t>(end - 1), size);
}

/// hash_bytes() of the first 1 to 16 bytes of two little-endian words; what is behind is ignored.
inline uint64_t hash_words(uint64_t low, uint64_t high, size_t size) {
  if (size > 8) {
    const auto both = static_cast<unsigned __int128>(high) << 64 | low;
    return hash_detail::hash_9_to_16(low, static_cast<uint64_t>(both >> (8 * (size - 8))), size);
  }
  if (size > 3) {
    const auto last = static_cast<uint32_t>(low >> (8 * (size - 4)));
    return hash_detail::hash_4_to_8(static_cast<uint32_t>(low), last, size);
  }
  const auto byte = [low](size_t index) { return static_cast<uint8_t>(low >> (8 * index)); };
  return hash_detail::hash_1_to_3(byte(0), byte(size / 2), byte(size - 1), size);
}

/// The hash of a key from its serialised form; what `key_group_of` takes.
inline uint64_t hash_key(std::string_view serialised_key) { return hash_bytes(serialised_key); }

/// Order-dependent mix of a running hash with one more value.
inline uint64_t hash_combine(uint64_t running, uint64_t value) {
  uint64_t h = running ^ (value * 0x9E3779B97F4A7C15ull);
  h = (h << 29 | h >> 35) * 0xBF58476D1CE4E5B9ull;
  return h ^ (h >> 32);
}

/// 128 bits of XXH3 as 32 hex digits: names a module by its content. Not against forgery.
std::string content_hash(std::string_view bytes);

}  // namespace freshet
