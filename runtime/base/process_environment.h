#pragma once

#include <optional>
#include <string>

namespace freshet {

/// The value of an environment variable; nullopt when it is not set. The only reader of the
/// environment: the composition root asks once and hands the answer on.
std::optional<std::string> environment_variable(const std::string& name);

}  // namespace freshet
