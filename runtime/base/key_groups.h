#pragma once

#include <cstdint>

namespace freshet {

inline constexpr uint32_t kDefaultMaxParallelism = 128;
inline constexpr uint32_t kMaxKeyGroups = 32'768;  // Bound of a keyed vertex's parallelism too.
inline constexpr uint32_t kMaxStatelessParallelism = 1u << 20;

/// The key group of a key: the unit in which keyed state moves between subtasks. A pure function of
/// the serialised key, so it never depends on process, parallelism or history. The high bits are
/// scaled, which is as even as a modulo and cheaper.
inline uint32_t key_group_of(uint64_t key_hash, uint32_t max_parallelism) {
  return static_cast<uint32_t>(((key_hash >> 32) * max_parallelism) >> 32);
}

/// The subtask that owns a key group: floor(group * parallelism / max_parallelism), as in Flink.
inline uint32_t subtask_of_key_group(uint32_t key_group, uint32_t parallelism,
                                     uint32_t max_parallelism) {
  return static_cast<uint32_t>(static_cast<uint64_t>(key_group) * parallelism / max_parallelism);
}

/// The subtasks among which the keys of an edge are spread.
struct KeyedConsumers {
  uint32_t parallelism = 1;
  uint32_t max_parallelism = 1;  // Key groups.

  uint32_t subtask_of(uint64_t key_hash) const {
    return subtask_of_key_group(key_group_of(key_hash, max_parallelism), parallelism,
                                max_parallelism);
  }
};

/// Key groups [begin, end).
struct KeyGroupRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool contains(uint32_t key_group) const { return key_group >= begin && key_group < end; }
  uint32_t size() const { return end - begin; }
  bool operator==(const KeyGroupRange&) const = default;
};

/// Exactly those groups for which subtask_of_key_group() is `subtask`.
inline KeyGroupRange key_groups_of_subtask(uint32_t subtask, uint32_t parallelism,
                                           uint32_t max_parallelism) {
  const auto first = [&](uint64_t index) {
    return static_cast<uint32_t>((index * max_parallelism + parallelism - 1) / parallelism);
  };
  return {first(subtask), first(subtask + 1ull)};
}

}  // namespace freshet
