#include "shuffle/floating_credit.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/base/random.h"
#include "shuffle/segment_pool.h"

namespace freshet {
namespace {

TEST(FloatingCreditTest, GivesWhatWaitsInWholeBlocks) {
  FloatingCredit floating(64u << 10);
  EXPECT_EQ(floating.ask(1, 2 * kSmallBlockBytes + 1), 2 * kSmallBlockBytes);
  EXPECT_EQ(floating.free_bytes(), (64u << 10) - 2 * kSmallBlockBytes);
}

TEST(FloatingCreditTest, LeavesHalfOfMuchForOthers) {
  FloatingCredit floating(1u << 20);
  EXPECT_EQ(floating.ask(1, 10u << 20), 512u << 10);
  EXPECT_EQ(floating.ask(2, 10u << 20), 256u << 10);
}

TEST(FloatingCreditTest, ServesWhoWaitsInTurn) {
  FloatingCredit floating(2 * kSmallBlockBytes);
  EXPECT_EQ(floating.ask(1, 8 * kSmallBlockBytes), 2 * kSmallBlockBytes);
  EXPECT_EQ(floating.ask(2, 8 * kSmallBlockBytes), 0u);
  EXPECT_EQ(floating.ask(3, 8 * kSmallBlockBytes), 0u);
  EXPECT_TRUE(floating.anybody_waits());
  EXPECT_FALSE(floating.grant_next().has_value());
  floating.put_back(kSmallBlockBytes);
  EXPECT_EQ(floating.ask(4, 8 * kSmallBlockBytes), 0u);  // Not before those who wait.
  auto grant = floating.grant_next();
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->producer, 2u);
  EXPECT_EQ(grant->bytes, kSmallBlockBytes);
  floating.forget({3, 4});
  floating.put_back(kSmallBlockBytes);
  grant = floating.grant_next();
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->producer, 4u);
}

TEST(FloatingCreditTest, NeverGivesMoreThanThereIsAndServesEverybody) {
  constexpr uint64_t kAll = 40 * kSmallBlockBytes;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    auto random = make_seeded_random(seed);
    FloatingCredit floating(kAll);
    std::map<uint32_t, uint64_t> held;
    std::map<uint32_t, int> waiting;  // Steps since it asked.
    for (int step = 0; step < 2000; ++step) {
      const auto producer = static_cast<uint32_t>(random->below(20));
      if (random->one_in(2) && !waiting.contains(producer)) {
        const auto backlog = static_cast<uint32_t>(kSmallBlockBytes + random->below(50'000));
        const uint32_t bytes = floating.ask(producer, backlog);
        ASSERT_LE(bytes, backlog);
        held[producer] += bytes;
        if (bytes == 0) waiting[producer] = 0;
      } else if (held[producer] != 0) {
        floating.put_back(held[producer]);
        held[producer] = 0;
      }
      while (const auto grant = floating.grant_next()) {
        ASSERT_EQ(waiting.erase(grant->producer), 1u);
        held[grant->producer] += grant->bytes;
      }
      uint64_t all = floating.free_bytes();
      for (const auto& [who, bytes] : held) all += bytes;
      ASSERT_EQ(all, kAll);
      for (auto& [who, steps] : waiting) ASSERT_LT(++steps, 1000);
    }
  }
}

}  // namespace
}  // namespace freshet
