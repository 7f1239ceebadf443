#pragma once

#include <cstdint>
#include <memory>

#include "shuffle/temp_directories.h"
#include "state/spill_space.h"

namespace freshet {

/// What each operator of a task has for what it collects, if it is one that does.
struct OperatorMemory {
  uint64_t bytes = 16 * SpillSpace::kLeastMemoryBytes;
  bool compresses = false;                       // What does not fit.
  std::shared_ptr<TempDirectories> directories;  // Of that; null: in memory, too.
};

}  // namespace freshet
