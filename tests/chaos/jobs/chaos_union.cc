// Three sources of different speed feed one input: a source that ends first, or that is read again
// while the others go on, must neither lose nor repeat a record of theirs.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

FRESHET_JOB(chaos_union) {
  const Given given(env);
  const uint64_t slow = given.records / 6, middle = given.records / 3;
  const auto share = [&](uint64_t count) {
    return given.rate * static_cast<double>(count) / static_cast<double>(given.records);
  };
  const uint64_t fast = given.records - slow - middle;
  // The slow one has twice the time of the others.
  const auto first = env.from_source(records_from(0, slow, share(slow) / 2), "slow");
  const auto second = env.from_source(records_from(slow, middle, share(middle)), "middle");
  const auto third = env.from_source(records_from(slow + middle, fast, share(fast)), "fast");
  first.union_with(second, third)
      .rebalance()
      .map([keys = given.keys](const Numbered& record) { return tally_of(record, keys); })
      .name("tally")
      .key_by(&Tally::key)
      .reduce(add, freshet::Emit::final)
      .name("count")
      .sink_to(lines_in<Tally>(given.output))
      .name("counts");
}
