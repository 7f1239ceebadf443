#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/disk_switches.h"
#include "runtime/base/time.h"

namespace freshet::chaos {

/// Makes the disk of one TaskManager full, slow or broken while it runs, for one use of its files
/// or another. Lives as long as the file, in all lives of the process. Thread-safe.
class DiskSwitch {
 public:
  /// Makes the file, of which the process must be told; everything is in order. kAlreadyExists when
  /// it is there.
  static Result<std::unique_ptr<DiskSwitch>> create(const std::string& path);

  /// For its command line.
  std::vector<std::string> arguments() const;

  void fill(DiskFiles);
  /// Every operation waits so long, in whole milliseconds and at least one.
  void slow_down(DiskFiles, Duration delay);
  /// Every operation has an I/O error.
  void fail(DiskFiles);
  void mend(DiskFiles);

  /// Operations that have gone wrong or had to wait, in all lives. A fault that raises it not has
  /// met nobody.
  uint64_t met(DiskFiles) const;

 private:
  DiskSwitch(std::string path, std::shared_ptr<DiskSwitches> switches);

  const std::string path_;
  const std::shared_ptr<DiskSwitches> switches_;
};

}  // namespace freshet::chaos
