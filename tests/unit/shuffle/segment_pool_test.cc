#include "shuffle/segment_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "runtime/base/random.h"

namespace freshet {
namespace {

TEST(SegmentPoolTest, CutsASegmentIntoBlocksOfOneSize) {
  SegmentPool pool(2 * kLargeBlockBytes);
  EXPECT_EQ(pool.total_bytes(), 2 * kLargeBlockBytes);
  std::set<char*> blocks;
  for (int i = 0; i < 64; ++i) blocks.insert(pool.allocate(kSmallBlockBytes));
  EXPECT_EQ(blocks.size(), 64u);
  EXPECT_EQ(*blocks.rbegin() - *blocks.begin(), kLargeBlockBytes - kSmallBlockBytes);
  EXPECT_EQ(pool.free_bytes(), kLargeBlockBytes);
  char* large = pool.allocate(kLargeBlockBytes);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(pool.allocate(kMediumBlockBytes), nullptr);
  EXPECT_EQ(pool.allocate(kSmallBlockBytes), nullptr);
  for (char* block : blocks) pool.free(block);
  EXPECT_EQ(pool.free_bytes(), kLargeBlockBytes);
  pool.free(large);
  EXPECT_EQ(pool.free_bytes(), pool.total_bytes());
}

TEST(SegmentPoolTest, UsesAReturnedSegmentForAnotherSize) {
  SegmentPool pool(kLargeBlockBytes);
  char* small = pool.allocate(kSmallBlockBytes);
  EXPECT_EQ(pool.allocate(kMediumBlockBytes), nullptr);
  pool.free(small);
  char* medium = pool.allocate(kMediumBlockBytes);
  EXPECT_NE(medium, nullptr);
  pool.free(medium);
}

TEST(SegmentPoolTest, GivesEachByteToOneHolderUnderRandomUse) {
  SegmentPool pool(16 * kLargeBlockBytes);
  auto random = make_seeded_random(3);
  struct Held {
    char* block;
    uint32_t bytes;
    char mark;
  };
  std::vector<Held> held;
  constexpr uint32_t kSizes[] = {kSmallBlockBytes, kMediumBlockBytes, kLargeBlockBytes};
  for (int step = 0; step < 20'000; ++step) {
    if (random->one_in(2)) {
      const uint32_t bytes = kSizes[random->below(3)];
      char* block = pool.allocate(bytes);
      if (block == nullptr) continue;
      const char mark = static_cast<char>(random->next());
      block[0] = block[bytes - 1] = mark;
      held.push_back({block, bytes, mark});
    } else if (!held.empty()) {
      std::swap(held[random->below(held.size())], held.back());
      const Held last = held.back();
      held.pop_back();
      ASSERT_EQ(last.block[0], last.mark);
      ASSERT_EQ(last.block[last.bytes - 1], last.mark);
      pool.free(last.block);
    }
  }
  for (const Held& last : held) pool.free(last.block);
  EXPECT_EQ(pool.free_bytes(), pool.total_bytes());
}

}  // namespace
}  // namespace freshet
