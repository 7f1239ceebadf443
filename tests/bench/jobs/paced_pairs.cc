// Numbers at a rate, as long as nobody cancels; each reader gives its numbers to one sink.

#include "runtime/api/job.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/discard_sink.h"

FRESHET_JOB(paced_pairs) {
  const int64_t rate = env.arguments().integer("rate", "records per second", 1, 1'000'000'000);
  env.from_source(
         freshet::data_generator([](uint64_t index) { return static_cast<int64_t>(index); },
                                 uint64_t{1} << 62, static_cast<double>(rate)))
      .disable_chaining()
      .sink_to(freshet::discard_sink<int64_t>());
}
