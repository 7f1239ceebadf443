#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/block.h"

namespace freshet {

/// The sizes of blocks that segments are cut into.
inline constexpr uint32_t kSmallBlockBytes = 1024;
inline constexpr uint32_t kMediumBlockBytes = 4u << 10;
inline constexpr uint32_t kLargeBlockBytes = 32u << 10;

/// The smallest block that holds `bytes`; the largest when none does.
uint32_t block_bytes_for(uint32_t bytes);

/// All memory for buffers of one TaskManager, reserved at once and touched only when used. Segments
/// are cut into blocks of one size each; a segment whose blocks are all back is free again, for any
/// size. Owned by shared_ptr; lives on until the last block is back.
///
/// Thread-safe; one lock, under which nothing else is called.
class SegmentPool : public std::enable_shared_from_this<SegmentPool> {
 public:
  /// Rounds down to whole segments of kLargeBlockBytes.
  explicit SegmentPool(uint64_t bytes);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  /// A block of exactly `block_bytes` (one of the three) without an owner, or null when there is
  /// none.
  Block* allocate(uint32_t block_bytes);

  /// As many as there are, of as many as there is room for; returns their number.
  size_t allocate(uint32_t block_bytes, std::span<Block*> blocks);

  /// Takes back what `allocate` gave.
  void free(Block* block) { free(std::span(&block, 1)); }
  void free(std::span<Block* const> blocks);

  /// Whole segments that nobody holds a block of.
  uint64_t free_bytes() const;
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Segment {
    uint64_t free_blocks = 0;  // One bit each.
    std::unique_ptr<Block[]> blocks;
    uint32_t blocks_made = 0;
    uint32_t block_bytes = 0;
    uint32_t previous = kNone;  // In the list of segments of its size that have a free block.
    uint32_t next = kNone;
  };
  struct SizeList {
    uint32_t first = kNone;
  };

  SizeList& list_of(uint32_t block_bytes) REQUIRES(mutex_);
  void link(uint32_t index) REQUIRES(mutex_);
  void unlink(uint32_t index) REQUIRES(mutex_);
  void cut(uint32_t index, uint32_t block_bytes) REQUIRES(mutex_);
  Block* take(uint32_t block_bytes) REQUIRES(mutex_);
  void take_back(Block* block) REQUIRES(mutex_);

  struct Release {
    void operator()(char* memory) const;
  };

  std::unique_ptr<char, Release> memory_;
  uint64_t total_bytes_ = 0;

  mutable Mutex mutex_;
  std::vector<Segment> segments_ GUARDED_BY(mutex_);
  // The last returned is the first used: it is warm.
  std::vector<uint32_t> free_segments_ GUARDED_BY(mutex_);
  SizeList lists_[3] GUARDED_BY(mutex_);
  uint64_t blocks_held_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<SegmentPool> self_ GUARDED_BY(mutex_);  // While blocks are held.
};

}  // namespace freshet
