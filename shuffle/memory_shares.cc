#include "shuffle/memory_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shuffle/segment_pool.h"

namespace freshet {

namespace {

constexpr uint64_t kWindowBytesMax = 2 * kLargeBlockBytes;
constexpr uint64_t kReceivePoolShare = 8;  // One gate takes at most this part of what is left.

uint64_t whole_blocks(uint64_t bytes) { return bytes / kSmallBlockBytes * kSmallBlockBytes; }

ReceiveMemory receive_memory(uint64_t channels, uint64_t budget_bytes) {
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

std::vector<std::shared_ptr<MemoryShares::Watcher>> MemoryShares::divide() {
  uint64_t parts = kParts;
  const uint64_t left = total_bytes_ > guaranteed_bytes_ ? total_bytes_ - guaranteed_bytes_ : 0;
  if (extra_bytes_max_ > left) parts = left / (extra_bytes_max_ / kParts + 1);
  std::vector<std::shared_ptr<Watcher>> told;
  if (parts_.exchange(parts) == parts) return told;
  told.reserve(watchers_.size());
  for (const auto& [id, watcher] : watchers_) {
    if (auto alive = watcher.lock()) told.push_back(std::move(alive));
  }
  return told;
}

void MemoryShares::tell(const std::vector<std::shared_ptr<Watcher>>& watchers) {
  for (const auto& watcher : watchers) watcher->on_shares_changed();
}

uint64_t MemoryShares::watch(std::weak_ptr<Watcher> watcher) {
  MutexLock lock(mutex_);
  watchers_.emplace(next_watcher_, std::move(watcher));
  return next_watcher_++;
}

void MemoryShares::unwatch(uint64_t id) {
  MutexLock lock(mutex_);
  watchers_.erase(id);
}

Status MemoryShares::add(const JobId& job, uint64_t guaranteed_bytes) {
  uint64_t& of_job = by_job_[job];
  if (guaranteed_bytes_ + guaranteed_bytes <= total_bytes_) {
    guaranteed_bytes_ += guaranteed_bytes;
    of_job += guaranteed_bytes;
    return Status();
  }
  const std::string what = fmt::format(
      "memory for buffers: {} bytes are needed, and there are {}; raise "
      "taskmanager.memory.network.size of the TaskManagers, or lower the parallelism",
      guaranteed_bytes_ + guaranteed_bytes, total_bytes_);
  // What other jobs have comes back when they end.
  const bool alone = of_job == guaranteed_bytes_;
  if (of_job == 0) by_job_.erase(job);
  return alone ? invalid_argument(what) : resource_exhausted(what);
}

void MemoryShares::remove(const JobId& job, uint64_t guaranteed_bytes) {
  guaranteed_bytes_ -= guaranteed_bytes;
  const auto at = by_job_.find(job);
  at->second -= guaranteed_bytes;
  if (at->second == 0) by_job_.erase(at);
}

Status MemoryShares::reserve(const JobId& job, const MemoryClaim& claim) {
  std::vector<std::shared_ptr<Watcher>> told;
  {
    MutexLock lock(mutex_);
    RETURN_IF_ERROR(add(job, claim.guaranteed_bytes));
    extra_bytes_max_ += claim.extra_bytes_max;
    told = divide();
  }
  tell(told);
  return Status();
}

Result<ReceiveMemory> MemoryShares::reserve_receive(const JobId& job, uint64_t channels,
                                                    uint64_t gate_budget_bytes) {
  ReceiveMemory memory;
  std::vector<std::shared_ptr<Watcher>> told;
  {
    MutexLock lock(mutex_);
    const uint64_t half = total_bytes_ / 2;
    const uint64_t left = half > received_bytes_ ? half - received_bytes_ : 0;
    memory = receive_memory(channels, std::min(gate_budget_bytes, left / kReceivePoolShare));
    RETURN_IF_ERROR(add(job, memory.reserved_bytes));
    received_bytes_ += memory.reserved_bytes;
    told = divide();
  }
  tell(told);
  return memory;
}

void MemoryShares::give_back(const JobId& job, const MemoryClaim& claim) {
  std::vector<std::shared_ptr<Watcher>> told;
  {
    MutexLock lock(mutex_);
    remove(job, claim.guaranteed_bytes);
    extra_bytes_max_ -= claim.extra_bytes_max;
    told = divide();
  }
  tell(told);
}

void MemoryShares::give_back(const JobId& job, const ReceiveMemory& memory) {
  std::vector<std::shared_ptr<Watcher>> told;
  {
    MutexLock lock(mutex_);
    remove(job, memory.reserved_bytes);
    received_bytes_ -= memory.reserved_bytes;
    told = divide();
  }
  tell(told);
}

bool MemoryShares::is_empty() const {
  MutexLock lock(mutex_);
  return guaranteed_bytes_ == 0 && extra_bytes_max_ == 0;
}

}  // namespace freshet
