#pragma once

#include <string>

#include "runtime/base/file_system.h"

namespace freshet {

/// The start of a file under /proc or /sys, whose size says nothing; empty when it cannot be read.
std::string read_kernel_file(FileSystem&, const std::string& path);

}  // namespace freshet
