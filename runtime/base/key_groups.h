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
class KeyedConsumers {
 public:
  /// At most kMaxKeyGroups; `max_parallelism` is the number of key groups.
  KeyedConsumers(uint32_t parallelism, uint32_t max_parallelism)
      : parallelism_(parallelism),
        max_parallelism_(max_parallelism),
        reciprocal_((uint64_t{1} << kShift) / max_parallelism + 1) {}

  /// subtask_of_key_group() of the key's group.
  uint32_t subtask_of(uint64_t key_hash) const {
    // A division by a number that is always the same. The reciprocal is too large by less than
    // 1 / 2^kShift, and what is divided is below 2^30, so the error stays below 1 /
    // max_parallelism.
    const uint64_t scaled = uint64_t{key_group_of(key_hash, max_parallelism_)} * parallelism_;
    return static_cast<uint32_t>((scaled * reciprocal_) >> kShift);
  }

 private:
  static constexpr int kShift = 45;

  uint32_t parallelism_;
  uint32_t max_parallelism_;
  uint64_t reciprocal_;
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
