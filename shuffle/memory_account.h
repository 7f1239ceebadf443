#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace freshet {

/// What the blocks of one partition hold of its budget, and how many are overdraft: handed over
/// though they came from the heap, because the pool was empty. raise_budget() belongs to one
/// thread; the rest is thread-safe, without locks.
class MemoryAccount {
 public:
  /// `wake` is called, on the thread that gives memory back, each time available() becomes true
  /// again.
  MemoryAccount(uint64_t budget_bytes, std::function<void()> wake)
      : budget_bytes_(budget_bytes), wake_(std::move(wake)) {}

  void charge(uint64_t bytes) { state_.fetch_add(bytes); }

  /// One more block is owed: it came from the heap and was handed over.
  void owe() { state_.fetch_add(kOwedBlock); }

  /// The end of what was charged, and perhaps owed.
  void give_back(uint64_t bytes, bool owed);

  /// True while less than the budget is held, and no overdraft.
  bool available() const { return is_available(state_.load()); }

  uint64_t held_bytes() const { return state_.load() & kBytesMask; }
  uint64_t budget_bytes() const { return budget_bytes_.load(std::memory_order_relaxed); }

  /// At least `bytes` from now on.
  void raise_budget(uint64_t bytes) {
    if (bytes > budget_bytes_.load()) budget_bytes_.store(bytes);
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

  std::atomic<uint64_t> budget_bytes_;
  const std::function<void()> wake_;
  std::atomic<uint64_t> state_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace freshet
