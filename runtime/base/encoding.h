#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/base/short_text.h"

namespace freshet {

/// Appends the bytes of one element, little-endian, to memory that somebody else owns; when that is
/// full, what was written moves to a buffer of its own, so that an element never fails to be
/// encoded.
class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Starts an element at `begin`; up to `end` may be written in place. The memory must live until
  /// `take` or the next `start`.
  void start(char* begin, char* end) {
    begin_ = cursor_ = begin;
    end_ = end;
  }

  void write(const void* bytes, size_t size) {
    if (static_cast<size_t>(end_ - cursor_) < size) [[unlikely]]
      grow(size);
    std::memcpy(cursor_, bytes, size);
    cursor_ += size;
  }

  template <class T>
  void write_fixed(const T& value) {
    write(&value, sizeof(T));
  }

  /// LEB128, 1 to 10 bytes.
  void write_varint(uint64_t value) {
    while (value >= 0x80) {
      write_byte(static_cast<uint8_t>(value) | 0x80);
      value >>= 7;
    }
    write_byte(static_cast<uint8_t>(value));
  }

  void write_byte(uint8_t byte) {
    if (cursor_ == end_) [[unlikely]]
      grow(1);
    *cursor_++ = static_cast<char>(byte);
  }

  void write_string(std::string_view text) {
    write_varint(text.size());
    write(text.data(), text.size());
  }

  /// The same, without a call when the text is short.
  void write_text(const std::string& text) {
    const size_t size = text.size();
    if (size > kShortTextBytes || end_ - cursor_ < static_cast<ptrdiff_t>(1 + kReadableBytes)) {
      write_string(text);
      return;
    }
    char* const to = cursor_;
    to[0] = static_cast<char>(size);
    std::memcpy(to + 1, text.data(), kReadableBytes);
    cursor_ = to + 1 + size;
  }

  /// All bytes since `start`, valid until the next call of a non-const function.
  std::string_view bytes() const { return {begin_, static_cast<size_t>(cursor_ - begin_)}; }

  /// False once the element outgrew the memory that `start` gave.
  bool in_place() const { return begin_ != overflow_.get() || begin_ == nullptr; }

 private:
  void grow(size_t more);

  char* begin_ = nullptr;
  char* cursor_ = nullptr;
  char* end_ = nullptr;
  std::unique_ptr<char[]> overflow_;  // Kept between elements.
  size_t overflow_size_ = 0;
};

/// Bytes that are no valid encoding. Thrown by codecs only and caught where elements are read: user
/// codecs throw too.
class CodecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads one element. Throws CodecError rather than reading too far.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes)
      : cursor_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  void read(void* to, size_t size) { std::memcpy(to, take(size), size); }

  template <class T>
  T read_fixed() {
    T value;
    read(&value, sizeof(T));
    return value;
  }

  uint64_t read_varint() {
    if (cursor_ != end_ && static_cast<uint8_t>(*cursor_) < 0x80) [[likely]]
      return static_cast<uint8_t>(*cursor_++);
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(*take(1));
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail("a varint is longer than ten bytes");
  }

  std::string_view read_string() { return read_bytes(read_varint()); }

  /// The same, into an old text.
  void read_text(std::string& to) {
    if (cursor_ != end_) [[likely]] {
      const auto size = static_cast<uint8_t>(*cursor_);  // When it is that of a short text.
      if (assign_short_text(to, cursor_ + 1, size, remaining() - 1)) [[likely]] {
        cursor_ += 1 + size;
        return;
      }
    }
    read_any_text(to);
  }

  /// A view into the element's bytes.
  std::string_view read_bytes(uint64_t size) { return {take(size), static_cast<size_t>(size)}; }

  size_t remaining() const { return static_cast<size_t>(end_ - cursor_); }

 private:
  const char* take(uint64_t size) {
    if (size > remaining()) [[unlikely]]
      fail("an element ends too early");
    const char* at = cursor_;
    cursor_ += size;
    return at;
  }
  void read_any_text(std::string& to);
  [[noreturn]] static void fail(const char* why);

  const char* cursor_;
  const char* end_;
};

}  // namespace freshet
