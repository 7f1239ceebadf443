#pragma once

#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/rest/cluster_queries.h"

namespace freshet {

/// Of one process: the file that it logs to, those that it was rotated to, and, where a supervisor
/// keeps it, what the process printed. `log_path` is as the process was told; kNotFound when empty.
Result<std::vector<LogFileView>> log_files(const std::string& log_path, FileSystem&);

/// The end of one of them, at most kLogTextBytesMax from a line's begin on. kNotFound for any other
/// name than those above.
inline constexpr uint64_t kLogTextBytesMax = 4u << 20;
Result<std::string> log_text(const std::string& log_path, const std::string& name, FileSystem&);

/// `taskmanager-1.log` and `taskmanager-1.out` of `/.../taskmanager-1.log`.
std::string log_name(const std::string& log_path);
std::string output_name(const std::string& log_path);

}  // namespace freshet
