#pragma once

#include <string>

#include "runtime/app/job_compiler.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace freshet::cli {

/// Whether a path is called like a C++ source.
bool is_source(const std::string& path);

/// kNotFound or the like when it cannot be read.
Status check_source(const std::string& path, FileSystem&);

/// With the compiler and flags of the library that this binary runs with.
Result<JobCompiler> find_job_compiler(FileSystem&);

/// The module of a job's source. It is built when that was not done before, or something that it
/// was made of has changed since. `state_directory` may be empty.
Result<std::string> module_of_source(const std::string& source, const std::string& state_directory,
                                     FileSystem&);

}  // namespace freshet::cli
