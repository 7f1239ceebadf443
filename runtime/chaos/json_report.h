#pragma once

#include <string>

#include "runtime/chaos/run_record.h"

namespace freshet::chaos {

/// The same for programs; the README tells the keys. Ends with a newline.
std::string json_report(const ChaosRecord&);

}  // namespace freshet::chaos
