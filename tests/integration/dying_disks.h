#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace freshet::testing {

/// A directory of temporary files that dies while it is used, as those of real disks do.
class DyingDisk {
 public:
  virtual ~DyingDisk() = default;
  /// Why there is no such disk here; empty when there is.
  virtual std::string why_not() const { return ""; }
  virtual std::string path() const = 0;
  virtual void die() = 0;
};

/// By name.
struct DiskKind {
  std::string name;
  std::function<std::unique_ptr<DyingDisk>()> make;
  std::string says;  // In the log of a TaskManager that ran into it.
};

/// Kinds that need no rights come first.
const std::vector<DiskKind>& disk_kinds();

/// Runs `start` so that the processes that it starts obey the permissions of files, also those of
/// root.
void run_without_override(const std::function<void()>& start);

}  // namespace freshet::testing
