#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/configuration.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"

namespace freshet {

/// What is wrong with `test.*`. Refused unless the process was started with --allow-faults: a
/// setting alone must not break anything.
Status check_faults(const Configuration&, bool allowed);

/// The faults that `test.faults` and `test.records` ask for in the process of that name; null when
/// neither is set.
/// Without a side the process is both.
Result<std::unique_ptr<Faults>> faults_of(const Configuration&, bool allowed,
                                          const std::string& process,
                                          std::optional<FaultSide> side);

/// The files of a TaskManager with that state directory: those of the machine, on a disk that
/// `test.disk` switches when it is set.
Result<std::unique_ptr<FileSystem>> files_of(const Configuration&, bool allowed,
                                             const std::string& state_directory);

}  // namespace freshet
