#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/api/result_check.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/chaos/provable.h"
#include "runtime/chaos/verdict.h"

namespace freshet::chaos {

/// Runs a job's own checker over what its sinks left. What it throws, an argument that it refuses,
/// and a sink that it never looked at are kUserError: then nothing is proven. Files that nobody
/// reads are leftovers, as in a comparison.
Result<OutputVerdict> run_checker(const std::function<void(ResultCheck&)>& checker,
                                  const std::vector<std::string>& arguments,
                                  const std::vector<SinkOutput>& outputs, FileSystem&);

/// From one process to another. Any other text than to_text() gave is kInvalidArgument.
std::string to_text(const OutputVerdict&);
Result<OutputVerdict> parse_output_verdict(const std::string& text);

}  // namespace freshet::chaos
