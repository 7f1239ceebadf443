#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

/// Serialised keys in the order of their bytes: the order of every iteration over keyed state, so
/// that it depends on no hash table, process or history. All bytes lie in one piece.
class KeyOrder {
 public:
  void add(std::string_view serialised_key);

  /// After the last add().
  void sort();

  size_t size() const { return spans_.size(); }
  std::string_view operator[](size_t index) const {
    const Span& span = spans_[index];
    return {bytes_.data() + span.begin, span.size};
  }

 private:
  struct Span {
    uint64_t begin;
    uint64_t size;
  };

  std::string bytes_;
  std::vector<Span> spans_;
};

}  // namespace freshet
