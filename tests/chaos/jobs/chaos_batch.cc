// Two shuffles through files, whatever the mode: partitions that are read again after their
// producer is gone, or made again while others have read them, must be the same ones.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

FRESHET_JOB(chaos_batch) {
  const Given given(env);
  const uint64_t coarse = std::max<uint64_t>(1, given.keys / 10);
  auto fine = env.from_source(records_from(0, given.records, given.rate), "numbers")
                  .rebalance()
                  .exchange(freshet::Exchange::kBlocking)
                  .map([keys = given.keys](const Numbered& one) { return tally_of(one, keys); })
                  .name("tally")
                  .key_by(&Tally::key)
                  .exchange(freshet::Exchange::kBlocking)
                  .reduce(add, freshet::Emit::final);
  fine.name("fine");
  fine.sink_to(lines_in<Tally>(given.output + "/fine")).name("fine counts");
  fine.map([coarse](const Tally& tally) {
        Tally larger = tally;
        larger.key = tally.key % coarse;
        return larger;
      })
      .name("coarser")
      .key_by(&Tally::key)
      .exchange(freshet::Exchange::kBlocking)
      .reduce(add, freshet::Emit::final)
      .name("coarse")
      .sink_to(lines_in<Tally>(given.output + "/coarse"))
      .name("coarse counts");
}
