#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/graph/pipelined_regions.h"

namespace freshet {

/// For each region, how many of its blocking inputs are not complete. A region never waits for
/// itself: of an input that it makes in part itself only the others' part counts.
///
/// Each end of a producer costs what the pointwise edge beside it has of consumers; the end of an
/// all-to-all group once as much as it has consumer regions. So a whole stage costs as much as it
/// has subtasks.
class RegionInputs {
 public:
  /// `regions` outlives it. Groups are added in the order of their numbers.
  explicit RegionInputs(const PipelinedRegions& regions)
      : regions_(regions), open_(regions.count(), 0), first_entry_{0} {}

  /// A group over which nobody waits: pipelined, or inside of one region.
  void add_nothing();
  /// All-to-all: the producers, of other regions, are one input of each region of some ranges.
  void add_all_to_all(std::vector<IndexRange> consumer_regions, uint32_t producers);
  /// Pointwise: subtasks of the graph, by their numbers.
  void add_pointwise(IndexRange producers, IndexRange consumers);

  /// A producer of a group has ended, or has lost what it had made.
  void producer_ended(uint32_t group, uint32_t producer);
  void producer_reopened(uint32_t group, uint32_t producer);

  uint32_t open(uint32_t region) const { return open_[region]; }
  /// The regions whose last input became complete since the last call, with some that did so and
  /// were opened again; at first those without inputs.
  std::vector<uint32_t> take_unblocked();

 private:
  struct Entry {
    uint32_t region = 0;
    uint32_t unfinished = 0;  // Producers in other regions.
  };
  struct Wide {
    uint32_t group = 0;
    std::vector<IndexRange> regions;
    uint32_t unfinished = 0;

    template <class Do>
    void for_each_region(Do run) const {
      for (const IndexRange& range : regions) {
        for (uint32_t r = range.begin; r < range.end; r++) run(r);
      }
    }
  };

  Wide* find_wide(uint32_t group);
  void close(uint32_t region);

  const PipelinedRegions& regions_;
  std::vector<uint32_t> open_;         // By region.
  std::vector<uint32_t> first_entry_;  // By group, one more than there are.
  std::vector<Entry> entries_;         // Of pointwise groups.
  std::vector<Wide> wide_;             // All-to-all groups, ascending; few.
  std::vector<uint32_t> unblocked_;
  bool asked_ = false;
};

}  // namespace freshet
