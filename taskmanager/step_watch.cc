#include "taskmanager/step_watch.h"

namespace freshet {

std::optional<Duration> StepWatch::look(std::optional<TimePoint> began, TimePoint now,
                                        Duration timeout) {
  if (began != began_) {
    began_ = began;
    next_ = timeout;
  }
  if (!began_ || now - *began_ < next_) return std::nullopt;
  const Duration lasts = now - *began_;
  while (next_ <= lasts) next_ *= 2;
  return lasts;
}

}  // namespace freshet
