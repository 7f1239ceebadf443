#pragma once

#include <string>

#include "runtime/chaos/run_record.h"

namespace freshet::cli {

/// What can be broken, and the marks with what they mean.
std::string list_of_faults();

/// What became of it, for a terminal.
std::string text_of(const chaos::ChaosRecord&);

}  // namespace freshet::cli
