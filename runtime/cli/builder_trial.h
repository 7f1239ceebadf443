#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/base/time.h"
#include "runtime/graph/job_module.h"

namespace freshet::cli {

/// Builds the job in a process of its own first: a builder that crashes or does not return is an
/// error here, with the place in its code, and costs this process nothing. What it throws is left
/// to who builds it for good.
Status try_builder(const std::string& module, const BuildOptions&, Duration patience);

}  // namespace freshet::cli
