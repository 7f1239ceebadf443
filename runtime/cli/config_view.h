#pragma once

#include <string>
#include <vector>

#include "runtime/cli/given_settings.h"

namespace freshet::cli {

/// What is shown for a security.secret that was given.
inline constexpr char kHidden[] = "(hidden)";

/// A line of each setting with its value, default and origin in columns, and below it, indented,
/// what it may be, who reads it, and what it means.
std::string config_text(const std::vector<const ConfigKey*>&, const GivenSettings&);

/// An array with an object of each. All members are strings: `key`, `value`, `default`, `type`,
/// `values`, `read_by`, `meaning`, `origin`. What is no UTF-8 becomes U+FFFD.
std::string config_json(const std::vector<const ConfigKey*>&, const GivenSettings&);

}  // namespace freshet::cli
