#pragma once

#include <string>

#include "runtime/base/file_system.h"

namespace freshet {

/// Where this process keeps the state of a local cluster: `PARENT/freshet-local-<pid>`.
std::string local_state_directory(const std::string& parent);

/// Removes what local clusters left that ended without tidying: directories of that name that
/// belong to this user and whose process does not live any more. What cannot be removed stays.
void remove_stale_local_state(const std::string& parent, FileSystem&);

}  // namespace freshet
