#pragma once

#include <stdexcept>

namespace freshet {

/// What an operator throws when another attempt would fail in the same way: its job fails at once,
/// where every other exception has it restarted. The text names the thing and says what to do.
class PermanentFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace freshet
