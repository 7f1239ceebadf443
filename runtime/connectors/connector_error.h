#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/base/status.h"

namespace freshet {

/// How connectors fail their task: operators report failures by throwing, and the task boundary
/// turns what it catches into the task's cause. The text names the file and says what to do.
class ConnectorError : public std::runtime_error {
 public:
  explicit ConnectorError(const Status& status) : std::runtime_error(status.message()) {}
};

inline void throw_if_error(const Status& status) {
  if (!status.ok()) throw ConnectorError(status);
}

template <class T>
T value_or_throw(Result<T> result) {
  throw_if_error(result.status());
  return std::move(result).value();
}

}  // namespace freshet
