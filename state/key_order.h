#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

/// The first bytes of a key as a number: two keys with different ones are ordered as these are.
uint64_t key_prefix(std::string_view key);

/// Serialised keys in the order of their bytes: the order of every iteration over keyed state, so
/// that it depends on no hash table, process or history. All bytes lie in one piece.
class KeyOrder {
 public:
  /// Memory per key, beside its bytes.
  static constexpr size_t kBytesPerKey = 24;

  /// `row` is the caller's.
  void add(std::string_view serialised_key, uint32_t row);

  /// After the last add().
  void sort();

  size_t size() const { return spans_.size(); }
  std::string_view operator[](size_t index) const {
    const Span& span = spans_[index];
    return {bytes_.data() + span.begin, span.size};
  }
  uint32_t row(size_t index) const { return spans_[index].row; }

 private:
  struct Span {
    uint64_t prefix;  // See key_prefix().
    uint64_t begin;
    uint32_t size;
    uint32_t row;
  };
  static_assert(sizeof(Span) == kBytesPerKey);

  std::string bytes_;
  std::vector<Span> spans_;
};

}  // namespace freshet
