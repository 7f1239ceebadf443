#include "shuffle/block.h"

#include <array>

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
  return BlockRef::first_of(block);
}

BlockRef Block::on_heap(uint32_t size, const std::shared_ptr<MemoryAccount>& account,
                        uint64_t charged_bytes) {
  auto* block = new Block;
  block->data_ = new char[size];
  block->capacity_ = size;
  block->charge(account, charged_bytes);
  return BlockRef::first_of(block);
}

void Block::charge(const std::shared_ptr<MemoryAccount>& account, uint64_t bytes) {
  if (!account) return;
  note_charge(account.get(), bytes);
  account_->charge(bytes);
}

void Block::hand_over() {
  if (!overdraft_ || account_ == nullptr || owed_) return;
  owed_ = true;
  account_->owe();
}

Block::Charge Block::take_charge() {
  return {std::exchange(account_, nullptr), std::exchange(charged_bytes_, 0),
          std::exchange(owed_, false)};
}

void Block::recycle() {
  const Charge charge = take_charge();  // Once it is back in the pool it may be somebody else's.
  if (pool_ != nullptr) {
    pool_->free(this);
  } else {
    delete[] data_;
    delete this;
  }
  charge.give_back();
}

void Block::let_go_all(std::vector<ConstBlockRef>* owners) {
  constexpr size_t kTogether = 32;
  std::array<Block*, kTogether> blocks;
  std::array<Charge, kTogether> charges;
  size_t count = 0;
  const auto free = [&] {
    if (count == 0) return;
    blocks[0]->pool_->free({blocks.data(), count});
    for (size_t i = 0; i < count; ++i) charges[i].give_back();
    count = 0;
  };
  for (ConstBlockRef& owner : *owners) {
    auto* const block = const_cast<Block*>(owner.give_up());
    if (block == nullptr || !block->lose_owner()) continue;
    if (block->pool_ == nullptr) {
      block->recycle();
      continue;
    }
    if (count == kTogether || (count != 0 && blocks[0]->pool_ != block->pool_)) free();
    charges[count] = block->take_charge();
    __builtin_prefetch(charges[count].account, 1);
    blocks[count++] = block;
  }
  free();
  owners->clear();
}

}  // namespace freshet
