#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet {

/// Bytes [begin, end) of a file that others may write to meanwhile; fewer when it is shorter now.
Result<std::string> read_range(ReadableFile&, uint64_t begin, uint64_t end);
Result<std::string> read_range(FileSystem&, const std::string& path, uint64_t begin, uint64_t end);

}  // namespace freshet
