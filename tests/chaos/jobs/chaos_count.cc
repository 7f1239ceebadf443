// Counts by key, and passes each record through: what is lost, doubled or damaged on the way to
// keyed state shows in `counts`, and in `records` by its own number.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

FRESHET_JOB(chaos_count) {
  const Given given(env);
  auto records = env.from_source(records_from(0, given.records, given.rate), "numbers")
                     .rebalance()
                     .map([](const Numbered& record) { return record; });
  records.name("pass on");
  records.map([keys = given.keys](const Numbered& record) { return tally_of(record, keys); })
      .key_by(&Tally::key)
      .reduce(add, freshet::Emit::final)
      .name("count")
      .sink_to(lines_in<Tally>(given.output + "/counts"))
      .name("counts");
  records.rebalance()
      .sink_to(lines_in<Numbered>(given.output + "/records"))
      .name("records")
      .disable_chaining();
}
