#include "runtime/base/process_environment.h"

#include <cstdlib>

namespace freshet {

std::optional<std::string> environment_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace freshet
