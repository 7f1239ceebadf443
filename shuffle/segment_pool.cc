#include "shuffle/segment_pool.h"

#include <sys/mman.h>

#include <bit>
#include <new>

#include "runtime/base/check.h"
#include "shuffle/poison.h"

namespace freshet {

namespace {

// With so many blocks in use, small pages would cost a walk through the page tables for each block;
// of a small pool they would only hold more memory than is used.
constexpr size_t kHugePageBytes = 2u << 20;
constexpr uint64_t kHugePagesFrom = 64u << 20;
constexpr std::align_val_t kAlignment{kHugePageBytes};

uint64_t all_blocks(uint32_t block_bytes) {
  const uint32_t count = kLargeBlockBytes / block_bytes;
  return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

}  // namespace

uint32_t block_bytes_for(uint32_t bytes) {
  if (bytes <= kSmallBlockBytes) return kSmallBlockBytes;
  return bytes <= kMediumBlockBytes ? kMediumBlockBytes : kLargeBlockBytes;
}

void SegmentPool::Release::operator()(char* memory) const { ::operator delete(memory, kAlignment); }

SegmentPool::SegmentPool(uint64_t bytes) {
  const uint64_t count = bytes / kLargeBlockBytes;
  CHECK(count < kNone);
  if (count == 0) return;
  memory_.reset(static_cast<char*>(::operator new(count* kLargeBlockBytes, kAlignment)));
  total_bytes_ = count * kLargeBlockBytes;
  if (total_bytes_ >= kHugePagesFrom) (void)madvise(memory_.get(), total_bytes_, MADV_HUGEPAGE);
  poison(memory_.get(), total_bytes_);
  segments_.resize(count);
  free_segments_.reserve(count);
  for (uint64_t i = count; i-- > 0;) free_segments_.push_back(static_cast<uint32_t>(i));
}

SegmentPool::~SegmentPool() {
  if (memory_) unpoison(memory_.get(), total_bytes_);  // Whoever has it next knows nothing of it.
}

SegmentPool::SizeList& SegmentPool::list_of(uint32_t block_bytes) {
  if (block_bytes == kSmallBlockBytes) return lists_[0];
  if (block_bytes == kMediumBlockBytes) return lists_[1];
  CHECK(block_bytes == kLargeBlockBytes);
  return lists_[2];
}

void SegmentPool::link(uint32_t index) {
  Segment& segment = segments_[index];
  SizeList& list = list_of(segment.block_bytes);
  segment.previous = kNone;
  segment.next = list.first;
  if (list.first != kNone) segments_[list.first].previous = index;
  list.first = index;
}

void SegmentPool::unlink(uint32_t index) {
  Segment& segment = segments_[index];
  if (segment.previous != kNone) {
    segments_[segment.previous].next = segment.next;
  } else {
    list_of(segment.block_bytes).first = segment.next;
  }
  if (segment.next != kNone) segments_[segment.next].previous = segment.previous;
}

void SegmentPool::cut(uint32_t index, uint32_t block_bytes) {
  Segment& segment = segments_[index];
  const uint32_t count = kLargeBlockBytes / block_bytes;
  if (segment.blocks_made < count) {
    segment.blocks = std::make_unique<Block[]>(count);
    segment.blocks_made = count;
  }
  segment.block_bytes = block_bytes;
  segment.free_blocks = all_blocks(block_bytes);
  char* data = memory_.get() + static_cast<uint64_t>(index) * kLargeBlockBytes;
  for (uint32_t i = 0; i < count; ++i, data += block_bytes) {
    segment.blocks[i].pool_ = this;
    segment.blocks[i].data_ = data;
    segment.blocks[i].capacity_ = block_bytes;
  }
  link(index);
}

Block* SegmentPool::allocate(uint32_t block_bytes) {
  Block* block = nullptr;
  (void)allocate(block_bytes, std::span(&block, 1));
  return block;
}

size_t SegmentPool::allocate(uint32_t block_bytes, std::span<Block*> blocks) {
  MutexLock lock(mutex_);
  size_t count = 0;
  while (count < blocks.size() && (blocks[count] = take(block_bytes)) != nullptr) ++count;
  return count;
}

Block* SegmentPool::take(uint32_t block_bytes) {
  uint32_t index = list_of(block_bytes).first;
  if (index == kNone) {
    if (free_segments_.empty()) return nullptr;
    index = free_segments_.back();
    free_segments_.pop_back();
    cut(index, block_bytes);
  }
  if (blocks_held_++ == 0) self_ = shared_from_this();
  Segment& segment = segments_[index];
  const int block = std::countr_zero(segment.free_blocks);
  segment.free_blocks &= segment.free_blocks - 1;
  if (segment.free_blocks == 0) unlink(index);
  Block* const allocated = &segment.blocks[static_cast<size_t>(block)];
  unpoison(allocated->data_, block_bytes);
  return allocated;
}

void SegmentPool::free(std::span<Block* const> blocks) {
  std::shared_ptr<SegmentPool> last;
  MutexLock lock(mutex_);
  for (Block* block : blocks) take_back(block);
  blocks_held_ -= blocks.size();
  if (blocks_held_ == 0) last = std::move(self_);
}

void SegmentPool::take_back(Block* block) {
  const auto index = static_cast<uint64_t>(block->data_ - memory_.get()) / kLargeBlockBytes;
  CHECK(block->pool_ == this && index < segments_.size());
  Segment& segment = segments_[index];
  const uint64_t bit = uint64_t{1} << (block - segment.blocks.get());
  CHECK((segment.free_blocks & bit) == 0);
  poison(block->data_, block->capacity_);
  if (segment.free_blocks == 0) link(static_cast<uint32_t>(index));
  segment.free_blocks |= bit;
  if (segment.free_blocks != all_blocks(segment.block_bytes)) return;
  unlink(static_cast<uint32_t>(index));
  segment.free_blocks = 0;
  free_segments_.push_back(static_cast<uint32_t>(index));
}

uint64_t SegmentPool::free_bytes() const {
  MutexLock lock(mutex_);
  return static_cast<uint64_t>(free_segments_.size()) * kLargeBlockBytes;
}

}  // namespace freshet
