#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace freshet {

/// Disjoint sets of the numbers below a size; joined by size, with path halving.
class UnionFind {
 public:
  explicit UnionFind(uint32_t size) : parent_(size), size_(size, 1) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }

  /// One member that stands for its set, until the next join.
  uint32_t find(uint32_t member) {
    while (parent_[member] != member) {
      parent_[member] = parent_[parent_[member]];
      member = parent_[member];
    }
    return member;
  }

  /// False when they were joined already.
  bool join(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return false;
    if (size_[a] < size_[b]) std::swap(a, b);
    parent_[b] = a;
    size_[a] += size_[b];
    return true;
  }

 private:
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> size_;
};

}  // namespace freshet
