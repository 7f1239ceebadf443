#include "shuffle/gate_inbox.h"

#include <algorithm>

#include "tests/unit/shuffle/gate_inbox_fixture.h"

namespace freshet {
namespace {

using GateInboxTest = GateInboxFixture;

TEST_F(GateInboxTest, WakesOncePerChangeFromNothingToSomething) {
  ASSERT_TRUE(give(0, 0, 3).ok());
  ASSERT_TRUE(give(1, 0, 3).ok());
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(take_all(), 6u);
  ASSERT_TRUE(give(0, 3, 1).ok());
  EXPECT_EQ(woken_, 2);
}

TEST_F(GateInboxTest, TakesAPayloadInTheBlockThatItGave) {
  std::string payload;
  const FrameHeader header = frame(0, 0, 3, &payload);
  BlockRef block = inbox_->block_for(*source_, header);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->capacity(), 512u);
  std::ranges::copy(payload, block->data());
  const std::string_view in_place(block->data(), payload.size());
  GateInbox::FrameOutcome outcome;
  ASSERT_TRUE(inbox_->on_frame(*source_, header, in_place, &outcome, std::move(block)).ok());
  EXPECT_TRUE(outcome.wake);
  const auto producer = reader_->next_ready();
  ASSERT_TRUE(producer.has_value());
  const auto element = reader_->take_from(*producer);
  ASSERT_TRUE(element.has_value());
  EXPECT_EQ(element->payload.data(), in_place.data());
  EXPECT_EQ(take_all(), 2u);
}

TEST_F(GateInboxTest, GivesNoBlockForWhatItWillNotTake) {
  std::string payload;
  const FrameHeader good = frame(0, 0, 3, &payload);
  const auto given = [&](auto damage) {
    FrameHeader header = good;
    damage(header);
    return static_cast<bool>(inbox_->block_for(*source_, header));
  };
  EXPECT_TRUE(given([](FrameHeader&) {}));
  EXPECT_FALSE(given([](FrameHeader& h) { h.producer = 4; }));
  EXPECT_FALSE(given([](FrameHeader& h) { h.producer_attempt = 1; }));
  EXPECT_FALSE(given([](FrameHeader& h) { h.kind = FrameKind::kEvent; }));
  EXPECT_FALSE(given([](FrameHeader& h) { h.block_class = 3; }));
  EXPECT_FALSE(given([](FrameHeader& h) { h.payload_bytes = 513; }));
  EXPECT_FALSE(given([](FrameHeader& h) { h.elements_started = 25; }));
}

TEST_F(GateInboxTest, FreesTheBlockOfAPayloadThatItRefuses) {
  std::string payload;
  FrameHeader header = frame(0, 7, 3, &payload);  // A gap.
  BlockRef block = inbox_->block_for(*source_, header);
  ASSERT_TRUE(block);
  const std::string_view in_place(block->data(), payload.size());
  GateInbox::FrameOutcome outcome;
  EXPECT_EQ(inbox_->on_frame(*source_, header, in_place, &outcome, std::move(block)).code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
}

TEST_F(GateInboxTest, ReturnsCreditWhenABufferIsUsedUp) {
  ASSERT_TRUE(give(0, 0, 2).ok());
  (void)reader_->next_ready();
  (void)reader_->take_from(0);
  EXPECT_FALSE(reader_->take_from(1)
                   .has_value());  // Credit waits for company only until there is nothing to do.
  EXPECT_EQ(returned_, 0u);
  (void)reader_->take_from(0);
  EXPECT_FALSE(reader_->next_ready().has_value());
  EXPECT_EQ(returned_, 512u);
}

TEST_F(GateInboxTest, RefusesDataWithoutCredit) {
  ASSERT_TRUE(give(0, 0, 1).ok());
  ASSERT_TRUE(give(0, 1, 1).ok());
  EXPECT_EQ(give(0, 2, 1).code(), StatusCode::kDataLoss);
  ASSERT_TRUE(give(1, 0, 1).ok());  // Each has its own.
  take_all();
  EXPECT_TRUE(give(0, 2, 1).ok());
}

TEST_F(GateInboxTest, TakesEventsWithoutCredit) {
  ASSERT_TRUE(give(0, 0, 1).ok());
  ASSERT_TRUE(give(0, 1, 1).ok());
  FrameHeader header;
  header.kind = FrameKind::kEvent;
  header.producer_attempt = 2;
  header.first_element = 2;
  const std::string barrier =
      std::string(1, static_cast<char>(ElementKind::kBarrier)) + "0123456789abcdef";
  std::string payload;
  header.hash = frame(0, 1, 1, &payload).hash;
  EXPECT_TRUE(give(header, barrier).ok());
  EXPECT_EQ(take_all(), 3u);
  EXPECT_TRUE(losses_.empty());
}

TEST_F(GateInboxTest, DropsWhatItHasAndReturnsTheCreditAtOnce) {
  ASSERT_TRUE(give(0, 0, 3).ok());
  ASSERT_TRUE(give(0, 0, 3).ok());
  EXPECT_EQ(returned_at_once_, 512u);
  EXPECT_EQ(take_all(), 3u);
}

TEST_F(GateInboxTest, DropsFramesOfAnotherAttempt) {
  std::string payload;
  FrameHeader header = frame(0, 0, 3, &payload);
  header.producer_attempt = 1;
  ASSERT_TRUE(give(header, payload).ok());
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(woken_, 0);
}

TEST_F(GateInboxTest, RefusesAGap) {
  ASSERT_TRUE(give(0, 0, 3).ok());
  const Status status = give(0, 4, 3);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("element 4 came instead of 3"), std::string::npos);
  EXPECT_EQ(take_all(), 3u);
}

TEST_F(GateInboxTest, RefusesFramesThatCannotBe) {
  std::string payload;
  const FrameHeader good = frame(0, 0, 3, &payload);
  FrameHeader header = good;
  header.producer = 4;  // Not asked for.
  EXPECT_FALSE(give(header, payload).ok());
  header = good;
  header.block_class = 3;  // No size of a block.
  EXPECT_FALSE(give(header, payload).ok());
  header = good;
  header.block_class = 0;
  EXPECT_FALSE(give(header, payload).ok());
  header = good;
  EXPECT_FALSE(give(header, std::string(513, 'x')).ok());
  EXPECT_FALSE(give(header, "").ok());
  header = good;
  header.elements_started = 1000;
  EXPECT_FALSE(give(header, payload).ok());
  header = good;
  header.kind = FrameKind::kEvent;
  EXPECT_FALSE(give(header, payload).ok());
}

TEST_F(GateInboxTest, RefusesEventsOfAnotherLength) {
  const auto event = [&](ElementKind kind, size_t field_bytes) {
    FrameHeader header;
    header.kind = FrameKind::kEvent;
    header.producer_attempt = 2;
    header.elements_started = kind == ElementKind::kBarrier ? 0 : 1;
    return give(header, std::string(1, static_cast<char>(kind)) + std::string(field_bytes, '0'));
  };
  const std::vector<std::pair<ElementKind, size_t>> lengths = {
      {ElementKind::kWatermark, 8}, {ElementKind::kStatus, 1}, {ElementKind::kBarrier, 16}};
  for (const auto& [kind, bytes] : lengths) {
    for (size_t given = 0; given <= 32; ++given) {
      if (given == bytes) continue;
      EXPECT_EQ(event(kind, given).code(), StatusCode::kDataLoss) << given;
    }
  }
  EXPECT_EQ(event(ElementKind::kEndOfData, 0).code(), StatusCode::kDataLoss);
  EXPECT_EQ(event(ElementKind::kRecord, 8).code(), StatusCode::kDataLoss);
  EXPECT_EQ(take_all(), 0u);
  EXPECT_TRUE(losses_.empty());
  EXPECT_TRUE(event(ElementKind::kBarrier, 16).ok());
}

TEST_F(GateInboxTest, EndsOnceAllRangesEndedAndEverythingIsTaken) {
  ASSERT_TRUE(give(2, 0, 3).ok());
  ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 1}, {2, 4}}).ok());
  EXPECT_FALSE(reader_->ended());
  ASSERT_TRUE(inbox_->on_ended(*source_, {{1, 2}}).ok());
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(take_all(), 3u);
  EXPECT_TRUE(reader_->ended());
  EXPECT_FALSE(inbox_->on_ended(*source_, {{3, 5}}).ok());  // Nobody asked for 4.
  EXPECT_FALSE(give(2, 3, 1).ok());                         // Behind its end.
}

}  // namespace
}  // namespace freshet
