#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/ids.h"
#include "runtime/graph/publication.h"
#include "runtime/graph/runtime_mode.h"

namespace freshet {

inline constexpr const char* kDefaultSlotSharingGroup = "default";

enum class Chaining : uint8_t { kAlways, kHead, kNever };  // kHead: not with what comes before.

/// One operator as the user wrote it. Values copy.
struct LogicalOperator {
  OperatorId id;  // Filled by assign_operator_ids().
  std::string name;
  std::string uid;               // Given by the user; empty: the id comes from the graph's shape.
  uint32_t parallelism = 0;      // 0: the job's default.
  uint32_t max_parallelism = 0;  // 0: default.
  uint32_t inputs = 1;           // Number of inputs; 0 for a coordinator.
  uint32_t outputs = 1;
  bool source = false;
  bool bounded = true;     // Of a source.
  bool repeatable = true;  // Of a source; see Source. No part of the fingerprint.
  bool sink = false;
  bool keyed = false;        // Its first input must be hash-partitioned.
  bool coordinator = false;  // A hidden task of parallelism 1: a split enumerator.
  bool blocking = false;     // Wants a thread of its own.
  Chaining chaining = Chaining::kAlways;
  std::string owned;               // See OperatorFactory::owned(). No part of the fingerprint.
  Publication publication;         // Of a sink. No part of the fingerprint.
  std::string slot_sharing_group;  // Empty: that of its inputs when they agree, else "default".
};

/// One edge between operators, by index in LogicalGraph::operators.
struct LogicalEdge {
  uint32_t from = 0;
  uint32_t from_output = 0;
  uint32_t to = 0;
  uint32_t to_input = 0;
  Partitioning partitioning = Partitioning::kForward;
  bool feedback = false;  // Against the flow: a reader's requests to its enumerator.
  std::optional<Exchange> exchange;
  std::string type_fingerprint;
  std::optional<uint64_t> buffer_timeout_ms;
};

/// What a job's builder made: plain values, in the order in which the user wrote them.
struct LogicalGraph {
  std::vector<LogicalOperator> operators;
  std::vector<LogicalEdge> edges;
};

/// Gives every operator its id: from its uid, or else from the shape of what is before it and its
/// own place. kInvalidArgument when two uids are equal. The same graph gives the same ids in every
/// process.
Status assign_operator_ids(LogicalGraph&);

/// Hash of operators, edges and uids; not of parallelism. Two builds of one job must agree on it.
uint64_t fingerprint_of(const LogicalGraph&);

}  // namespace freshet
