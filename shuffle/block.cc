#include "shuffle/block.h"

#include <utility>

namespace freshet {

std::shared_ptr<Block> Block::allocate(const std::shared_ptr<SegmentPool>& pool,
                                       uint32_t block_bytes,
                                       const std::shared_ptr<MemoryAccount>& account) {
  char* data = pool->allocate(block_bytes);
  const bool overdraft = data == nullptr;
  if (overdraft) data = new char[block_bytes];
  return std::make_shared<Block>(overdraft ? nullptr : pool, data, block_bytes, account,
                                 block_bytes, overdraft);
}

std::shared_ptr<Block> Block::on_heap(uint32_t size, const std::shared_ptr<MemoryAccount>& account,
                                      uint64_t charged_bytes) {
  return std::make_shared<Block>(nullptr, new char[size], size, account, charged_bytes, false);
}

Block::Block(std::shared_ptr<SegmentPool> pool, char* data, uint32_t capacity,
             std::shared_ptr<MemoryAccount> account, uint64_t charged_bytes, bool overdraft)
    : pool_(std::move(pool)),
      data_(data),
      capacity_(capacity),
      overdraft_(overdraft),
      account_(std::move(account)),
      charged_bytes_(charged_bytes) {
  if (account_) account_->charge(charged_bytes_);
}

void Block::hand_over() {
  if (!overdraft_ || !account_) return;
  owed_ = true;
  account_->owe();
}

Block::~Block() {
  if (pool_) {
    pool_->free(data_);
  } else {
    delete[] data_;
  }
  if (account_) account_->give_back(charged_bytes_, owed_);
}

}  // namespace freshet
