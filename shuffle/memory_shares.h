#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_annotations.h"
#include "shuffle/wide_limits.h"

namespace freshet {

/// What one partition or gate can have of the memory for buffers.
struct MemoryClaim {
  uint64_t guaranteed_bytes = 0;
  uint64_t extra_bytes_max = 0;  // What it could use beyond that, if there is more.
};

/// Bytes of buffers that something needs.
struct BufferNeed {
  uint64_t least_bytes = 0;  // Without them it cannot be.
  uint64_t ample_bytes = 0;  // With some for each channel, at least as many.

  BufferNeed& operator+=(const BufferNeed& other) {
    least_bytes += other.least_bytes;
    ample_bytes += other.ample_bytes;
    return *this;
  }
};

/// The receive blocks that one gate has reserved for what comes from other processes.
struct ReceiveMemory {
  uint32_t window_bytes = 0;    // Of each channel, always; 0: all floats.
  uint64_t floating_bytes = 0;  // For channels of which more waits.
  uint64_t reserved_bytes = 0;  // All of it.
};

/// Divides the segment pool of a TaskManager among its partitions and gates. What is guaranteed is
/// never more than there is, in all. What nobody is guaranteed is divided again with each claim
/// that comes or goes: each gets a part of it in proportion to the extra that it could use, and
/// never more than that:
///
///   extra_i = extra_max_i * min(1, (total - sum of guaranteed) / sum of extra_max)
///
/// (the redistribution of Flink's NetworkBufferPool, in bytes).
///
/// Whoever waits for memory is told after the next change of the shares, on the thread that made
/// it: a change costs nothing for those who do not wait.
///
/// Thread-safe, one lock, under which nothing is called; extra_bytes() takes none.
class MemoryShares {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void on_shares_changed() const = 0;
  };

  explicit MemoryShares(uint64_t total_bytes, const WideLimits& wide = {})
      : total_bytes_(total_bytes), wide_(wide) {}

  /// kInvalidArgument when the job alone needs more than there is; kResourceExhausted when it would
  /// have it without the others. Both say how much is needed, in all: a pool of that size is
  /// enough.
  Status reserve(const JobId& job, const MemoryClaim& claim);

  /// Receive blocks for a gate with `channels` (not 0) from other processes, as many as
  /// `gate_budget_bytes` allow and half of the pool has. Up to WideLimits::windows_max channels
  /// have some of their own, kSmallBlockBytes at least. More have them when that fits; otherwise,
  /// and always of producers that have `stored` what they made, of which most have nothing for it,
  /// none has, and each gets some when its data is to flow. Errors as of reserve().
  BufferNeed receive_need(uint64_t channels, bool stored) const;
  Result<ReceiveMemory> reserve_receive(const JobId& job, uint64_t channels,
                                        uint64_t gate_budget_bytes, bool stored = false);

  /// Keeps what is needed for what the job reserves next: as much as is ample if there is so much,
  /// else the least. Errors as of reserve().
  Status expect(const JobId& job, const BufferNeed& need);
  /// What it did not reserve of that is not kept any more.
  void end_expectation(const JobId& job);

  void give_back(const JobId& job, const MemoryClaim& claim);
  void give_back(const JobId& job, const ReceiveMemory& memory);

  /// The present share of a claim with that much extra.
  uint64_t extra_bytes(uint64_t extra_bytes_max) const {
    return extra_bytes_max / kParts * parts_.load();
  }

  /// Tells `waiter` once, of the first change after this. The present shares are to be looked at
  /// afterwards.
  void wait(std::weak_ptr<const Waiter> waiter);

  /// All that could be used at once: what is guaranteed, and all extra. May be more than there is.
  uint64_t wanted_bytes() const;

  bool is_empty() const;
  /// How many are to be told of the next change, with some that are gone.
  size_t waiting() const;

 private:
  /// Whom to tell of a change: at its end, so it begins before the lock.
  struct Told {
    ~Told();
    std::vector<std::weak_ptr<const Waiter>> waiters;
  };

  static constexpr size_t kWaitersMin = 64;  // Those that are gone are not looked for below it.
  static constexpr uint64_t kParts = 1024;   // Of what a claim could use; how finely it is divided.

  /// What is kept for a job.
  struct Expected {
    uint64_t bytes = 0;
    bool ample = false;
  };

  /// Everything but what is expected of the job, of which at most `bytes` are meant.
  uint64_t promised_to_others(const JobId& job, uint64_t bytes) const REQUIRES(mutex_);
  /// True when each of so many channels can have blocks of its own.
  bool has_room_for_windows(const JobId& job, uint64_t channels) const REQUIRES(mutex_);
  /// What a gate may have that needs `least_bytes`.
  uint64_t receive_budget(const JobId& job, uint64_t gate_budget_bytes, uint64_t least_bytes) const
      REQUIRES(mutex_);
  Status add_receive(const JobId& job, const ReceiveMemory& memory, uint64_t least_bytes)
      REQUIRES(mutex_);
  /// Of what is expected of the job, at most `expected_bytes` are meant.
  Status add(const JobId& job, uint64_t guaranteed_bytes, uint64_t expected_bytes) REQUIRES(mutex_);
  uint64_t expected_of(const JobId& job, uint64_t bytes_max) const REQUIRES(mutex_);
  Status too_little(const JobId& job, uint64_t needed_bytes) const REQUIRES(mutex_);
  void remove(const JobId& job, uint64_t guaranteed_bytes) REQUIRES(mutex_);
  void divide(Told* told) REQUIRES(mutex_);

  const uint64_t total_bytes_;
  const WideLimits wide_;
  std::atomic<uint64_t> parts_{kParts};

  mutable Mutex mutex_;
  std::map<JobId, uint64_t> by_job_ GUARDED_BY(mutex_);  // Guaranteed.
  uint64_t guaranteed_bytes_ GUARDED_BY(mutex_) = 0;
  std::map<JobId, Expected> expected_ GUARDED_BY(mutex_);  // Beyond that, soon.
  uint64_t expected_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t received_bytes_ GUARDED_BY(mutex_) = 0;  // Those of them that are for receiving.
  uint64_t extra_bytes_max_ GUARDED_BY(mutex_) = 0;
  std::vector<std::weak_ptr<const Waiter>> waiters_ GUARDED_BY(mutex_);
  size_t waiters_max_ GUARDED_BY(mutex_) = kWaitersMin;
};

}  // namespace freshet
