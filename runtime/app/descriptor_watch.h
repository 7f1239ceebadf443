#pragma once

#include <cstdint>

namespace freshet {

/// Sees whether somebody closed descriptors that are not his own, as code does that closes all from
/// 3 on: a descriptor that only this object knows is gone then. What the process has open otherwise
/// cannot be trusted any more, since its numbers are given to others.
class DescriptorWatch {
 public:
  /// When there is no descriptor left it watches nothing.
  DescriptorWatch();
  ~DescriptorWatch();
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  bool intact() const;

  /// Takes all numbers that are free, but for a few above them all, so that what is opened from now
  /// on has none that somebody still uses as his own. For the end of a process.
  static void occupy_free_numbers();

 private:
  int descriptor_ = -1;
  uint64_t inode_ = 0;
};

}  // namespace freshet
