#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/base/codec.h"
#include "runtime/base/encoding.h"
#include "runtime/base/hash.h"
#include "runtime/base/short_text.h"

namespace freshet {

namespace key_hash_detail {

template <class K>
[[gnu::noinline]] uint64_t hash_encoded(const K& key, Encoder& scratch) {
  constexpr size_t kBytesInPlace = 128;  // Longer keys take memory of the encoder.
  char bytes[kBytesInPlace];
  scratch.start(bytes, bytes + sizeof(bytes));
  Codec<K>::encode(key, scratch);
  const uint64_t hash = hash_key(scratch.bytes());
  scratch.start(nullptr, nullptr);  // The memory is gone when this returns.
  return hash;
}

}  // namespace key_hash_detail

/// hash_key() of the key's encoding: where the bytes of short keys are known, they are not written
/// first. `scratch` is the caller's.
template <class K>
inline uint64_t hash_key_value(const K& key, Encoder& scratch) {
  if constexpr (std::is_same_v<K, std::string>) {
    if (key.size() <= kShortTextBytes) {  // One byte of length, then the text.
      const uint64_t low = load_word(key.data());
      const uint64_t high = load_word(key.data() + 8);
      return hash_words(low << 8 | key.size(), high << 8 | low >> 56, key.size() + 1);
    }
  } else if constexpr (std::is_integral_v<K>) {
    char bytes[sizeof(K)];
    std::memcpy(bytes, &key, sizeof(K));
    return hash_key({bytes, sizeof(K)});
  }
  return key_hash_detail::hash_encoded(key, scratch);
}

}  // namespace freshet
