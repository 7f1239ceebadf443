#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shuffle/block.h"
#include "shuffle/segment_pool.h"

namespace freshet {

/// A piece of one channel's stream, in memory of a RegionBuffer; what it holds is behind it.
struct RegionChunk {
  RegionChunk* next = nullptr;  // Of its channel.
  uint64_t first_element = 0;   // These as in Buffer.
  uint64_t hash = 0;
  uint32_t capacity = 0;
  uint32_t size = 0;
  uint32_t elements_started = 0;
  uint32_t tail_bytes = 0;
  uint8_t flags = 0;

  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
};

/// Memory for what is to become a region: chunks of any size, cut one behind the other, and given
/// back all at once. It grows while its account has some left, and then it is full: so a partition
/// with a small share writes small regions, and nobody ever waits.
class RegionBuffer {
 public:
  /// It may have that much whatever the account says.
  static constexpr uint64_t kLeastBytes = 8 * kLargeBlockBytes;
  static constexpr uint32_t kChunkBytesMax = kLargeBlockBytes - sizeof(RegionChunk);
  static constexpr uint32_t kChunkBytesMin = 256 - sizeof(RegionChunk);

  RegionBuffer(std::shared_ptr<SegmentPool> pool, std::shared_ptr<MemoryAccount> account)
      : pool_(std::move(pool)), account_(std::move(account)) {}

  /// About `bytes` (at most kChunkBytesMax), at least the smaller of them and `least`. Null when it
  /// is full.
  RegionChunk* allocate(uint32_t bytes, uint32_t least);

  bool empty() const { return segments_.empty(); }
  uint64_t bytes() const { return segments_.size() * kLargeBlockBytes; }

  /// No chunk is used any more.
  void clear();

 private:
  bool grow();

  const std::shared_ptr<SegmentPool> pool_;
  const std::shared_ptr<MemoryAccount> account_;
  std::vector<BlockOwner<const Block>> segments_;
  char* at_ = nullptr;  // In the last one.
  char* end_ = nullptr;
};

}  // namespace freshet
