#include "shuffle/block.h"

#include "shuffle/segment_pool.h"

namespace freshet {

BlockRef Block::allocate(SegmentPool& pool, uint32_t block_bytes,
                         const std::shared_ptr<MemoryAccount>& account) {
  Block* block = pool.allocate(block_bytes);
  if (block == nullptr) {
    block = new Block;
    block->data_ = new char[block_bytes];
    block->capacity_ = block_bytes;
    block->overdraft_ = true;
  }
  block->charge(account, block_bytes);
  return BlockRef(block);
}

BlockRef Block::on_heap(uint32_t size, const std::shared_ptr<MemoryAccount>& account,
                        uint64_t charged_bytes) {
  auto* block = new Block;
  block->data_ = new char[size];
  block->capacity_ = size;
  block->charge(account, charged_bytes);
  return BlockRef(block);
}

void Block::charge(const std::shared_ptr<MemoryAccount>& account, uint64_t bytes) {
  if (!account) return;
  account_ = account;
  charged_bytes_ = bytes;
  account_->charge(bytes);
}

void Block::hand_over() {
  if (!overdraft_ || !account_ || owed_) return;
  owed_ = true;
  account_->owe();
}

void Block::recycle() {
  // Once it is back in the pool it may be somebody else's.
  const std::shared_ptr<MemoryAccount> account = std::move(account_);
  const uint64_t charged_bytes = std::exchange(charged_bytes_, 0);
  const bool owed = std::exchange(owed_, false);
  if (pool_ != nullptr) {
    pool_->free(this);
  } else {
    delete[] data_;
    delete this;
  }
  if (account) account->give_back(charged_bytes, owed);
}

}  // namespace freshet
