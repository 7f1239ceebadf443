#pragma once

#include <string>

#include "runtime/chaos/run_record.h"

namespace freshet::chaos {

/// One page that needs nothing else: no scripts, no network. The same record gives the same bytes.
std::string html_report(const ChaosRecord&);

}  // namespace freshet::chaos
