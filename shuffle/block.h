#pragma once

#include <cstdint>
#include <memory>

#include "shuffle/memory_account.h"
#include "shuffle/segment_pool.h"

namespace freshet {

/// Memory of one buffer, given back when the last owner goes: to the pool or the heap, and to the
/// account that was charged for it. The destructor may wake a task, so the last owner must not go
/// under a lock.
class Block {
 public:
  /// A block from the pool or, when that is empty, from the heap. `account` (may be null) is
  /// charged.
  static std::shared_ptr<Block> allocate(const std::shared_ptr<SegmentPool>& pool,
                                         uint32_t block_bytes,
                                         const std::shared_ptr<MemoryAccount>& account);

  /// Heap memory of just this size, for an event or a kept copy; `charged_bytes` say what it costs
  /// its account (may be null).
  static std::shared_ptr<Block> on_heap(uint32_t size,
                                        const std::shared_ptr<MemoryAccount>& account,
                                        uint64_t charged_bytes);

  Block(std::shared_ptr<SegmentPool> pool, char* data, uint32_t capacity,
        std::shared_ptr<MemoryAccount> account, uint64_t charged_bytes, bool overdraft);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// By the writer, when it is done: overdraft counts from now on. An open block is not waited for
  /// by anybody.
  void hand_over();

  /// Written by one owner, before any other sees it.
  char* data() { return data_; }
  const char* data() const { return data_; }
  uint32_t capacity() const { return capacity_; }

 private:
  const std::shared_ptr<SegmentPool> pool_;  // Null: heap.
  char* const data_;
  const uint32_t capacity_;
  const bool overdraft_;
  bool owed_ = false;
  const std::shared_ptr<MemoryAccount> account_;
  const uint64_t charged_bytes_;
};

}  // namespace freshet
