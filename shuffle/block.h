#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "shuffle/memory_account.h"

namespace freshet {

class SegmentPool;

/// One owner of a Block among several, counted in the block itself. `B`: Block or const Block.
/// As thread-safe as a shared_ptr: one owner belongs to one thread, the block to all.
template <class B>
class BlockOwner {
 public:
  BlockOwner() = default;
  BlockOwner(std::nullptr_t) {}  // NOLINT: as of any pointer.
  /// Takes part in owning it.
  explicit BlockOwner(B* block) : block_(block) {
    if (block_ != nullptr) block_->retain();
  }
  BlockOwner(const BlockOwner& other) : BlockOwner(other.block_) {}
  BlockOwner(BlockOwner&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  /// Owns a block that nobody owned.
  static BlockOwner first_of(B* block) {
    block->owners_.store(1, std::memory_order_relaxed);
    BlockOwner owner;
    owner.block_ = block;
    return owner;
  }
  /// What may be written becomes what is only read.
  template <class Other>
  requires(std::is_const_v<B> && !std::is_const_v<Other>) BlockOwner(BlockOwner<Other> other)
      : block_(other.give_up()) {}
  BlockOwner& operator=(BlockOwner other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockOwner() {
    if (block_ != nullptr) block_->let_go();
  }

  /// Nobody else owns it.
  bool is_only_owner() const { return block_->has_one_owner(); }

  B* get() const { return block_; }
  B* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }
  bool operator==(const BlockOwner&) const = default;

  /// The caller owns what this owned.
  B* give_up() { return std::exchange(block_, nullptr); }

 private:
  B* block_ = nullptr;
};

/// Memory of one buffer, given back when the last owner goes: to the pool or the heap, and to the
/// account that was charged for it. That may wake a task, so the last owner must not go under a
/// lock.
class alignas(64) Block {  // Each in a cache line of its own: neighbours go to other threads.
 public:
  /// A block from the pool or, when that is empty, from the heap. `account` (may be null) is
  /// charged.
  static BlockOwner<Block> allocate(SegmentPool& pool, uint32_t block_bytes,
                                    const std::shared_ptr<MemoryAccount>& account);

  /// Heap memory of just this size, for an event or a kept copy; `charged_bytes` say what it costs
  /// its account (may be null).
  static BlockOwner<Block> on_heap(uint32_t size, const std::shared_ptr<MemoryAccount>& account,
                                   uint64_t charged_bytes);

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The end of several owners, with one visit to the pool. Empties `owners`.
  static void let_go_all(std::vector<BlockOwner<const Block>>* owners);

  /// By the writer, when it is done: overdraft counts from now on. An open block is not waited for
  /// by anybody.
  void hand_over();
  /// It came from the heap because the pool was empty.
  bool is_overdraft() const { return overdraft_; }

  /// Written by one owner; what others were given of it, not any more.
  char* data() { return data_; }
  const char* data() const { return data_; }
  uint32_t capacity() const { return capacity_; }

 private:
  friend class BlockReserve;
  friend class SegmentPool;
  template <class B>
  friend class BlockOwner;

  void retain() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  bool has_one_owner() const { return owners_.load(std::memory_order_acquire) == 1; }
  /// One owner less; true if it was the last.
  bool lose_owner() const {
    // Who is alone need not tell anybody: that would wait for all that was written before.
    return has_one_owner() || owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  void let_go() const {
    if (lose_owner()) const_cast<Block*>(this)->recycle();
  }
  void recycle();
  void charge(const std::shared_ptr<MemoryAccount>& account, uint64_t bytes);
  /// It was charged for this.
  void note_charge(MemoryAccount* account, uint64_t bytes) {
    account_ = account;
    charged_bytes_ = bytes;
  }
  /// What is to be given back once its memory is.
  struct Charge {
    MemoryAccount* account = nullptr;
    uint64_t bytes = 0;
    bool owed = false;
    void give_back() const {
      if (account != nullptr) account->give_back(bytes, owed);
    }
  };
  Charge take_charge();

  mutable std::atomic<uint32_t> owners_{0};
  uint32_t capacity_ = 0;
  char* data_ = nullptr;
  SegmentPool* pool_ = nullptr;       // Whose it is; null: heap.
  MemoryAccount* account_ = nullptr;  // Lives as long as it is charged.
  uint64_t charged_bytes_ = 0;
  bool overdraft_ = false;
  bool owed_ = false;
};

using BlockRef = BlockOwner<Block>;
using ConstBlockRef = BlockOwner<const Block>;

}  // namespace freshet
