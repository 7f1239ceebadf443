#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "shuffle/memory_shares.h"

namespace freshet {

/// What the blocks of one partition hold of its budget, and how many are overdraft: handed over
/// though they came from the heap, because the pool was empty. raise_budget() and close() belong to
/// one thread; the rest is thread-safe, without locks.
///
/// Owned by shared_ptr, and closed by its owner. It lives on until the last that was charged is
/// back.
class MemoryAccount final : public MemoryShares::Waiter,
                            public std::enable_shared_from_this<MemoryAccount> {
 public:
  /// The budget is what is guaranteed and the present share of the extra. `shares` may be null:
  /// then it is all of it. `wake` is called, on the thread that gives memory back, when available()
  /// was found false and has become true again, and on the thread that changed the shares, when it
  /// was found false and they have changed.
  MemoryAccount(MemoryClaim claim, std::shared_ptr<MemoryShares> shares, std::function<void()> wake)
      : claim_(claim), shares_(std::move(shares)), wake_(std::move(wake)) {}
  ~MemoryAccount() override;

  void charge(uint64_t bytes) { state_.fetch_add(bytes); }

  /// One more block is owed: it came from the heap and was handed over.
  void owe() { state_.fetch_add(kOwedBlock); }

  /// The end of what was charged, and perhaps owed. The account may be gone afterwards.
  void give_back(uint64_t bytes, bool owed);

  void on_shares_changed() const override;

  /// True while less than the budget is held, and no overdraft. Once it was false, true again when
  /// a quarter of the budget is free: whoever waited does not wake for each block that comes back.
  bool available() const {
    const uint64_t state = state_.load();
    if (state < budget_bytes()) [[likely]]  // Neither owed nor waited for, which are higher bits.
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

  /// No wake-up begins after this, and nothing more is charged.
  void close();

 private:
  // Bytes held in the low bits, blocks owed above them (more than the largest record has), and who
  // is concerned: one word, so that each change is seen once, and the last one is the last look at
  // this account.
  static constexpr int kBytesBits = 39;
  static constexpr uint64_t kOwedBlock = uint64_t{1} << kBytesBits;
  static constexpr uint64_t kWaitedFor = uint64_t{1} << 62;
  static constexpr uint64_t kClosed = uint64_t{1} << 63;
  static constexpr uint64_t kBytesMask = kOwedBlock - 1;
  static constexpr uint64_t kHeldMask = kWaitedFor - 1;

  bool is_available_again(uint64_t state) const {
    const uint64_t budget = budget_bytes();
    return (state & kHeldMask) < budget - budget / 4;
  }
  bool is_available_after_waiting() const;
  /// True once per wait.
  bool stop_waiting() const { return (state_.fetch_and(~kWaitedFor) & kWaitedFor) != 0; }
  void wake() const;
  void end_after(uint64_t state);

  mutable std::atomic<uint64_t> state_{0};
  const MemoryClaim claim_;
  const std::shared_ptr<MemoryShares> shares_;
  const std::function<void()> wake_;
  std::atomic<uint64_t> least_bytes_{0};
  mutable std::atomic<bool> waits_for_shares_{false};  // Will be told of their next change.
  std::shared_ptr<MemoryAccount> self_;  // Of a closed one of which something is held.
};

}  // namespace freshet
