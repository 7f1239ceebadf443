#include "shuffle/read_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace freshet {

std::shared_ptr<ReadPool> ReadPool::create(uint64_t bytes) {
  std::shared_ptr<ReadPool> pool(new ReadPool(bytes));
  const std::weak_ptr<ReadPool> weak = pool;
  pool->account_ =
      std::make_shared<MemoryAccount>(MemoryClaim{pool->total_bytes(), 0}, nullptr, [weak] {
        if (const auto self = weak.lock()) self->tell_waiters();
      });
  return pool;
}

ReadPool::ReadPool(uint64_t bytes)
    : pool_(std::make_shared<SegmentPool>(bytes)),
      windows_(std::make_shared<MemoryAccount>(MemoryClaim{pool_->total_bytes() / 2, 0}, nullptr,
                                               [] {})) {}

ReadPool::~ReadPool() {
  windows_->close();
  account_->close();
}

void ReadPool::wait(std::weak_ptr<Waiter> waiter) {
  MutexLock lock(mutex_);
  waiters_.push_back(std::move(waiter));
}

void ReadPool::tell_waiters() {
  std::vector<std::weak_ptr<Waiter>> waiters;
  {
    MutexLock lock(mutex_);
    waiters.swap(waiters_);
  }
  for (const auto& weak : waiters) {
    if (const auto waiter = weak.lock()) waiter->on_memory();
  }
}

BlockRef ReadPool::allocate(uint32_t bytes) {
  BlockRef block = Block::allocate(*pool_, block_bytes_for(bytes), account_);
  block->hand_over();
  return block;
}

uint64_t ReadPool::read_ahead_bytes() const {
  const uint64_t share = total_bytes() / 2 / std::max(readers_.load(), 1u);
  return std::clamp<uint64_t>(share, kLargeBlockBytes, kReadAheadBytesMax);
}

uint64_t ReadPool::window_bytes() const {
  const uint64_t share = total_bytes() / 2 / std::max(files_.load(), 1u);
  return std::clamp(share, kWindowBytesMin, kWindowBytesMax);
}

uint64_t ReadPool::around_bytes() const {
  const uint64_t share = kAroundBytesOfAll / std::max(files_.load(), 1u);
  return std::clamp(std::bit_floor(share), kAroundBytesMin, kAroundBytesMax);
}

BlockRef ReadPool::allocate_window(uint32_t bytes) {
  if (windows_->held_bytes() + bytes > total_bytes() / 2) return nullptr;
  return Block::on_heap(bytes, windows_, bytes);
}

std::unique_ptr<char[]> ReadPool::take_scratch() {
  {
    MutexLock lock(mutex_);
    if (!scratch_.empty()) {
      std::unique_ptr<char[]> scratch = std::move(scratch_.back());
      scratch_.pop_back();
      return scratch;
    }
  }
  return std::unique_ptr<char[]>(new char[kRunBytesMax]);
}

void ReadPool::give_scratch(std::unique_ptr<char[]> scratch) {
  MutexLock lock(mutex_);
  scratch_.push_back(std::move(scratch));
}

bool ReadPool::keep_file() {
  if (files_kept_.fetch_add(1) < kFilesKeptMax) return true;
  files_kept_.fetch_sub(1);
  return false;
}

}  // namespace freshet
