#include "shuffle/segment_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "runtime/base/random.h"
#include "shuffle/block_reserve.h"

namespace freshet {
namespace {

TEST(SegmentPoolTest, CutsASegmentIntoBlocksOfOneSize) {
  auto shared_pool = std::make_shared<SegmentPool>(2 * kLargeBlockBytes);
  SegmentPool& pool = *shared_pool;
  EXPECT_EQ(pool.total_bytes(), 2 * kLargeBlockBytes);
  std::set<char*> memory;
  std::vector<Block*> blocks;
  constexpr size_t kBlocks = kLargeBlockBytes / kSmallBlockBytes;
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(pool.allocate(kSmallBlockBytes));
    memory.insert(blocks.back()->data());
  }
  EXPECT_EQ(memory.size(), kBlocks);
  EXPECT_EQ(*memory.rbegin() - *memory.begin(), kLargeBlockBytes - kSmallBlockBytes);
  EXPECT_EQ(pool.free_bytes(), kLargeBlockBytes);
  Block* large = pool.allocate(kLargeBlockBytes);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(pool.allocate(kMediumBlockBytes), nullptr);
  EXPECT_EQ(pool.allocate(kSmallBlockBytes), nullptr);
  for (Block* block : blocks) pool.free(block);
  EXPECT_EQ(pool.free_bytes(), kLargeBlockBytes);
  pool.free(large);
  EXPECT_EQ(pool.free_bytes(), pool.total_bytes());
}

TEST(SegmentPoolTest, UsesAReturnedSegmentForAnotherSize) {
  auto shared_pool = std::make_shared<SegmentPool>(kLargeBlockBytes);
  SegmentPool& pool = *shared_pool;
  Block* small = pool.allocate(kSmallBlockBytes);
  EXPECT_EQ(pool.allocate(kMediumBlockBytes), nullptr);
  pool.free(small);
  Block* medium = pool.allocate(kMediumBlockBytes);
  EXPECT_NE(medium, nullptr);
  pool.free(medium);
}

TEST(SegmentPoolTest, GivesEachByteToOneHolderUnderRandomUse) {
  auto shared_pool = std::make_shared<SegmentPool>(16 * kLargeBlockBytes);
  SegmentPool& pool = *shared_pool;
  auto random = make_seeded_random(3);
  struct Held {
    Block* block;
    uint32_t bytes;
    char mark;
  };
  std::vector<Held> held;
  constexpr uint32_t kSizes[] = {kSmallBlockBytes, kMediumBlockBytes, kLargeBlockBytes};
  for (int step = 0; step < 20'000; ++step) {
    if (random->one_in(2)) {
      const uint32_t bytes = kSizes[random->below(3)];
      Block* block = pool.allocate(bytes);
      if (block == nullptr) continue;
      const char mark = static_cast<char>(random->next());
      block->data()[0] = block->data()[bytes - 1] = mark;
      held.push_back({block, bytes, mark});
    } else if (!held.empty()) {
      std::swap(held[random->below(held.size())], held.back());
      const Held last = held.back();
      held.pop_back();
      ASSERT_EQ(last.block->data()[0], last.mark);
      ASSERT_EQ(last.block->data()[last.bytes - 1], last.mark);
      pool.free(last.block);
    }
  }
  for (const Held& last : held) pool.free(last.block);
  EXPECT_EQ(pool.free_bytes(), pool.total_bytes());
}

#if defined(__SANITIZE_ADDRESS__)
TEST(SegmentPoolDeathTest, SanitizerReportsWhoUsesABlockThatIsFree) {
  auto pool = std::make_shared<SegmentPool>(kLargeBlockBytes);
  for (const uint32_t bytes : {kSmallBlockBytes, kMediumBlockBytes, kLargeBlockBytes}) {
    Block* block = pool->allocate(bytes);
    volatile char* const data = block->data();
    data[0] = 1;
    data[bytes - 1] = 1;
    pool->free(block);
    EXPECT_DEATH(data[0] = 2, "use-after-poison");
    EXPECT_DEATH((void)data[bytes - 1], "use-after-poison");
  }
}

TEST(SegmentPoolDeathTest, SanitizerReportsWhoWritesBehindABlock) {
  auto pool = std::make_shared<SegmentPool>(kLargeBlockBytes);
  Block* block = pool->allocate(kSmallBlockBytes);
  volatile char* const data = block->data();
  EXPECT_DEATH(data[kSmallBlockBytes] = 1, "use-after-poison");
  pool->free(block);
}
#endif

TEST(BlockReserveTest, ChargesWhatItKeepsAndGivesBackTheRest) {
  const auto account = std::make_shared<MemoryAccount>(MemoryClaim{1u << 20, 0}, nullptr, [] {});
  const auto pool = std::make_shared<SegmentPool>(4 * kLargeBlockBytes);
  BlockReserve reserve(pool, account);
  std::vector<BlockRef> taken;
  for (uint64_t i = 1; i <= 100; ++i) {
    taken.push_back(reserve.take());
    EXPECT_EQ(taken.back()->capacity(), kSmallBlockBytes);
    EXPECT_GE(account->held_bytes(), i * kSmallBlockBytes);
    EXPECT_LE(account->held_bytes(), (i + 31) * kSmallBlockBytes);
  }
  reserve.give_back();
  EXPECT_EQ(account->held_bytes(), 100 * kSmallBlockBytes);
  taken.clear();
  EXPECT_EQ(account->held_bytes(), 0u);
  EXPECT_EQ(pool->free_bytes(), pool->total_bytes());
}

TEST(BlockReserveTest, TakesFromTheHeapWhenThePoolIsEmpty) {
  const auto account = std::make_shared<MemoryAccount>(MemoryClaim{1u << 20, 0}, nullptr, [] {});
  const auto pool = std::make_shared<SegmentPool>(kLargeBlockBytes);
  std::vector<BlockRef> taken;
  {
    BlockReserve reserve(pool, account);
    for (int i = 0; i < 50; ++i) taken.push_back(reserve.take());
  }
  EXPECT_FALSE(taken[kLargeBlockBytes / kSmallBlockBytes - 1]->is_overdraft());
  EXPECT_TRUE(taken[kLargeBlockBytes / kSmallBlockBytes]->is_overdraft());
  EXPECT_EQ(account->held_bytes(), 50 * kSmallBlockBytes);
  taken.clear();
  EXPECT_EQ(account->held_bytes(), 0u);
  EXPECT_EQ(pool->free_bytes(), pool->total_bytes());
}

}  // namespace
}  // namespace freshet
