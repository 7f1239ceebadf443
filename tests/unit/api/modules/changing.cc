#include "runtime/api/job.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/elements.h"

FRESHET_JOB(changing) {
  static int builds = 0;
  env.from_source(freshet::elements(std::vector<int64_t>{1}))
      .map([](const int64_t& value) { return value; })
      .name("build " + std::to_string(builds++))
      .sink_to(freshet::discard_sink<int64_t>());
}
