#pragma once

#include <optional>

#include "runtime/base/time.h"

namespace freshet {

/// Whether a step of one task lasts too long. Says so when it has lasted for the timeout, and again
/// each time that this has doubled.
class StepWatch {
 public:
  /// How long the step that began at `began` lasts, if that is to be said now. Now and then; `now`
  /// never goes back.
  std::optional<Duration> look(std::optional<TimePoint> began, TimePoint now, Duration timeout);

 private:
  std::optional<TimePoint> began_;
  Duration next_{};  // Of the step that began then.
};

}  // namespace freshet
