// Readers that have next to nothing to read, rebalanced to as many sinks.

#include "runtime/api/job.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/discard_sink.h"

FRESHET_JOB(idle_tasks) {
  const int64_t records = env.arguments().integer("records", "how many", 1);
  const int64_t rate = env.arguments().integer("rate", "records per second", 1, 1'000'000'000);
  env.from_source(
         freshet::data_generator([](uint64_t index) { return static_cast<int64_t>(index); },
                                 static_cast<uint64_t>(records), static_cast<double>(rate)))
      .rebalance()
      .map([](int64_t number) { return number; })
      .sink_to(freshet::discard_sink<int64_t>());
}
