#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet {

/// Files of a TaskManager by what they are for.
enum class DiskFiles : uint8_t {
  kTemporary,  // What tasks spill and what blocking edges keep.
  kModules,    // The code of jobs.
  kOutput,     // What jobs write elsewhere; only the writing.
};
inline constexpr size_t kDiskFilesCount = 3;
std::string_view to_string(DiskFiles);

/// What is wrong with some files, in memory that several processes share: one switches, the other
/// suffers and counts. All zero: nothing.
struct DiskState {
  std::atomic<uint32_t> full;      // Not 0: nothing that needs room succeeds.
  std::atomic<uint32_t> fails;     // Not 0: every operation has an I/O error.
  std::atomic<uint32_t> delay_ms;  // Of each operation.
  std::atomic<uint32_t> unused;
  std::atomic<uint64_t> met;  // Operations that went wrong or had to wait.
};

/// The content of the file that `test.disk` names.
struct DiskSwitches {
  static constexpr uint64_t kMagic = 0x6b73696474736572;  // With the version of the layout.
  static constexpr uint64_t kVersion = 1;

  uint64_t magic = kMagic;
  uint64_t version = kVersion;
  std::array<DiskState, kDiskFilesCount> files{};

  DiskState& of(DiskFiles which) { return files[static_cast<size_t>(which)]; }
};

/// A file of switches that are all off. kAlreadyExists when there is one.
Status create_disk_switches(const std::string& path);

/// Shares them with all who have mapped the same file. kDataLoss when it is no such file.
Result<std::shared_ptr<DiskSwitches>> map_disk_switches(const std::string& path);

}  // namespace freshet
