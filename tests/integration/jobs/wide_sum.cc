// Numbers that cross two all-to-all edges, and their sum.
#include <string>

#include "runtime/api/job.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/sequence.h"

FRESHET_JOB(wide_sum) {
  const int64_t numbers = env.arguments().integer("numbers", "how many", 1);
  const std::string output = env.path(env.arguments().text("output", "a new directory"));
  env.from_source(freshet::sequence(1, numbers))
      .rebalance()
      .map([](const int64_t& number) { return number; })
      .key_by([](const int64_t&) { return 0; })
      .reduce([](const int64_t& a, const int64_t& b) { return a + b; })
      .sink_to(freshet::file_sink<int64_t>(output))
      .set_parallelism(1);
}
