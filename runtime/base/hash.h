#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace freshet {

/// XXH3 with seed 0 of serialised bytes. The same in every process, version and machine: routing,
/// key groups and stored fingerprints depend on it.
uint64_t hash_bytes(std::string_view bytes);

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
