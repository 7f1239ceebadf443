#pragma once

#include <string_view>

#include "runtime/base/log.h"

namespace freshet {

/// As LOG_WARN, for what strangers can cause as often as they like: of each event only as many
/// lines as LineLimit allows are written, and the first one after that says how many were left out.
/// `event` must be a literal. Thread-safe.
void log_limited_warning(std::string_view event, std::initializer_list<LogField> fields);

}  // namespace freshet
