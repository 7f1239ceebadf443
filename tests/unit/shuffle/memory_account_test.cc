#include "shuffle/memory_account.h"

#include <gtest/gtest.h>

#include "shuffle/segment_pool.h"

namespace freshet {
namespace {

TEST(MemoryAccountTest, WakesOnceEachTimeItBecomesAvailable) {
  int woken = 0;
  const auto account =
      std::make_shared<MemoryAccount>(MemoryClaim{1000, 0}, nullptr, [&] { ++woken; });
  account->charge(600);
  EXPECT_TRUE(account->available());
  account->charge(600);
  EXPECT_FALSE(account->available());
  account->give_back(600, false);
  EXPECT_TRUE(account->available());
  EXPECT_EQ(woken, 1);
  account->give_back(600, false);
  EXPECT_EQ(woken, 1);
  account->charge(1000);
  EXPECT_FALSE(account->available());
  account->close();
  account->give_back(1000, false);
  EXPECT_EQ(woken, 1);
}

TEST(MemoryAccountTest, OwesHeapBlocksOnceTheyAreHandedOver) {
  int woken = 0;
  auto account =
      std::make_shared<MemoryAccount>(MemoryClaim{1u << 20, 0}, nullptr, [&] { ++woken; });
  auto pool = std::make_shared<SegmentPool>(kLargeBlockBytes);
  auto from_pool = Block::allocate(*pool, kLargeBlockBytes, account);
  auto from_heap = Block::allocate(*pool, kLargeBlockBytes, account);
  from_pool->hand_over();
  EXPECT_TRUE(account->available());
  from_heap->hand_over();
  EXPECT_FALSE(account->available());
  from_pool = nullptr;
  EXPECT_FALSE(account->available());
  EXPECT_EQ(woken, 0);
  from_heap = nullptr;
  EXPECT_TRUE(account->available());
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(account->held_bytes(), 0u);
  EXPECT_EQ(pool->free_bytes(), pool->total_bytes());
}

TEST(MemoryAccountTest, IsAvailableAgainWhenAQuarterOfItsBudgetIsFree) {
  int woken = 0;
  const auto account =
      std::make_shared<MemoryAccount>(MemoryClaim{1000, 0}, nullptr, [&] { ++woken; });
  account->charge(1000);
  EXPECT_FALSE(account->available());
  account->give_back(250, false);
  EXPECT_FALSE(account->available());
  EXPECT_EQ(woken, 0);
  account->give_back(1, false);
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(account->available());
  account->charge(250);
  EXPECT_TRUE(account->available());  // Who does not wait may use all of it.
  account->give_back(999, false);
  EXPECT_EQ(woken, 1);
}

TEST(MemoryAccountTest, LivesUntilAllIsBackOnceItIsClosed) {
  auto account = std::make_shared<MemoryAccount>(MemoryClaim{1u << 20, 0}, nullptr, [] {});
  const std::weak_ptr<MemoryAccount> alive = account;
  auto pool = std::make_shared<SegmentPool>(kLargeBlockBytes);
  std::vector<ConstBlockRef> blocks;
  for (int i = 0; i < 40; ++i)  // Some of them from the heap.
    blocks.push_back(Block::allocate(*pool, kSmallBlockBytes, account));
  for (const ConstBlockRef& block : blocks) const_cast<Block*>(block.get())->hand_over();
  EXPECT_FALSE(account->available());
  account->close();
  account = nullptr;
  ConstBlockRef last = blocks.front();
  Block::let_go_all(&blocks);
  EXPECT_TRUE(blocks.empty());
  EXPECT_FALSE(alive.expired());
  last = nullptr;
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(pool->free_bytes(), pool->total_bytes());
}

}  // namespace
}  // namespace freshet
