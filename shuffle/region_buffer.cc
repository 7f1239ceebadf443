#include "shuffle/region_buffer.h"

#include <algorithm>
#include <new>

namespace freshet {

namespace {

constexpr size_t kAlign = alignof(RegionChunk);

}  // namespace

RegionChunk* RegionBuffer::allocate(uint32_t bytes, uint32_t least) {
  const auto room = [this] { return static_cast<size_t>(end_ - at_); };
  bytes = std::min(bytes, kChunkBytesMax);
  // The rest of a segment will do, when it is not too little to be worth a chunk.
  const size_t enough = sizeof(RegionChunk) + std::max(kChunkBytesMin, std::min(bytes, least));
  if (room() < enough && !grow()) return nullptr;
  const size_t size =
      std::min(room(), (sizeof(RegionChunk) + bytes + kAlign - 1) / kAlign * kAlign);
  auto* const chunk = new (at_) RegionChunk;
  chunk->capacity = static_cast<uint32_t>(size - sizeof(RegionChunk));
  at_ += size;
  return chunk;
}

bool RegionBuffer::grow() {
  const bool may_have_more = bytes() < kLeastBytes;
  if (!may_have_more && !account_->available()) return false;
  BlockRef block = Block::allocate(*pool_, kLargeBlockBytes, account_);
  if (block->is_overdraft() && !may_have_more) return false;
  at_ = block->data();
  end_ = at_ + block->capacity();
  segments_.emplace_back(std::move(block));
  return true;
}

void RegionBuffer::clear() {
  Block::let_go_all(&segments_);
  at_ = end_ = nullptr;
}

}  // namespace freshet
