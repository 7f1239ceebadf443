#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "shuffle/memory_shares.h"

namespace freshet {

/// What the blocks of one partition hold of its budget, and how many are overdraft: handed over
/// though they came from the heap, because the pool was empty. raise_budget() belongs to one
/// thread; the rest is thread-safe, without locks.
class MemoryAccount final : public MemoryShares::Waiter,
                            public std::enable_shared_from_this<MemoryAccount> {
 public:
  /// The budget is what is guaranteed and the present share of the extra. `shares` may be null:
  /// then it is all of it. `wake` is called, on the thread that gives memory back, when available()
  /// was found false and has become true again; and, of an account that is owned by shared_ptr, on
  /// the thread that changed the shares, when it was found false and they have changed.
  MemoryAccount(MemoryClaim claim, std::shared_ptr<MemoryShares> shares, std::function<void()> wake)
      : claim_(claim), shares_(std::move(shares)), wake_(std::move(wake)) {}

  void charge(uint64_t bytes) { state_.fetch_add(bytes); }

  /// One more block is owed: it came from the heap and was handed over.
  void owe() { state_.fetch_add(kOwedBlock); }

  /// The end of what was charged, and perhaps owed.
  void give_back(uint64_t bytes, bool owed);

  void on_shares_changed() const override;

  /// True while less than the budget is held, and no overdraft.
  bool available() const {
    if (is_available(state_.load())) [[likely]]
      return true;
    return is_available_after_waiting();
  }

  uint64_t held_bytes() const { return state_.load() & kBytesMask; }
  uint64_t budget_bytes() const {
    const uint64_t extra =
        shares_ ? shares_->extra_bytes(claim_.extra_bytes_max) : claim_.extra_bytes_max;
    return std::max(claim_.guaranteed_bytes + extra, least_bytes_.load(std::memory_order_relaxed));
  }

  /// At least `bytes` from now on.
  void raise_budget(uint64_t bytes) {
    if (bytes > least_bytes_.load()) least_bytes_.store(bytes);
  }

  /// No wake-up begins after this.
  void close() { closed_.store(true); }

 private:
  // Bytes held in the low bits and blocks owed above them: one word, so that each change is seen
  // once.
  static constexpr int kBytesBits = 44;
  static constexpr uint64_t kBytesMask = (uint64_t{1} << kBytesBits) - 1;

  static constexpr uint64_t kOwedBlock = uint64_t{1} << kBytesBits;

  bool is_available(uint64_t state) const { return state < budget_bytes(); }
  bool is_available_after_waiting() const;

  const MemoryClaim claim_;
  const std::shared_ptr<MemoryShares> shares_;
  const std::function<void()> wake_;
  std::atomic<uint64_t> least_bytes_{0};
  std::atomic<uint64_t> state_{0};
  mutable std::atomic<bool> waited_for_{false};
  mutable std::atomic<bool> waits_for_shares_{false};  // Will be told of their next change.
  std::atomic<bool> closed_{false};
};

}  // namespace freshet
