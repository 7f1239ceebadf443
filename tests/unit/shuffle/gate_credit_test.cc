#include "tests/unit/shuffle/gate_inbox_fixture.h"

namespace freshet {
namespace {

using GateCreditTest = GateInboxFixture;

TEST_F(GateCreditTest, GivesFloatingCreditToWhoHasABacklog) {
  EXPECT_EQ(ask(1, 4 * kSmallBlockBytes), 4 * kSmallBlockBytes);
  // Its own and what floats: six small blocks.
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(give(1, i, 1).ok());
  EXPECT_EQ(give(1, 6, 1).code(), StatusCode::kDataLoss);
}

TEST_F(GateCreditTest, RefusesABacklogOfWhoWasNotAskedFor) {
  uint32_t granted = 0;
  EXPECT_EQ(inbox_->on_backlog(*source_, 4, kSmallBlockBytes, &granted).code(),
            StatusCode::kDataLoss);
}

TEST_F(GateCreditTest, RefusesCreditBackThatWasNeverGivenOrIsInUse) {
  const auto give_back = [&](uint32_t producer, uint32_t bytes) {
    return inbox_->on_credit_back(*source_, producer, bytes).code();
  };
  EXPECT_EQ(give_back(4, kSmallBlockBytes), StatusCode::kDataLoss);  // Not asked for.
  EXPECT_EQ(give_back(1, 1), StatusCode::kDataLoss);                 // Its own is not for others.
  EXPECT_EQ(ask(1, 4 * kSmallBlockBytes), 4 * kSmallBlockBytes);
  ASSERT_TRUE(give(1, 0, 1).ok());
  EXPECT_EQ(give_back(1, 4 * kSmallBlockBytes - kSmallBlockBytes + 1), StatusCode::kDataLoss);
  EXPECT_EQ(give_back(1, 4 * kSmallBlockBytes - kSmallBlockBytes), StatusCode::kOk);
  EXPECT_EQ(give_back(1, 1), StatusCode::kDataLoss);
  EXPECT_EQ(inbox_->floating_free_bytes(), kFloating - kSmallBlockBytes);
  returned_ = 0;
  EXPECT_EQ(take_all(), 1u);
  EXPECT_EQ(returned_, 0u);  // It was what floats.
  EXPECT_EQ(inbox_->floating_free_bytes(), kFloating);
  EXPECT_EQ(give_back(1, 1), StatusCode::kDataLoss);
  for (uint64_t i = 1; i <= 2; ++i) ASSERT_TRUE(give(1, i, 1).ok());
  EXPECT_EQ(give(1, 3, 1).code(), StatusCode::kDataLoss);
}

TEST_F(GateCreditTest, WakesTheTaskToPassOnCreditThatCameBack) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, 2 * kSmallBlockBytes), 0u);
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(returned_, 0u);
  ASSERT_TRUE(inbox_->on_credit_back(*source_, 1, kFloating).ok());
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(returned_, 2 * kSmallBlockBytes);
  EXPECT_EQ(ask(3, 2 * kSmallBlockBytes), 2 * kSmallBlockBytes);  // Nobody waits any more.
}

TEST_F(GateCreditTest, WakesTheTaskToPassOnTheCreditOfWhoIsLost) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, 2 * kSmallBlockBytes), 0u);
  inbox_->on_lost(*source_, {1, 2}, unavailable("gone"));
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(returned_, 2 * kSmallBlockBytes);
}

TEST_F(GateCreditTest, ForgetsTheWishOfWhoSentEverything) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, 2 * kSmallBlockBytes), 0u);
  ASSERT_TRUE(give(2, 0, 1).ok());  // Nothing follows.
  ASSERT_TRUE(inbox_->on_credit_back(*source_, 1, kFloating).ok());
  returned_ = 0;
  EXPECT_EQ(take_all(), 1u);
  EXPECT_EQ(returned_, kSmallBlockBytes);  // For the buffer.
  EXPECT_EQ(inbox_->floating_free_bytes(), kFloating);
}

TEST_F(GateCreditTest, FreesAllThatAFailedChannelHeld) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  std::string payload;
  const FrameHeader wrong = wrong_frame(1, 1, &payload);
  ASSERT_TRUE(give(wrong, payload).ok());
  for (uint64_t i = 1; i < 5; ++i) ASSERT_TRUE(give(1, i, 1).ok());
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(inbox_->floating_free_bytes(), kFloating);
  EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
}

TEST_F(GateCreditTest, PassesFloatingCreditOnWhenItComesBack) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, 1u << 20), 0u);  // It waits.
  constexpr uint64_t kBlocks = (kCredit + kFloating) / kSmallBlockBytes;
  for (uint64_t i = 0; i < kBlocks; ++i) ASSERT_TRUE(give(1, i, 1).ok());
  returned_ = 0;
  EXPECT_EQ(take_all(), kBlocks);
  // In all as much as was used; see whose it is now.
  EXPECT_EQ(returned_, kBlocks * kSmallBlockBytes);
  for (uint64_t i = 0; i < kBlocks; ++i) ASSERT_TRUE(give(2, i, 1).ok()) << i;
  for (uint64_t i = 0; i < kCredit / kSmallBlockBytes; ++i)
    ASSERT_TRUE(give(1, kBlocks + i, 1).ok());
  // Its own is all that it has.
  EXPECT_EQ(give(1, kBlocks + kCredit / kSmallBlockBytes, 1).code(), StatusCode::kDataLoss);
}

TEST_F(GateCreditTest, DropsWhatWasUnderWayWithTheFloatingCreditOfALostChannel) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  std::string payload;
  FrameHeader wrong = frame(1, 0, 1, &payload);
  ++wrong.hash;
  ASSERT_TRUE(give(wrong, payload).ok());
  take_all();
  EXPECT_EQ(lost(), (Lost{{1, StatusCode::kDataLoss}}));
  // The producer had credit for it when it sent this; the connection is not to blame.
  FrameHeader next = frame(1, 1, 1, &payload);
  next.block_class = kFloating / kFrameCreditUnitBytes;
  EXPECT_TRUE(give(next, payload).ok());
  EXPECT_EQ(take_all(), 0u);
}

TEST_F(GateCreditTest, TakesBackTheFloatingCreditOfAnEndedProducer) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, kSmallBlockBytes), 0u);
  ASSERT_TRUE(inbox_->on_ended(*source_, {{1, 2}}).ok());
  EXPECT_EQ(ask(3, kSmallBlockBytes), 0u);  // Behind the one that waits since before.
  ASSERT_TRUE(give(0, 0, 1).ok());
  EXPECT_EQ(ask(0, kSmallBlockBytes), 0u);
  returned_ = 0;
  EXPECT_EQ(take_all(), 1u);
  EXPECT_EQ(returned_, kSmallBlockBytes + 3 * kSmallBlockBytes);
}

}  // namespace
}  // namespace freshet
