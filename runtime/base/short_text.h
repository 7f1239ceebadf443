#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace freshet {

// A std::string keeps a short text within itself. For such texts a few instructions do what the
// standard library does with calls; others take the usual way. Words are little-endian.

/// Bytes of a text that is short.
inline constexpr size_t kShortTextBytes = 15;

/// So many bytes may be read at data() of every std::string; what is behind its text is anything.
inline constexpr size_t kReadableBytes = kShortTextBytes + 1;
static_assert(sizeof(std::string) >= kReadableBytes + 2 * sizeof(void*));

inline uint64_t load_word(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

/// a == b.
inline bool equal_texts(const std::string& a, const std::string& b) {
  const size_t size = a.size();
  if (size != b.size()) return false;
  if (size > kShortTextBytes) return a == b;
  if (size == 0) return true;
  const uint64_t low = load_word(a.data()) ^ load_word(b.data());
  if (size <= 8) return low << (64 - 8 * size) == 0;
  const uint64_t high = load_word(a.data() + 8) ^ load_word(b.data() + 8);
  return (low | high << (128 - 8 * size)) == 0;
}

namespace short_text_detail {

/// The first kCopied bytes at `from` hold the text, and `to` holds its own within itself.
template <size_t kCopied>
void assign_copied(std::string& to, const char* from, size_t size) {
  // Made of a text whose length is a constant, and then shortened: all of that is inlined.
  static constexpr char kBlank[kReadableBytes] = {};
  std::destroy_at(&to);
  std::construct_at(&to, kBlank, kShortTextBytes);
  std::memcpy(to.data(), from, kCopied);
  to.resize(size);
}

}  // namespace short_text_detail

/// to.assign(from, size), where `readable` bytes may be read at `from`; false when that takes a
/// call.
inline bool assign_short_text(std::string& to, const char* from, size_t size, size_t readable) {
  if (to.capacity() > kShortTextBytes) return false;  // It keeps its memory.
  if (size <= 8 && readable >= 8) {
    short_text_detail::assign_copied<8>(to, from, size);
    return true;
  }
  if (size > kShortTextBytes || readable < kShortTextBytes) return false;
  short_text_detail::assign_copied<kShortTextBytes>(to, from, size);
  return true;
}

}  // namespace freshet
