// One record, which crosses an edge and is printed.

#include "runtime/api/job.h"
#include "runtime/connectors/print_sink.h"
#include "runtime/connectors/sequence.h"

FRESHET_JOB(first_record) {
  env.from_source(freshet::sequence(1, 1))
      .rebalance()
      .map([](int64_t number) { return number; })
      .sink_to(freshet::print_sink<int64_t>());
}
