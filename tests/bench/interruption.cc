#include "tests/bench/interruption.h"

#include <signal.h>

namespace freshet::bench {

namespace {
volatile sig_atomic_t interrupted = 0;
}

void end_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

Status check_interrupted() { return interrupted ? aborted("interrupted") : Status(); }

}  // namespace freshet::bench
