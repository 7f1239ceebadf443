#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace freshet {

/// Producers [begin, end).
struct ProducerSpan {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const ProducerSpan&) const = default;
};

/// What is in `spans` and in `others`, and what is in `spans` only; all rising and disjoint. Both
/// cost as many steps as there are spans.
std::vector<ProducerSpan> common_spans(std::span<const ProducerSpan> spans,
                                       std::span<const ProducerSpan> others);
std::vector<ProducerSpan> spans_without(std::span<const ProducerSpan> spans,
                                        std::span<const ProducerSpan> others);

/// A set of producers as few spans: sorted, disjoint, not adjacent.
class ProducerSet {
 public:
  /// Returns how many producers were not in it before.
  uint32_t add(ProducerSpan span);
  /// All of them; those that rise cost a step each, and one for each that is there.
  void add_all(std::span<const ProducerSpan> spans);
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
  void merge(std::span<const ProducerSpan> rising);
  /// The first span that ends behind `producer`.
  std::vector<ProducerSpan>::const_iterator first_behind(uint32_t producer) const;

  std::vector<ProducerSpan> spans_;
  uint64_t size_ = 0;
};

}  // namespace freshet
