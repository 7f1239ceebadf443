#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/chaos/fault.h"

namespace freshet::chaos {

/// What was done to one file.
struct FileDamage {
  enum class Kind { kFlip, kCut, kDelete };

  Kind kind = Kind::kFlip;
  std::string path;
  uint64_t size_bytes = 0;  // Before.
  uint64_t offset = 0;      // Of the byte, or of the new end.
  uint32_t bit = 0;

  /// `bit 3 of byte 120 of /a/b flipped (4096 bytes)`.
  std::string to_string() const;
};

/// The published files of a kind that are there now, sorted by path. `directories`: what a
/// TaskManager was given as its state directory, and as directories for temporary files if it was.
/// They may come and go meanwhile.
std::vector<FileInfo> find_files(FileSystem&, const std::vector<std::string>& directories,
                                 FileKind);

/// Damages the file that `chance` chooses, at a place that it chooses, too; kNotFound when there is
/// none. The file of partitions is changed where it is, under those who read it. That of a module
/// is replaced: what a process has loaded of it stays as it was, as with a disk that forgets.
Result<FileDamage> damage_file(FileSystem&, const std::vector<std::string>& directories, FileKind,
                               FileDamage::Kind, uint64_t chance);

}  // namespace freshet::chaos
