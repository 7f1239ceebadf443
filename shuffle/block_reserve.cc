#include "shuffle/block_reserve.h"

#include "shuffle/prefetch.h"

namespace freshet {

BlockRef BlockReserve::take() {
  if (next_ == end_) {
    if (!may_take_many()) return Block::allocate(*pool_, kSmallBlockBytes, account_);
    next_ = 0;
    end_ = pool_->allocate(kSmallBlockBytes, blocks_);
    if (end_ == 0) return Block::allocate(*pool_, kSmallBlockBytes, account_);
    if (account_) account_->charge(end_ * kSmallBlockBytes);
  }
  if (next_ + kAhead < end_) prefetch_bytes(blocks_[next_ + kAhead], sizeof(Block));
  Block* const block = blocks_[next_++];
  if (account_) block->note_charge(account_.get(), kSmallBlockBytes);
  return BlockRef::first_of(block);
}

bool BlockReserve::may_take_many() const {
  return !account_ ||
         account_->held_bytes() + kTogether * kSmallBlockBytes < account_->budget_bytes();
}

void BlockReserve::give_back() {
  if (next_ == end_) return;
  const size_t left = end_ - next_;
  pool_->free(std::span(blocks_).subspan(next_, left));
  next_ = end_;
  if (account_) account_->give_back(left * kSmallBlockBytes, false);
}

}  // namespace freshet
