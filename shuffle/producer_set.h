#pragma once

#include <cstdint>
#include <vector>

namespace freshet {

/// Producers [begin, end).
struct ProducerSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const ProducerSpan&) const = default;
};

/// A set of producers as few spans: sorted, disjoint, not adjacent.
class ProducerSet {
 public:
  /// Returns how many producers were not in it before.
  uint32_t add(ProducerSpan span);
  void remove(ProducerSpan span);
  bool contains(uint32_t producer) const;
  uint64_t size() const { return size_; }
  bool empty() const { return spans_.empty(); }
  const std::vector<ProducerSpan>& spans() const { return spans_; }
  void clear();

  /// The parts of `span` that are not in the set, rising.
  std::vector<ProducerSpan> missing_in(ProducerSpan span) const;

  /// The parts of `span` that are in the set, rising.
  std::vector<ProducerSpan> common_with(ProducerSpan span) const;

 private:
  std::vector<ProducerSpan> spans_;
  uint64_t size_ = 0;
};

}  // namespace freshet
