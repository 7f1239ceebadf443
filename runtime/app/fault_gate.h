#pragma once

#include <memory>

#include "runtime/base/configuration.h"
#include "runtime/base/faults.h"

namespace freshet {

/// The faults that `test.faults` asks for; null when it is not set. Refused unless the process was
/// started with
/// --allow-faults: a setting alone must not break anything.
Result<std::unique_ptr<Faults>> faults_of(const Configuration&, bool allowed);

}  // namespace freshet
