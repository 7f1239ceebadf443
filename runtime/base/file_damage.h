#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.h"

namespace freshet {

/// What disks do to files, for tests: whoever has the file open sees it, too. Errors name the path.
Status flip_bit(const std::string& path, uint64_t offset, uint32_t bit);
Status cut_file(const std::string& path, uint64_t size_bytes);

}  // namespace freshet
