// Numbers from as many readers as there are sinks; each reader gives its numbers to all sinks in
// turn.

#include <cstdio>
#include <memory>

#include "runtime/api/job.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/sequence.h"

namespace {

/// Says how many there were in this process when the job has left it.
std::shared_ptr<freshet::DiscardedRecords> counter() {
  const auto say = [](freshet::DiscardedRecords* discarded) {
    const uint64_t count = discarded->count;
    if (count != 0) std::printf("%ju records dropped\n", static_cast<uintmax_t>(count));
    std::fflush(stdout);
    delete discarded;
  };
  return {new freshet::DiscardedRecords, say};
}

}  // namespace

FRESHET_JOB(all_to_all) {
  const int64_t records = env.arguments().integer_or("records", 1'000'000, "how many", 1);
  env.from_source(freshet::sequence(1, records))
      .rebalance()
      .map([](int64_t number) { return number + 1; })
      .sink_to(freshet::discard_sink<int64_t>(counter()));
}
