#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/time.h"
#include "runtime/chaos/provable.h"
#include "runtime/chaos/verdict.h"

namespace freshet::cli {

/// Runs the FRESHET_CHECK of a module over what its sinks left, in a process of its own: what is
/// wrong with the checker, if it throws, crashes or does not return, is an error that says so.
Result<chaos::Verdict> check_result(const std::string& module,
                                    const std::vector<std::string>& arguments,
                                    const std::vector<chaos::SinkOutput>& outputs,
                                    Duration patience);

}  // namespace freshet::cli
