#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace freshet::fuzz {

/// The bytes of one run, taken from the front. Behind their end there are zeros.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value{};
    const std::string_view bytes = take(sizeof(T));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  uint8_t byte() { return number<uint8_t>(); }
  std::string_view take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Up to the next line end, which is taken, too.
  std::string_view line() {
    const std::string_view taken = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(rest_.size(), taken.size() + 1));
    return taken;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Sizes of the pieces in which a stream arrives: for 0 all at once, for all others a mix of very
/// small and larger ones.
class Cuts {
 public:
  explicit Cuts(uint8_t seed) : state_(seed) {}

  size_t next(size_t available) {
    if (state_ == 0) return available;
    state_ = state_ * 1664525u + 1013904223u;
    const uint32_t chosen = state_ >> 16;
    const size_t size = chosen % 4 == 0 ? chosen % 4096 : 1 + chosen % 48;
    return std::min(available, size);
  }

 private:
  uint32_t state_;
};

}  // namespace freshet::fuzz
