#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/configuration.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// What a TaskManager has for its data connections.
struct NetworkMemory {
  uint64_t pool_bytes = 0;
  uint64_t gate_budget_bytes = 0;    // At most the pool.
  uint64_t overdraft_bytes_max = 0;  // Of a partition, on the heap beside the pool.
};

/// From its settings. kInvalidArgument, with what to set, when the pools of `task_managers` are
/// larger than the memory that they may use, or a gate budget was set that is larger than the pool.
Result<NetworkMemory> network_memory(const Configuration&, FileSystem&, uint32_t task_managers = 1);

/// Memory that this process may use, and who says so: `MemTotal`, or the file of a control group.
struct MemoryLimit {
  uint64_t bytes = 0;
  std::string origin;
  bool operator==(const MemoryLimit&) const = default;
};

/// The least of what the machine has and what the control groups of this process allow, of version
/// 1 or 2, as a container has them; nullopt when the kernel does not say.
std::optional<MemoryLimit> memory_limit(FileSystem&);

}  // namespace freshet
