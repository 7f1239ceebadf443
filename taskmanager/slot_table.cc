#include "taskmanager/slot_table.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace freshet {

Status SlotTable::claim(uint32_t index, AllocationId allocation, const AttemptId& attempt) {
  CHECK(index < slots_.size());
  Slot& slot = slots_[index];
  if (!slot.attempts.empty() && (slot.allocation != allocation || slot.job != attempt.job)) {
    return failed_precondition("slot " + std::to_string(index) + " is still held by " +
                               std::to_string(slot.attempts.size()) + " tasks of job " +
                               slot.job.to_string());
  }
  slot.allocation = allocation;
  slot.job = attempt.job;
  slot.attempts.insert(attempt);
  return Status();
}

void SlotTable::release(uint32_t index, const AttemptId& attempt) {
  CHECK(index < slots_.size());
  slots_[index].attempts.erase(attempt);
}

uint32_t SlotTable::free() const {
  return static_cast<uint32_t>(std::count_if(
      slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.attempts.empty(); }));
}

}  // namespace freshet
