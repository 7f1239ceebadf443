#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/graph/job_graph.h"

namespace freshet {

/// Which of a job's slots each vertex uses; see "Slots" in DESIGN_NOTES.md. Plain value.
struct SlotShares {
  uint32_t total = 0;                          // Slots that the job needs.
  std::vector<uint32_t> first_slot_of_vertex;  // Where its subtask 0 lies, by index of the vertex.

  struct Group {
    std::string name;
    uint32_t slots = 0;
    bool operator==(const Group&) const = default;
  };
  std::vector<Group> groups;              // In the order in which they appear.
  std::vector<uint32_t> group_of_vertex;  // Index in groups.

  /// For people: `5 slots`; with several groups `5 slots (2 for slot sharing group 'default',
  /// ...)`. Names at most eight groups.
  std::string describe() const;
};

SlotShares share_slots(const JobGraph&);

}  // namespace freshet
