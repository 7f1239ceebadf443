#include "runtime/base/check.h"
#include "runtime/graph/job_graph.h"

namespace freshet {
namespace {

uint32_t floor_share(uint64_t index, uint64_t of, uint64_t parts) {
  return static_cast<uint32_t>(index * of / parts);
}

uint32_t ceiling_share(uint64_t index, uint64_t of, uint64_t parts) {
  return static_cast<uint32_t>((index * of + parts - 1) / parts);
}

}  // namespace

// See "Pointwise edges" in DESIGN_NOTES.md.
IndexRange producers_of_consumer(Partitioning partitioning, uint32_t consumer, uint32_t producers,
                                 uint32_t consumers) {
  CHECK(consumer < consumers && producers > 0);
  if (is_all_to_all(partitioning)) return {0, producers};
  if (producers >= consumers) {
    return {floor_share(consumer, producers, consumers),
            floor_share(consumer + 1ull, producers, consumers)};
  }
  // The one producer whose share of the consumers holds this one: the inverse of the range below.
  const uint32_t producer = floor_share(consumer, producers, consumers);
  return {producer, producer + 1};
}

IndexRange consumers_of_producer(Partitioning partitioning, uint32_t producer, uint32_t producers,
                                 uint32_t consumers) {
  CHECK(producer < producers && consumers > 0);
  if (is_all_to_all(partitioning)) return {0, consumers};
  if (producers < consumers) {
    return {ceiling_share(producer, consumers, producers),
            ceiling_share(producer + 1ull, consumers, producers)};
  }
  // The largest consumer whose first producer is not above this one.
  const uint32_t consumer = ceiling_share(producer + 1ull, consumers, producers) - 1;
  return {consumer, consumer + 1};
}

}  // namespace freshet
