#include "runtime/base/key_groups.h"

#include <gtest/gtest.h>

#include <vector>

#include "runtime/base/hash.h"

namespace freshet {
namespace {

TEST(KeyGroupsTest, RangesOfSubtasksTileAllGroupsAndAgreeWithRouting) {
  for (uint32_t max : {1u, 2u, 7u, 128u, 1000u, 32'768u}) {
    for (uint32_t parallelism : {1u, 2u, 3u, 5u, 64u, 127u, 128u, 999u}) {
      if (parallelism > max) continue;
      uint32_t next = 0;
      for (uint32_t subtask = 0; subtask < parallelism; subtask++) {
        const KeyGroupRange range = key_groups_of_subtask(subtask, parallelism, max);
        ASSERT_EQ(range.begin, next);
        ASSERT_GT(range.size(), 0u);
        for (uint32_t group = range.begin; group < range.end; group++) {
          ASSERT_EQ(subtask_of_key_group(group, parallelism, max), subtask);
        }
        next = range.end;
      }
      ASSERT_EQ(next, max);
    }
  }
}

TEST(KeyGroupsTest, ConsumersOfHashesOwnTheGroups) {
  for (uint32_t max : {1u, 2u, 3u, 7u, 127u, 128u, 1000u, 32'767u, 32'768u}) {
    for (uint32_t parallelism : {1u, 2u, 3u, 5u, 64u, 127u, 128u, 999u, 32'767u, 32'768u}) {
      if (parallelism > max) continue;
      const KeyedConsumers consumers(parallelism, max);
      for (uint64_t group = 0; group < max; group++) {
        const uint64_t first_hash = ((group << 32) + max - 1) / max << 32;
        ASSERT_EQ(key_group_of(first_hash, max), group);
        ASSERT_EQ(consumers.subtask_of(first_hash),
                  subtask_of_key_group(static_cast<uint32_t>(group), parallelism, max));
      }
    }
  }
}

TEST(KeyGroupsTest, SpreadsKeysEvenly) {
  std::vector<int> count(128);
  for (int i = 0; i < 128'000; i++)
    count[key_group_of(hash_key("key-" + std::to_string(i)), 128)]++;
  for (const int n : count) EXPECT_NEAR(n, 1000, 200);
}

}  // namespace
}  // namespace freshet
