#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/rest/cluster_queries.h"

namespace freshet {

/// Of the process `pid` of this machine, or of `self`, in the order in which they began. Those that
/// end meanwhile are left out. kNotFound when nothing can be known of the process.
Result<std::vector<ThreadView>> threads_of(const std::string& pid, FileSystem&);

/// `"jm-main" Id=4711 SLEEPING cpu=1230ms in futex_wait`. `stat` and `wait_channel` are what the
/// kernel says of it; nullopt when that is nothing.
std::optional<std::string> thread_line(const std::string& name, const std::string& stat,
                                       const std::string& wait_channel);

}  // namespace freshet
