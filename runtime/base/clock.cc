#include "runtime/base/clock.h"

namespace freshet {

namespace {

class SystemClock final : public Clock {
 public:
  TimePoint now() const override {
    return TimePoint(
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
  EpochMillis epoch_millis() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

std::unique_ptr<Clock> make_system_clock() { return std::make_unique<SystemClock>(); }

}  // namespace freshet
