#include "runtime/app/signal_waiter.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "runtime/base/check.h"

namespace freshet {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

sigset_t waited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalWaiter::SignalWaiter() {
  const sigset_t set = waited_signals();
  CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  signal(SIGPIPE, SIG_IGN);
  // Started in the background by a shell without job control, a process inherits an ignored SIGINT.
  signal(SIGINT, SIG_DFL);
}

std::optional<SignalWaiter::Signal> SignalWaiter::wait(Duration timeout) {
  const sigset_t set = waited_signals();
  const int64_t nanos = timeout.count() > 0 ? timeout.count() : 0;
  const timespec limit{static_cast<time_t>(nanos / kNanosPerSecond),
                       static_cast<long>(nanos % kNanosPerSecond)};
  switch (sigtimedwait(&set, nullptr, &limit)) {
    case SIGINT:
      return Signal::kInterrupt;
    case SIGTERM:
    case SIGHUP:
      return Signal::kStop;
    case SIGCHLD:
      return Signal::kChild;
    default:
      return std::nullopt;
  }
}

void SignalWaiter::wait_for_stop() {
  while (true) {
    const auto signal = wait(1h);
    if (signal == Signal::kStop || signal == Signal::kInterrupt) return;
  }
}

}  // namespace freshet
