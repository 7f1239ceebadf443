#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// Reads a log as it grows, whole lines at a time, also behind its rotation: a file that is shorter
/// than what was read is another one. What was written between the last look and a rotation is not
/// given. Belongs to one thread.
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

  const std::string path_;
  FileSystem& files_;
  uint64_t offset_ = 0;  // Behind the last line that was given.
};

}  // namespace freshet
