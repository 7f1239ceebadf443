#pragma once

#include <optional>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/mutex.h"
#include "runtime/base/thread_annotations.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

/// What one line of /proc/<pid>/stat says; nullopt when it is none.
struct ProcessStat {
  uint64_t cpu_ticks = 0;  // User and system.
  uint64_t threads = 0;
  uint64_t virtual_bytes = 0;
  uint64_t resident_pages = 0;
  bool operator==(const ProcessStat&) const = default;
};
std::optional<ProcessStat> parse_process_stat(std::string_view line);

/// What /proc/meminfo says; 0 for what it does not.
MachineNumbers parse_memory(std::string_view meminfo);
/// The machine that this process is on.
MachineNumbers read_machine(FileSystem&);

/// This process as the kernel sees it. Thread-safe.
class ProcessStatus {
 public:
  ProcessStatus(FileSystem& files, const Clock& clock);

  /// The load is that between two calls at least a second apart. What cannot be read is 0.
  ProcessNumbers read();

 private:
  FileSystem& files_;
  const Clock& clock_;
  Mutex mutex_;
  TimePoint measured_at_ GUARDED_BY(mutex_);
  uint64_t measured_nanos_ GUARDED_BY(mutex_) = 0;
  double load_ GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet
