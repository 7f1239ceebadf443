#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// Reads a log as it grows, whole lines at a time. A file that is renamed away is read to its end
/// before the one that takes its place. Belongs to one thread.
class LogFollower {
 public:
  LogFollower(std::string path, FileSystem& files) : path_(std::move(path)), files_(files) {}

  /// The last lines that are there now, at most `lines`; what follows comes from next().
  Result<std::string> tail(size_t lines);

  /// What has come since, up to the last line break; empty when nothing has, or when there is no
  /// file (any more, or yet).
  Result<std::string> next();

 private:
  static constexpr uint64_t kBytesAtOnceMax = 1u << 20;

  Result<std::string> read_lines();
  Result<bool> was_replaced(uint64_t size_before);

  const std::string path_;
  FileSystem& files_;
  std::unique_ptr<ReadableFile> file_;  // The one that is read, whatever it is called by now.
  uint64_t offset_ = 0;                 // Behind the last line that was given.
  uint64_t end_ = 0;                    // Of what was seen of the file.
};

}  // namespace freshet
