#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "jobmanager/execution_graph.h"
#include "jobmanager/job_slots.h"
#include "runtime/graph/slot_sharing.h"

namespace freshet {

/// Which regions of a job run next, and in which of its slots. In a batch job each region has slots
/// of its own while it runs, so that a job with more subtasks than there are slots runs one region
/// after the other; otherwise all that can run runs at once, and subtask i of each vertex has slot
/// i of its slot sharing group. Pure. See "Slots" in DESIGN_NOTES.md.
class RegionSchedule {
 public:
  /// `graph` outlives it.
  explicit RegionSchedule(ExecutionGraph& graph);

  /// How many slots the job can use for what has not ended, and with how many it gets on.
  uint32_t slots_wanted() const;
  uint32_t slots_needed() const { return slots_needed_; }
  /// The latter, for people.
  const std::string& slots_text() const { return slots_text_; }

  JobSlots& slots() { return slots_; }
  const JobSlots& slots() const { return slots_; }

  struct Placement {
    uint32_t execution = 0;
    Slot slot;
  };
  /// The subtasks of all regions that can start now, with their slots, region by region. They are
  /// taken as started.
  std::vector<Placement> start_regions();
  /// There are regions that only lack slots.
  bool any_ready();

  /// The region's subtasks are gone: it lets go its slots. `again`: they have new attempts, and run
  /// again when their inputs are complete.
  void stop_region(uint32_t region, bool again);

  /// Free slots beyond what it can use, which it does not hold any more then; none while they are
  /// few beside those that it holds, so that this costs little. It keeps what it needs to get on.
  std::vector<Slot> take_surplus();

  /// A region that has ended makes room for another one.
  bool frees_slots() const { return batch_; }

 private:
  /// Where the members of a region are among its slots.
  struct Shape {
    std::vector<uint32_t> slot_of_member;  // As PipelinedRegions::members().
    SlotShares shares;                     // Its total and its groups.
  };

  void note_unblocked();
  Shape shape_of(uint32_t region) const;
  std::vector<TaskManagerId> places_of_inputs(uint32_t region) const;
  void start_batch_region(uint32_t region, std::vector<Placement>* placements);
  void start_fixed_region(uint32_t region, std::vector<Placement>* placements);

  ExecutionGraph& graph_;
  const bool batch_;
  SlotShares shares_;             // Of the whole job.
  std::vector<uint32_t> needed_;  // Slots, by region.
  std::vector<bool> ended_;       // By region.
  uint64_t needed_unended_ = 0;   // Sum of needed_ over all others.
  uint32_t slots_needed_ = 0;
  std::string slots_text_;
  JobSlots slots_;
  std::set<uint32_t> ready_;                   // Regions that wait for nothing but slots.
  std::vector<std::vector<uint32_t>> places_;  // Of the slots that each region has taken.
};

}  // namespace freshet
