#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"

namespace {

/// Far deeper than any stack.
int call_itself(const int* depth) {
  volatile int local = *depth + 1;
  if (local == 1'000'000'000) return local;
  const int copy = local;
  return call_itself(&copy) + local;
}

/// What can happen to code of users.
void go_wrong(const std::string& how) {
  if (how == "throw") throw std::runtime_error("no luck with this number");
  if (how == "abort") std::abort();
  if (how == "segfault") *reinterpret_cast<volatile int*>(16) = 1;
  if (how == "overflow") {
    const int depth = 0;
    (void)call_itself(&depth);
  }
  for (volatile uint64_t turns = 0; how == "hang";) turns = turns + 1;
}

struct Trouble {
  std::string how;
  int64_t at = 0;
  std::string once;  // Empty: each time.

  void maybe(int64_t number) const {
    if (number != at) return;
    if (!once.empty() && !std::filesystem::create_directory(once)) return;
    go_wrong(how);
  }
};

Trouble trouble_of(freshet::Environment& env) {
  constexpr std::array kHows = {"throw", "abort", "segfault", "overflow", "hang"};
  freshet::Arguments& arguments = env.arguments();
  Trouble trouble;
  trouble.how = arguments.text("how", "what happens: throw, abort, segfault, overflow or hang");
  if (std::find(kHows.begin(), kHows.end(), trouble.how) == kHows.end())
    arguments.refuse("--how " + trouble.how + ": it is throw, abort, segfault, overflow or hang");
  trouble.at = arguments.integer_or("at", 500'000, "the number that it happens with", 0);
  trouble.once = env.path(arguments.text_or(
      "once", "", "a directory that is made when it happens; while there is one it does not"));
  return trouble;
}

}  // namespace

/// Copies numbers until one comes that the operator does not survive.
FRESHET_JOB(fragile) {
  const Trouble trouble = trouble_of(env);
  const std::string output = env.path(env.arguments().text("output", "directory to make"));
  env.from_source(freshet::sequence(0, 999'999))
      .map([trouble](int64_t number) {
        trouble.maybe(number);
        return number;
      })
      .name("fragile")
      .sink_to(freshet::file_sink<int64_t>(output));
}
