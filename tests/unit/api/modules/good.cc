#include "runtime/api/job.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"

FRESHET_JOB(good) {
  const int64_t factor = env.arguments().integer_or("factor", 2, "multiplies each number");
  env.from_source(freshet::elements(std::vector<int64_t>{1, 2, 3}))
      .map([factor](const int64_t& value) { return value * factor; })
      .uid("multiply")
      .sink_to(freshet::discard_sink<int64_t>());
}
