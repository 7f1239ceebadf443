#include "tests/bench/latency_load.h"

#include <sys/prctl.h>
#include <time.h>

namespace freshet::bench {

void sleep_until(TimePoint time) {
  const int64_t nanos = time.time_since_epoch().count();
  const timespec wanted{nanos / 1'000'000'000, nanos % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, nullptr);
}

void sleep_exactly() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

}  // namespace freshet::bench
