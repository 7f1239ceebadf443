#pragma once

#include <stdexcept>
#include <utility>

#include "runtime/base/status.h"

namespace freshet {

/// How operators fail their task when what they put aside cannot be written or read.
class SpillError : public std::runtime_error {
 public:
  explicit SpillError(const Status& status) : std::runtime_error(status.message()) {}
};

inline void require_spilled(const Status& status) {
  if (!status.ok()) throw SpillError(status);
}

template <class T>
T spilled_value(Result<T> result) {
  require_spilled(result.status());
  return std::move(result).value();
}

}  // namespace freshet
