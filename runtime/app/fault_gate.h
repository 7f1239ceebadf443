#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/configuration.h"
#include "runtime/base/faults.h"

namespace freshet {

/// What is wrong with `test.*`. Refused unless the process was started with --allow-faults: a
/// setting alone must not break anything.
Status check_faults(const Configuration&, bool allowed);

/// The faults that `test.faults` asks for in the process of that name; null when it is not set.
/// Without a side the process is both.
Result<std::unique_ptr<Faults>> faults_of(const Configuration&, bool allowed,
                                          const std::string& process,
                                          std::optional<FaultSide> side);

}  // namespace freshet
