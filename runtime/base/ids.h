#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/random.h"
#include "runtime/base/status.h"

namespace freshet {

/// An integer that names one kind of thing. Values copy; the default names nothing in particular.
template <class Tag, class Rep>
struct Id {
  Rep value{};
  auto operator<=>(const Id&) const = default;
};

/// 128 random bits, shown as 32 hex digits.
struct JobId {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const JobId&) const = default;

  static JobId random(Random&);
  static Result<JobId> parse(std::string_view hex);
  std::string to_string() const;
};

using OperatorId =
    Id<struct OperatorTag, uint64_t>;  // Stable over builds: from the uid or the graph's shape.
using VertexId = Id<struct VertexTag, uint32_t>;  // Index in JobGraph::vertices.
using DatasetId =
    Id<struct DatasetTag, uint32_t>;  // Index in JobGraph::edges: what one vertex gives another.
using TaskManagerId = Id<struct TaskManagerTag, uint64_t>;  // Random, one per process start.
using AllocationId = Id<struct AllocationTag, uint64_t>;    // One per giving of a slot to a job.
using CheckpointId = Id<struct CheckpointTag, uint64_t>;    // Rises by one per job, from 1.
using AttemptNumber = uint32_t;  // 0 is the first execution of a subtask.

std::string to_string(OperatorId);
std::string to_string(TaskManagerId);

struct SubtaskId {
  VertexId vertex;
  uint32_t index = 0;
  auto operator<=>(const SubtaskId&) const = default;
};

/// One execution of one subtask.
struct AttemptId {
  JobId job;
  SubtaskId subtask;
  AttemptNumber attempt = 0;
  auto operator<=>(const AttemptId&) const = default;
};

/// `2/5`: vertex and subtask index.
std::string to_string(const SubtaskId&);
/// `2/5#1`: with the attempt; the job is named elsewhere.
std::string to_string(const AttemptId&);

}  // namespace freshet

template <class Tag, class Rep>
struct std::hash<freshet::Id<Tag, Rep>> {
  size_t operator()(const freshet::Id<Tag, Rep>& id) const { return std::hash<Rep>()(id.value); }
};
template <>
struct std::hash<freshet::JobId> {
  size_t operator()(const freshet::JobId& id) const {
    return id.high ^ (id.low * 0x9E3779B97F4A7C15ull);
  }
};
template <>
struct std::hash<freshet::SubtaskId> {
  size_t operator()(const freshet::SubtaskId& id) const {
    return (static_cast<uint64_t>(id.vertex.value) << 32 | id.index) * 0x9E3779B97F4A7C15ull;
  }
};
template <>
struct std::hash<freshet::AttemptId> {
  size_t operator()(const freshet::AttemptId& id) const {
    return std::hash<freshet::JobId>()(id.job) ^ std::hash<freshet::SubtaskId>()(id.subtask) ^
           (id.attempt * 0xC2B2AE3D27D4EB4Full);
  }
};
