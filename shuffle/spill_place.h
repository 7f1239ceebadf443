#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/executor.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// Where partitions spill to, and who does it.
struct SpillPlace {
  FileSystem* files = nullptr;
  std::string directory;         // Is made when there is none.
  Executor* executor = nullptr;  // Writes and reads the files; may block.
  /// Runs a function that waits for as long as the disk likes, on the calling thread: that of a
  /// task that is too far ahead of the disk. Empty: nobody can wait, because the executor has no
  /// thread of its own; then that task writes what is too much.
  std::function<void(const std::function<void()>&)> run_blocking;
  // More directories, of which files are in one or the other; see TempDirectories.
  std::vector<std::string> others = {};
  // Parts of all these paths, in the same order, that are never made: in the place of a disk that
  // has gone nothing is written to the one below. Empty: all may be made.
  std::vector<std::string> roots = {};
  /// Hears of each error of a file there, on any thread. May be empty.
  std::function<void(const Status&)> on_error = {};

  /// Hears when a file that was in order was removed, on any thread. May be empty.
  std::function<void()> on_removed = {};

  Faults* faults = nullptr;

  /// Makes the directory. May block.
  Status make_directory() const;

  /// Calls `wait(longest)`, which waits until the disk is less far behind, no longer than it is
  /// told, and says whether it is; until it is, or `*cancelled` (may be null). False at once when
  /// nobody can wait.
  bool wait_for_disk(const std::atomic<bool>* cancelled,
                     const std::function<bool(Duration longest)>& wait) const;
};

}  // namespace freshet
