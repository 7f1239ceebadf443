#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/job_graph.h"

namespace freshet {

/// Why subtasks are in one region.
enum class RegionMerge : uint8_t {
  kPipelinedEdge,  // It joins two vertices.
  kVertexCycle,    // Two sets of vertices, each of which needs what the other gives.
  kAllToAllEdge,   // Inside of a set of vertices: it makes all their subtasks one region.
  kSubtaskCycle,   // Regions of subtasks, each of which needs what the other gives.
};

struct RegionReason {
  RegionMerge merge = RegionMerge::kPipelinedEdge;
  DatasetId edge;
  bool operator==(const RegionReason&) const = default;
};

/// Vertices that pipelined edges, or cycles through blocking ones, join. With pipelined edges only,
/// each region has subtasks of each of them.
struct LogicalRegion {
  std::vector<VertexId> vertices;     // Ascending.
  IndexRange regions;                 // Those that its subtasks are in.
  std::vector<RegionReason> reasons;  // By edge; at most one of each.
};

/// What becomes of regions that wait for each other.
enum class RegionCycles : uint8_t {
  kMerged,
  kLeft,  // Only for tests that show what comes of it: such a job waits for ever.
};

/// The subtasks of a job that must run at the same time, because data flows between them while it
/// is made (pipelined edges), or because they would wait for each other (blocking edges on a
/// cycle). All others may run one after the other, in the order in which blocking edges give.
///
/// Edges are groups here too: an all-to-all edge inside of a logical region makes all of it one
/// region, one between two is not looked at, and of pointwise ones each pair is looked at once. So
/// time and memory follow subtasks. See "Regions" in DESIGN_NOTES.md.
class PipelinedRegions {
 public:
  explicit PipelinedRegions(const JobGraph&, RegionCycles = RegionCycles::kMerged);

  uint32_t count() const { return static_cast<uint32_t>(first_member_.size()) - 1; }
  /// Subtasks are numbered vertex by vertex.
  uint32_t region_of(uint32_t subtask) const { return region_of_[subtask]; }
  std::span<const uint32_t> members(uint32_t region) const {
    return std::span(members_).subspan(first_member_[region],
                                       first_member_[region + 1] - first_member_[region]);
  }

  const std::vector<LogicalRegion>& logical_regions() const { return logical_; }
  /// Index in logical_regions().
  uint32_t logical_region_of(VertexId vertex) const { return logical_of_[vertex.value]; }

  /// Vertices, edges and pairs of pointwise edges that were visited: for the test that they follow
  /// the size of the job.
  uint64_t steps() const { return steps_; }

 private:
  class Builder;

  std::vector<uint32_t> region_of_;     // By subtask.
  std::vector<uint32_t> first_member_;  // In members_; one more than there are regions.
  std::vector<uint32_t> members_;       // Ascending in each region.
  std::vector<uint32_t> logical_of_;    // By vertex.
  std::vector<LogicalRegion> logical_;  // By their first vertex; so are the regions' numbers.
  uint64_t steps_ = 0;
};

/// For people, with the names of vertices: `pipelined edge 'source' -> 'count'`.
std::string describe(const RegionReason&, const JobGraph&);

}  // namespace freshet
