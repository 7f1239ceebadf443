#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/job_graph.h"

namespace freshet {

/// Which of a job's slots each vertex uses; see "Slots" in DESIGN_NOTES.md. Plain value.
struct SlotShares {
  uint32_t total = 0;                          // Slots that the job needs.
  std::vector<uint32_t> first_slot_of_vertex;  // Where its subtask 0 lies, by index of the vertex.
};

SlotShares share_slots(const JobGraph&);

}  // namespace freshet
