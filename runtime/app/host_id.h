#pragma once

#include <string>

#include "runtime/base/file_system.h"

namespace freshet {

/// Names this machine since its last boot, by a hash: processes with the same one share files and
/// may take over each other's. A machine that cannot be told from others (no machine id) is named
/// by its boot alone.
std::string host_id(FileSystem&);

/// Random, one per boot; empty when the kernel does not tell.
std::string boot_id(FileSystem&);

}  // namespace freshet
