#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"

namespace freshet {

/// Which allocation has which slot of this TaskManager. A slot belongs to one allocation of one job
/// from its first task to its last; the tasks of an allocation share it.
class SlotTable {
 public:
  explicit SlotTable(uint32_t slots) : slots_(slots) {}

  /// kFailedPrecondition while another allocation has the slot. The slot exists.
  Status claim(uint32_t slot, AllocationId allocation, const AttemptId& attempt);

  /// The attempt has ended; the last one frees the slot.
  void release(uint32_t slot, const AttemptId& attempt);

  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t free() const;

 private:
  struct Slot {
    AllocationId allocation;
    JobId job;
    std::set<AttemptId> attempts;  // Empty: free.
  };

  std::vector<Slot> slots_;
};

}  // namespace freshet
