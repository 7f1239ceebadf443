// One record after the other through every way of spreading records, with operators between them
// that are never chained: an edge of each kind is broken by some fault, and none may lose a record.
#include "tests/chaos/jobs/numbered.h"

using namespace chaos_jobs;

FRESHET_JOB(chaos_edges) {
  const Given given(env);
  const auto same = [](const Numbered& record) { return record; };
  const auto step = [&](const freshet::DataStream<Numbered>& from, const char* name) {
    auto next = from.map(same);
    next.name(name).disable_chaining();
    return next;
  };
  auto records = env.from_source(records_from(0, given.records, given.rate), "numbers");
  records = step(records.rebalance(), "rebalanced");
  records = step(records.rescale(), "rescaled");
  records = step(records.forward(), "forwarded");
  records = step(records.shuffle(), "shuffled");
  records = step(records.partition_custom(
                     [](const uint64_t& id, uint32_t partitions) {
                       return static_cast<uint32_t>(id % partitions);
                     },
                     &Numbered::id),
                 "partitioned");
  records = step(records.global(), "gathered");
  records.key_by(&Numbered::id)
      .reduce(
          [](const Numbered& so_far, const Numbered& twice) {
            return Numbered{so_far.magic, so_far.id,
                            so_far.value + twice.value};  // Damaged by that.
          },
          freshet::Emit::final)
      .name("once each")
      .sink_to(lines_in<Numbered>(given.output))
      .name("records");
}
