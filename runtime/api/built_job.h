#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/graph/job_module.h"

namespace freshet {

class Environment;

/// Runs a builder twice, each time in a new Environment, and compares. What it throws becomes
/// kUserError, or kInvalidArgument for arguments and misuse of the API; a second result that
/// differs is kUserError and says where. The job keeps nothing of `builder`.
Result<std::shared_ptr<const BuiltJob>> build_job(const std::string& name,
                                                  const std::function<void(Environment&)>& builder,
                                                  const BuildOptions&);

}  // namespace freshet
