#pragma once

#include <string>
#include <vector>

#include "runtime/base/file_system.h"
#include "runtime/base/scripted_faults.h"
#include "runtime/chaos/fault.h"

namespace freshet::chaos {

/// The rule of `test.faults` for a fault at a mark; without a process when that is any.
std::string mark_rule(const Fault&);

/// What a record (`test.faults.record`) says by now, in the order in which it happened. A line that
/// is still being written is left out; none when there is no file yet.
std::vector<FiredFault> read_fired(FileSystem&, const std::string& record);

}  // namespace freshet::chaos
