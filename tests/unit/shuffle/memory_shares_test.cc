#include "shuffle/memory_shares.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/base/random.h"
#include "shuffle/memory_account.h"
#include "shuffle/segment_pool.h"

namespace freshet {
namespace {

constexpr JobId kJob{1, 1};
constexpr JobId kOther{2, 2};
constexpr uint64_t kMiB = 1u << 20;

TEST(MemorySharesTest, GivesEachItsExtraWhileThereIsEnough) {
  MemoryShares shares(64 * kMiB);
  ASSERT_TRUE(shares.reserve(kJob, {kMiB, 4 * kMiB}).ok());
  ASSERT_TRUE(shares.reserve(kJob, {kMiB, 8 * kMiB}).ok());
  EXPECT_EQ(shares.extra_bytes(4 * kMiB), 4 * kMiB);
  EXPECT_EQ(shares.extra_bytes(8 * kMiB), 8 * kMiB);
}

TEST(MemorySharesTest, DividesWhatIsLeftInProportion) {
  MemoryShares shares(16 * kMiB);
  ASSERT_TRUE(shares.reserve(kJob, {4 * kMiB, 8 * kMiB}).ok());
  ASSERT_TRUE(shares.reserve(kJob, {4 * kMiB, 24 * kMiB}).ok());
  // 8 MiB are left for 32 MiB of extra.
  EXPECT_NEAR(static_cast<double>(shares.extra_bytes(8 * kMiB)), 2.0 * kMiB, 0.02 * kMiB);
  EXPECT_NEAR(static_cast<double>(shares.extra_bytes(24 * kMiB)), 6.0 * kMiB, 0.05 * kMiB);
  shares.give_back(kJob, MemoryClaim{4 * kMiB, 24 * kMiB});
  EXPECT_EQ(shares.extra_bytes(8 * kMiB), 8 * kMiB);
}

TEST(MemorySharesTest, RefusesMoreThanThereIsAndSaysHowMuchIsNeeded) {
  MemoryShares shares(4 * kMiB);
  ASSERT_TRUE(shares.reserve(kJob, {3 * kMiB, 0}).ok());
  const Status alone = shares.reserve(kJob, {2 * kMiB, 0});
  EXPECT_EQ(alone.code(), StatusCode::kInvalidArgument);
  for (const char* said : {"5242880", "4194304", "taskmanager.memory.network.size"})
    EXPECT_NE(alone.message().find(said), std::string::npos) << alone.message();
  EXPECT_EQ(shares.reserve(kOther, {2 * kMiB, 0}).code(), StatusCode::kResourceExhausted);
  shares.give_back(kJob, MemoryClaim{3 * kMiB, 0});
  EXPECT_TRUE(shares.is_empty());
  EXPECT_TRUE(shares.reserve(kOther, {2 * kMiB, 0}).ok());
}

TEST(MemorySharesTest, ReservesReceiveBlocksForChannelsAndForWhatFloats) {
  MemoryShares shares(64 * kMiB);
  const auto few = shares.reserve_receive(kJob, 4, 4 * kMiB);
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few->window_bytes, 64u << 10);  // Enough to be busy.
  EXPECT_EQ(few->floating_bytes, 4 * kMiB - 4 * (64u << 10));
  EXPECT_EQ(few->reserved_bytes, 4 * kMiB);
  const auto many = shares.reserve_receive(kJob, 10'000, 4 * kMiB);
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many->window_bytes, kSmallBlockBytes);
  EXPECT_EQ(many->floating_bytes, 0u);
  EXPECT_EQ(many->reserved_bytes, 10'000u * kSmallBlockBytes);
  shares.give_back(kJob, *few);
  shares.give_back(kJob, *many);
  EXPECT_TRUE(shares.is_empty());
}

TEST(MemorySharesTest, OfStoredProducersTheMemoryIsNotForEach) {
  MemoryShares shares(8 * kMiB);
  const uint64_t least = shares.receive_need(64, true).least_bytes;
  const auto few = shares.reserve_receive(kJob, 4, 4 * kMiB, true);
  ASSERT_TRUE(few.ok());
  EXPECT_GT(few->window_bytes, 0u);
  std::vector<ReceiveMemory> all = {*few};
  for (int i = 0; i < 60; ++i) {
    const auto many = shares.reserve_receive(kJob, 10'000, 4 * kMiB, true);
    ASSERT_TRUE(many.ok()) << i;
    EXPECT_EQ(many->window_bytes, 0u);
    EXPECT_GE(many->floating_bytes, least);
    EXPECT_EQ(many->floating_bytes, many->reserved_bytes);
    all.push_back(*many);
  }
  EXPECT_EQ(all.back().reserved_bytes, least);
  EXPECT_EQ(shares.receive_need(10'000, true).ample_bytes, least);
  for (const ReceiveMemory& memory : all) shares.give_back(kJob, memory);
  EXPECT_TRUE(shares.is_empty());
}

TEST(MemorySharesTest, WhereWindowsForAllDoNotFitTheCreditOfWideGatesFloats) {
  MemoryShares shares(8 * kMiB);
  BufferNeed need = shares.receive_need(5'000, false);
  EXPECT_EQ(need.least_bytes, 64u << 10);
  EXPECT_EQ(need.ample_bytes, 5'000u * kSmallBlockBytes);
  // One fits, two do not: then none has windows, the first neither.
  need += need;
  ASSERT_TRUE(shares.expect(kJob, need).ok());
  std::vector<ReceiveMemory> all;
  for (int i = 0; i < 2; ++i) {
    const auto wide = shares.reserve_receive(kJob, 5'000, kMiB);
    ASSERT_TRUE(wide.ok()) << i;
    EXPECT_EQ(wide->window_bytes, 0u);
    EXPECT_GE(wide->floating_bytes, 64u << 10);
    EXPECT_EQ(wide->floating_bytes, wide->reserved_bytes);
    all.push_back(*wide);
  }
  const auto narrow = shares.reserve_receive(kJob, WideLimits{}.windows_max, kMiB);
  ASSERT_TRUE(narrow.ok());
  EXPECT_GE(narrow->window_bytes, kSmallBlockBytes);
  all.push_back(*narrow);
  shares.end_expectation(kJob);
  for (const ReceiveMemory& memory : all) shares.give_back(kJob, memory);
  EXPECT_TRUE(shares.is_empty());
}

TEST(MemorySharesTest, WhereWindowsForAllFitTheyAreKeptForEach) {
  MemoryShares shares(16 * kMiB);
  BufferNeed need;
  for (int i = 0; i < 3; ++i) need += shares.receive_need(5'000, false);
  ASSERT_TRUE(shares.expect(kJob, need).ok());
  ASSERT_TRUE(shares.reserve(kOther, {kMiB, 0}).ok());
  EXPECT_FALSE(shares.reserve(kOther, {kMiB, 0}).ok());
  for (int i = 0; i < 3; ++i) {
    const auto gate = shares.reserve_receive(kJob, 5'000, 4 * kMiB);
    ASSERT_TRUE(gate.ok()) << i;
    EXPECT_GE(gate->window_bytes, kSmallBlockBytes) << i;
  }
  shares.end_expectation(kJob);
  // Whoever says nothing before has them as long as they fit.
  const auto other = shares.reserve_receive(kOther, 5'000, 4 * kMiB);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->window_bytes, 0u);
}

TEST(MemorySharesTest, LetsManyGatesHaveSomethingEach) {
  MemoryShares shares(64 * kMiB);
  uint64_t all = 0;
  for (int gate = 0; gate < 1000; ++gate) {
    const auto memory = shares.reserve_receive(kJob, 4, 4 * kMiB);
    ASSERT_TRUE(memory.ok()) << gate;
    ASSERT_GE(memory->window_bytes, kSmallBlockBytes);
    all += memory->reserved_bytes;
  }
  EXPECT_LE(all, 40 * kMiB);
  EXPECT_TRUE(shares.reserve(kJob, {16 * kMiB, 0}).ok());  // Partitions have the other half.
}

TEST(MemorySharesTest, NeverPromisesMoreThanThereIs) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    auto random = make_seeded_random(seed);
    MemoryShares shares(64 * kMiB);
    std::vector<MemoryClaim> claims;
    for (int step = 0; step < 500; ++step) {
      if (random->one_in(2) || claims.empty()) {
        const MemoryClaim claim{random->below(kMiB), random->below(64 * kMiB)};
        if (shares.reserve(kJob, claim).ok()) claims.push_back(claim);
      } else {
        std::swap(claims[random->below(claims.size())], claims.back());
        shares.give_back(kJob, claims.back());
        claims.pop_back();
      }
      uint64_t promised = 0;
      for (const MemoryClaim& claim : claims)
        promised += claim.guaranteed_bytes + shares.extra_bytes(claim.extra_bytes_max);
      ASSERT_LE(promised, 64 * kMiB);
    }
  }
}

TEST(MemorySharesTest, WakesAnAccountWhoseShareGrewWhenSomethingComesBack) {
  auto shares = std::make_shared<MemoryShares>(8 * kMiB);
  const MemoryClaim claim{kMiB, 7 * kMiB}, other{kMiB, 700 * kMiB};
  ASSERT_TRUE(shares->reserve(kJob, claim).ok());
  ASSERT_TRUE(shares->reserve(kJob, other).ok());
  int woken = 0;
  auto account = std::make_shared<MemoryAccount>(claim, shares, [&] { ++woken; });
  account->charge(3 * kMiB);
  EXPECT_FALSE(account->available());
  shares->give_back(kJob, other);
  account->give_back(1, false);
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(account->available());
  account->give_back(3 * kMiB - 1, false);
}

TEST(MemorySharesTest, WakesWhoeverWaitsWhenItsShareChanges) {
  auto shares = std::make_shared<MemoryShares>(8 * kMiB);
  const MemoryClaim claim{kMiB, 6 * kMiB}, small{kMiB, 0}, large{kMiB, 700 * kMiB};
  ASSERT_TRUE(shares->reserve(kJob, claim).ok());
  int woken = 0;
  auto account = std::make_shared<MemoryAccount>(claim, shares, [&] { ++woken; });
  ASSERT_TRUE(shares->reserve(kJob, large).ok());
  EXPECT_EQ(woken, 0);  // It does not wait.
  shares->give_back(kJob, large);
  account->charge(7 * kMiB);
  ASSERT_FALSE(account->available());
  ASSERT_TRUE(shares->reserve(kOther, small).ok());
  EXPECT_EQ(woken, 0);  // There is enough for both.
  ASSERT_TRUE(shares->reserve(kJob, large).ok());
  EXPECT_EQ(woken, 1);
  const auto gate = shares->reserve_receive(kOther, 1, kMiB);
  EXPECT_EQ(woken, 1);  // It has not said that it waits again.
  ASSERT_FALSE(account->available());
  shares->give_back(kOther, *gate);
  EXPECT_EQ(woken, 2);
  shares->give_back(kJob, large);
  EXPECT_EQ(woken, 2);
  account->give_back(7 * kMiB, false);
  shares->give_back(kJob, claim);
  shares->give_back(kOther, small);
  EXPECT_TRUE(shares->is_empty());
}

TEST(MemorySharesTest, KeepsLittleOfThoseWhoWaitedAndAreGone) {
  auto shares = std::make_shared<MemoryShares>(8 * kMiB);
  for (int i = 0; i < 10'000; ++i) {
    auto account = std::make_shared<MemoryAccount>(MemoryClaim{kMiB, 0}, shares, [] {});
    account->charge(kMiB);
    EXPECT_FALSE(account->available());
    account->give_back(kMiB, false);
  }
  EXPECT_LE(shares->waiting(), 200u);
}

TEST(MemorySharesTest, WakesNobodyWhoIsClosedOrGone) {
  auto shares = std::make_shared<MemoryShares>(8 * kMiB);
  int woken = 0;
  auto account =
      std::make_shared<MemoryAccount>(MemoryClaim{0, 4 * kMiB}, shares, [&] { ++woken; });
  auto gone = std::make_shared<MemoryAccount>(MemoryClaim{0, 4 * kMiB}, shares, [&] { ++woken; });
  for (const auto& one : {account, gone}) {
    one->charge(4 * kMiB);
    EXPECT_FALSE(one->available());
  }
  account->close();
  gone->give_back(4 * kMiB, false);
  woken = 0;
  EXPECT_TRUE(gone->available());
  gone = nullptr;
  ASSERT_TRUE(shares->reserve(kJob, {0, 700 * kMiB}).ok());
  account->give_back(4 * kMiB, false);
  EXPECT_EQ(woken, 0);
}

}  // namespace
}  // namespace freshet
