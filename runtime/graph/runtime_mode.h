#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace freshet {

enum class RuntimeMode : uint8_t {
  kStreaming = 0,
  kBatch = 1,
  kAutomatic = 2,  // Batch when every source is bounded.
};

/// How the records of an edge are spread over the consumer's subtasks.
enum class Partitioning : uint8_t {
  kForward = 0,    // Subtask i to subtask i; equal parallelism.
  kHash = 1,       // By key group of the record's key.
  kRebalance = 2,  // Round robin over all.
  kRescale = 3,    // Round robin over the consumer's pointwise share.
  kBroadcast = 4,  // Each record to all.
  kShuffle = 5,    // At random, through Decisions.
  kGlobal = 6,     // All to subtask 0.
  kDirect = 7,     // The record names its subtask: split assignment.
  kCustom = 8,     // A user's function of the key.
};

/// True when a producer may send to every consumer; false when pointwise.
inline bool is_all_to_all(Partitioning p) {
  return p != Partitioning::kForward && p != Partitioning::kRescale;
}

enum class Exchange : uint8_t { kPipelined = 0, kBlocking = 1 };

std::string_view to_string(RuntimeMode);
std::string_view to_string(Partitioning);
Result<RuntimeMode> parse_runtime_mode(std::string_view text);

}  // namespace freshet
