#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "shuffle/block.h"
#include "shuffle/segment_pool.h"

namespace freshet {

/// Small blocks for one partition with many channels, or for what one connection brings, taken from
/// the pool and charged many at once: one by one, the lock and the count would cost more than
/// writing into them.
///
/// Belongs to one thread. What is left is to be given back before others may miss it.
class BlockReserve {
 public:
  /// `account` may be null.
  BlockReserve(std::shared_ptr<SegmentPool> pool, std::shared_ptr<MemoryAccount> account)
      : pool_(std::move(pool)), account_(std::move(account)) {}
  ~BlockReserve() { give_back(); }
  BlockReserve(const BlockReserve&) = delete;
  BlockReserve& operator=(const BlockReserve&) = delete;

  /// One of kSmallBlockBytes; from the heap when the pool is empty. By itself when little of the
  /// budget is left.
  BlockRef take();

  void give_back();

 private:
  static constexpr size_t kTogether = 32;
  static constexpr size_t kAhead = 8;

  /// Not the last of the budget.
  bool may_take_many() const;

  const std::shared_ptr<SegmentPool> pool_;
  const std::shared_ptr<MemoryAccount> account_;
  std::array<Block*, kTogether> blocks_;
  size_t next_ = 0;
  size_t end_ = 0;
};

}  // namespace freshet
