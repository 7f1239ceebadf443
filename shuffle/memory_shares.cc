#include "shuffle/memory_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shuffle/segment_pool.h"

namespace freshet {

namespace {

constexpr uint64_t kWindowBytesMax = 2 * kLargeBlockBytes;
constexpr uint64_t kFloatingBytesMin = 64 * kSmallBlockBytes;
constexpr uint64_t kReceivePoolShare = 8;  // One gate takes at most this part of what is left.

uint64_t whole_blocks(uint64_t bytes) { return bytes / kSmallBlockBytes * kSmallBlockBytes; }

ReceiveMemory floating_memory(uint64_t budget_bytes) {
  ReceiveMemory memory;
  memory.floating_bytes = std::max(whole_blocks(budget_bytes), kFloatingBytesMin);
  memory.reserved_bytes = memory.floating_bytes;
  return memory;
}

ReceiveMemory windows_memory(uint64_t channels, uint64_t budget_bytes) {
  ReceiveMemory memory;
  // Half of it belongs to the channels, each as much as another; the rest floats.
  const uint64_t window = std::clamp<uint64_t>(whole_blocks(budget_bytes / 2 / channels),
                                               kSmallBlockBytes, kWindowBytesMax);
  memory.window_bytes = static_cast<uint32_t>(window);
  const uint64_t own = window * channels;
  memory.floating_bytes = budget_bytes > own ? whole_blocks(budget_bytes - own) : 0;
  memory.reserved_bytes = own + memory.floating_bytes;
  return memory;
}

}  // namespace

BufferNeed MemoryShares::receive_need(uint64_t channels, bool stored) const {
  const uint64_t own = channels * kSmallBlockBytes;
  const uint64_t least = channels <= wide_.windows_max ? own : kFloatingBytesMin;
  return {least, stored || !wide_.windows_if_room ? least : own};
}

void MemoryShares::divide(Told* told) {
  uint64_t parts = kParts;
  const uint64_t left = total_bytes_ > guaranteed_bytes_ ? total_bytes_ - guaranteed_bytes_ : 0;
  if (extra_bytes_max_ > left) parts = left / (extra_bytes_max_ / kParts + 1);
  if (parts_.exchange(parts) != parts) told->waiters.swap(waiters_);
}

MemoryShares::Told::~Told() {
  for (const auto& waiter : waiters) {
    if (const auto alive = waiter.lock()) alive->on_shares_changed();
  }
}

void MemoryShares::wait(std::weak_ptr<const Waiter> waiter) {
  MutexLock lock(mutex_);
  // While there is enough for all the shares never change, and those who wait come and go.
  if (waiters_.size() >= waiters_max_) {
    std::erase_if(waiters_, [](const auto& one) { return one.expired(); });
    waiters_max_ = kWaitersMin + 2 * waiters_.size();
  }
  waiters_.push_back(std::move(waiter));
}

uint64_t MemoryShares::expected_of(const JobId& job, uint64_t bytes_max) const {
  const auto at = expected_.find(job);
  return at == expected_.end() ? 0 : std::min(at->second.bytes, bytes_max);
}

Status MemoryShares::too_little(const JobId& job, uint64_t needed_bytes) const {
  // TaskManagers of one job need about the same: what one asks for should do for the others, too.
  constexpr uint64_t kMegabyte = 1u << 20;
  const uint64_t megabytes = (needed_bytes + kMegabyte - 1) / kMegabyte;
  const std::string what = fmt::format(
      "memory for buffers: {} bytes are needed, and there are {}; raise "
      "taskmanager.memory.network.size of the TaskManagers, or lower the parallelism",
      megabytes * kMegabyte, total_bytes_);
  // What other jobs have comes back when they end.
  const auto at = by_job_.find(job);
  const bool alone = (at == by_job_.end() ? 0 : at->second) == guaranteed_bytes_ &&
                     expected_of(job, UINT64_MAX) == expected_bytes_;
  return alone ? invalid_argument(what) : resource_exhausted(what);
}

Status MemoryShares::add(const JobId& job, uint64_t guaranteed_bytes, uint64_t expected_bytes) {
  const uint64_t expected = expected_of(job, expected_bytes);
  const uint64_t needed = promised_to_others(job, expected) + guaranteed_bytes;
  if (needed > total_bytes_) return too_little(job, needed);
  guaranteed_bytes_ += guaranteed_bytes;
  by_job_[job] += guaranteed_bytes;
  if (expected == 0) return Status();
  expected_bytes_ -= expected;
  expected_[job].bytes -= expected;
  return Status();
}

Status MemoryShares::expect(const JobId& job, const BufferNeed& need) {
  MutexLock lock(mutex_);
  const uint64_t promised = guaranteed_bytes_ + expected_bytes_;
  if (promised + need.least_bytes > total_bytes_)
    return too_little(job, promised + need.least_bytes);
  Expected& expected = expected_[job];
  expected.ample = promised + need.ample_bytes <= total_bytes_;
  const uint64_t bytes = expected.ample ? need.ample_bytes : need.least_bytes;
  expected.bytes += bytes;
  expected_bytes_ += bytes;
  return Status();
}

void MemoryShares::end_expectation(const JobId& job) {
  MutexLock lock(mutex_);
  expected_bytes_ -= expected_of(job, UINT64_MAX);
  expected_.erase(job);
}

void MemoryShares::remove(const JobId& job, uint64_t guaranteed_bytes) {
  guaranteed_bytes_ -= guaranteed_bytes;
  const auto at = by_job_.find(job);
  at->second -= guaranteed_bytes;
  if (at->second == 0) by_job_.erase(at);
}

Status MemoryShares::reserve(const JobId& job, const MemoryClaim& claim) {
  Told told;
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(add(job, claim.guaranteed_bytes, claim.guaranteed_bytes));
  extra_bytes_max_ += claim.extra_bytes_max;
  divide(&told);
  return Status();
}

bool MemoryShares::has_room_for_windows(const JobId& job, uint64_t channels) const {
  const auto expected = expected_.find(job);
  if (expected != expected_.end() && !expected->second.ample) return false;
  const uint64_t bytes = channels * kSmallBlockBytes;
  return promised_to_others(job, bytes) + bytes <= total_bytes_;
}

Result<ReceiveMemory> MemoryShares::reserve_receive(const JobId& job, uint64_t channels,
                                                    uint64_t gate_budget_bytes, bool stored) {
  Told told;
  MutexLock lock(mutex_);
  const bool windows = channels <= wide_.windows_max ||
                       (!stored && wide_.windows_if_room && has_room_for_windows(job, channels));
  const uint64_t least = windows ? channels * kSmallBlockBytes : kFloatingBytesMin;
  const uint64_t budget = receive_budget(job, gate_budget_bytes, least);
  const ReceiveMemory memory = windows ? windows_memory(channels, budget) : floating_memory(budget);
  RETURN_IF_ERROR(add_receive(job, memory, least));
  divide(&told);
  return memory;
}

uint64_t MemoryShares::promised_to_others(const JobId& job, uint64_t bytes) const {
  return guaranteed_bytes_ + expected_bytes_ - expected_of(job, bytes);
}

uint64_t MemoryShares::receive_budget(const JobId& job, uint64_t gate_budget_bytes,
                                      uint64_t least_bytes) const {
  const uint64_t half = total_bytes_ / 2;
  const uint64_t left = half > received_bytes_ ? half - received_bytes_ : 0;
  // More than the least only of what nobody is guaranteed or about to be.
  const uint64_t promised = promised_to_others(job, least_bytes);
  const uint64_t unclaimed = total_bytes_ > promised ? total_bytes_ - promised : 0;
  return std::min({gate_budget_bytes, left / kReceivePoolShare, unclaimed});
}

Status MemoryShares::add_receive(const JobId& job, const ReceiveMemory& memory,
                                 uint64_t least_bytes) {
  RETURN_IF_ERROR(add(job, memory.reserved_bytes, least_bytes));
  received_bytes_ += memory.reserved_bytes;
  return Status();
}

void MemoryShares::give_back(const JobId& job, const MemoryClaim& claim) {
  Told told;
  MutexLock lock(mutex_);
  remove(job, claim.guaranteed_bytes);
  extra_bytes_max_ -= claim.extra_bytes_max;
  divide(&told);
}

void MemoryShares::give_back(const JobId& job, const ReceiveMemory& memory) {
  Told told;
  MutexLock lock(mutex_);
  remove(job, memory.reserved_bytes);
  received_bytes_ -= memory.reserved_bytes;
  divide(&told);
}

size_t MemoryShares::waiting() const {
  MutexLock lock(mutex_);
  return waiters_.size();
}

uint64_t MemoryShares::wanted_bytes() const {
  MutexLock lock(mutex_);
  return guaranteed_bytes_ + extra_bytes_max_;
}

bool MemoryShares::is_empty() const {
  MutexLock lock(mutex_);
  return guaranteed_bytes_ == 0 && extra_bytes_max_ == 0;
}

}  // namespace freshet
