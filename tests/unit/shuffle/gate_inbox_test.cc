#include "shuffle/gate_inbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/shuffle/gate_inbox_fixture.h"
#include "tests/unit/shuffle/log_capture.h"

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
  EXPECT_EQ(block->capacity(), kSmallBlockBytes);
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
  EXPECT_FALSE(given([](FrameHeader& h) { h.payload_bytes = kSmallBlockBytes + 1; }));
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
  EXPECT_EQ(returned_, kSmallBlockBytes);
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
  EXPECT_EQ(returned_at_once_, kSmallBlockBytes);
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

TEST_F(GateInboxTest, RefusesFramesThatCannotBeAndSaysWhichRuleTheyBreak) {
  std::string payload;
  const FrameHeader good = frame(0, 0, 3, &payload);
  const auto why = [&](auto damage, const std::string& bytes) {
    FrameHeader header = good;
    damage(header);
    const Status status = give(header, bytes);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    return status.message();
  };
  const std::string of_0 = "dataset 1, subpartition 5, producer 0: ";
  EXPECT_EQ(why([](FrameHeader& h) { h.producer = 4; }, payload),
            "dataset 1, subpartition 5, producer 4: a frame of a producer that was not asked for");
  for (const uint16_t block_class : {0, 3, 100}) {
    EXPECT_EQ(why([&](FrameHeader& h) { h.block_class = block_class; }, payload),
              of_0 + fmt::format("a charge of {} bytes, which no block has",
                                 block_class * kSmallBlockBytes));
  }
  EXPECT_EQ(why([](FrameHeader&) {}, std::string(kSmallBlockBytes + 1, 'x')),
            of_0 + "1025 bytes of data are charged as 1024");
  EXPECT_EQ(why([](FrameHeader&) {}, ""), of_0 + "a frame of kind data without a payload");
  EXPECT_EQ(why([](FrameHeader& h) { h.elements_started = 25; }, payload),
            of_0 + "25 elements start in 24 bytes");
  const auto event = [](FrameHeader& h) {
    h.kind = FrameKind::kEvent;
    h.block_class = 0;
    h.elements_started = 1;
  };
  EXPECT_EQ(why(event, payload), of_0 + "an event of kind 0, which there is not");
  const std::string watermark = std::string(1, static_cast<char>(ElementKind::kWatermark));
  EXPECT_EQ(why(event, watermark + "1234567"),
            of_0 + fmt::format("an event of kind {} with 7 bytes of fields instead of 8",
                               static_cast<int>(ElementKind::kWatermark)));
  const auto damaged = [&](auto damage) {
    return why(
        [&](FrameHeader& h) {
          event(h);
          damage(h);
        },
        watermark + "12345678");
  };
  EXPECT_EQ(damaged([](FrameHeader& h) { h.elements_started = 2; }),
            of_0 + "an event that counts as 2 elements instead of 1");
  EXPECT_EQ(damaged([](FrameHeader& h) { h.block_class = 1; }),
            of_0 + "an event with a charge of 1024 bytes");
  EXPECT_EQ(damaged([](FrameHeader& h) { h.flags = kFrameMoreFollows; }),
            of_0 + "an event with flags 8");
}

TEST_F(GateInboxTest, SaysWhoSentWhatWhenItDoesNotFitWhatCameBefore) {
  const std::string of_0 = "dataset 1, subpartition 5, producer 0: ";
  ASSERT_TRUE(give(0, 0, 1).ok());
  EXPECT_EQ(give(0, 2, 1).message(), of_0 + "element 2 came instead of 1");
  ASSERT_TRUE(give(0, 1, 1).ok());
  EXPECT_EQ(give(0, 2, 1).message(), of_0 + "a charge of 1024 bytes with a credit of 0");
  take_all();
  ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 1}}).ok());
  EXPECT_EQ(give(0, 2, 1).message(), of_0 + "element 2 came behind its end");
  EXPECT_EQ(inbox_->on_ended(*source_, {{2, 6}}).message(),
            "dataset 1, subpartition 5: the end of producers 2 to 6, which were not all asked for");
  uint32_t granted = 0;
  EXPECT_EQ(inbox_->on_backlog(*source_, 4, 700, &granted).message(),
            "dataset 1, subpartition 5, producer 4: a backlog of 700 bytes of a producer that was "
            "not asked for");
  EXPECT_EQ(
      inbox_->on_credit_back(*source_, 4, 700).message(),
      "dataset 1, subpartition 5, producer 4: 700 bytes of credit back of a producer that was "
      "not asked for");
  EXPECT_EQ(
      inbox_->on_credit_back(*source_, 1, 700).message(),
      "dataset 1, subpartition 5, producer 1: 700 bytes of credit back, and it has 0 to spare");
}

TEST_F(GateInboxTest, CountsFramesOfAnotherAttemptAndLogsOncePerSource) {
  LogCapture log;
  std::string payload;
  FrameHeader header = frame(0, 0, 3, &payload);
  for (const AttemptNumber attempt : {1, 1, 3}) {
    header.producer_attempt = attempt;
    ASSERT_TRUE(give(header, payload).ok());
  }
  EXPECT_EQ(inbox_->frames_of_other_attempts(), 3u);
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("frames_of_another_attempt"), std::string::npos);
  EXPECT_NE(log.lines[0].find("dataset=1 producer=0 attempt=1 wanted_attempt=2"), std::string::npos)
      << log.lines[0];
  const auto next = reattach(0, false);
  ASSERT_TRUE(give(*next, frame(0, 0, 3, &payload), payload).ok());
  EXPECT_EQ(log.lines.size(), 2u);
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
