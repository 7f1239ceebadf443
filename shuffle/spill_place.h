#pragma once

#include <functional>
#include <string>

#include "runtime/base/executor.h"
#include "runtime/base/file_system.h"

namespace freshet {

/// Where partitions spill to, and who does it.
struct SpillPlace {
  FileSystem* files = nullptr;
  std::string directory;         // Is made when there is none.
  Executor* executor = nullptr;  // Writes and reads the files; may block.
  /// Runs a function that may block for as long as a disk likes, on the calling thread: that of a
  /// task that is faster than the disk. Empty: just calls it.
  std::function<void(const std::function<void()>&)> run_blocking;
};

}  // namespace freshet
