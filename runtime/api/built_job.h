#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/graph/job_module.h"

namespace freshet {

class Environment;

/// Runs a builder in a new Environment. What it throws becomes kUserError, or kInvalidArgument for
/// arguments and misuse of the API. The job keeps nothing of `builder`.
Result<std::shared_ptr<const BuiltJob>> build_job(const std::string& name,
                                                  const std::function<void(Environment&)>& builder,
                                                  const BuildOptions&);

/// What a client does before it submits a job: builds it twice and compares. A second result that
/// differs is kUserError and says where.
Result<std::shared_ptr<const BuiltJob>> build_twice(JobModule& module, const BuildOptions&);

}  // namespace freshet
