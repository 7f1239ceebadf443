#pragma once

#include <cstdint>
#include <optional>

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
/// larger than the memory of their machine, or a gate budget was set that is larger than the pool.
Result<NetworkMemory> network_memory(const Configuration&, FileSystem&, uint32_t task_managers = 1);

/// The kernel's MemTotal; nullopt when it does not say.
std::optional<uint64_t> machine_memory_bytes(FileSystem&);

}  // namespace freshet
