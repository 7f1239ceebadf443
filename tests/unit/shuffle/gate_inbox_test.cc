#include "shuffle/gate_inbox.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shuffle/pipelined_gate.h"

namespace freshet {
namespace {

constexpr uint32_t kCredit = 1024;
constexpr uint32_t kFloating = 4096;

/// A gate with one remote source of producers 0 to 4, fed with frames by hand.
class GateInboxTest : public ::testing::Test {
 protected:
  GateInboxTest() {
    source_->task_manager = TaskManagerId{9};
    source_->attachment.credit_bytes = kCredit;
    source_->attachment.producers = {{{0, 4}, 2}};
    inbox_ = std::make_shared<GateInbox>(
        GateInbox::Options{DatasetId{1}, pool_, kFloating, [this] { ++woken_; },
                           [this](const ChannelLoss& loss) { losses_.push_back(loss); }});
    inbox_->add(source_);
    GateReader::Options options;
    options.fixed_record_size = 8;
    options.hash = true;
    options.producers_end = 4;
    options.producer_count = 4;
    options.inbox = inbox_;
    options.local_reader = [this](const GateInbox::Source&) { return local_reader_.get(); };
    options.return_credit = [this](const std::vector<CreditReturn>& credits) {
      for (const CreditReturn& credit : credits) returned_ += credit.bytes;
    };
    reader_ = std::make_unique<GateReader>(std::move(options));
  }

  ~GateInboxTest() override {
    inbox_->close();
    reader_->drop_all();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  /// A frame with `count` records of 8 bytes from number `first` on, as a producer makes it.
  FrameHeader frame(uint32_t producer, uint64_t first, uint32_t count, std::string* payload) {
    FrameHeader header;
    header.producer = producer;
    header.producer_attempt = 2;
    header.first_element = first;
    header.elements_started = count;
    header.block_class = 1;
    uint64_t hash = 0;
    payload->clear();
    for (uint64_t i = 0; i < first + count; ++i) {
      const std::string record(reinterpret_cast<const char*>(&i), 8);
      hash = rolling_hash(hash, ElementKind::kRecord, INT64_MIN, record);
      if (i >= first) *payload += record;
    }
    header.hash = static_cast<uint32_t>(hash);
    header.payload_bytes = static_cast<uint32_t>(payload->size());
    return header;
  }

  Status give(const FrameHeader& header, const std::string& payload) {
    return give(*source_, header, payload);
  }

  Status give(const GateInbox::Source& source, const FrameHeader& header,
              const std::string& payload) {
    GateInbox::FrameOutcome outcome;
    const Status status = inbox_->on_frame(source, header, payload, &outcome);
    if (outcome.wake) inbox_->wake();
    returned_at_once_ = outcome.returned_bytes;
    return status;
  }

  Status give(uint32_t producer, uint64_t first, uint32_t count) {
    std::string payload;
    const FrameHeader header = frame(producer, first, count, &payload);
    return give(header, payload);
  }

  /// As frame(), but its hash says that something else was sent.
  FrameHeader wrong_frame(uint32_t producer, uint32_t count, std::string* payload) {
    FrameHeader header = frame(producer, 0, count, payload);
    ++header.hash;
    return header;
  }

  /// From now on producer `producer` comes from the source that is returned, in its attempt 3.
  std::shared_ptr<GateInbox::Source> reattach(uint32_t producer, bool local) {
    auto next = std::make_shared<GateInbox::Source>(*source_);
    next->local = local;
    next->attachment.producers = {{{producer, producer + 1}, 3}};
    inbox_->add(next);
    reader_->move_to(next);
    return next;
  }

  /// What producer `producer` gets when it says that `bytes` wait.
  uint32_t ask(uint32_t producer, uint32_t bytes) {
    uint32_t granted = 0;
    EXPECT_TRUE(inbox_->on_backlog(*source_, producer, bytes, &granted).ok());
    return granted;
  }

  size_t take_all() {
    size_t count = 0;
    while (const auto producer = reader_->next_ready()) {
      if (reader_->take_from(*producer)) ++count;
    }
    return count;
  }

  using Lost = std::vector<std::pair<uint32_t, StatusCode>>;

  Lost lost() const {
    Lost lost;
    for (const ChannelLoss& loss : losses_) {
      for (uint32_t p = loss.producer_begin; p < loss.producer_end; ++p)
        lost.emplace_back(p, loss.cause.code());
    }
    return lost;
  }

  std::shared_ptr<GateInbox::Source> source_ = std::make_shared<GateInbox::Source>();
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(4 * kLargeBlockBytes);
  int woken_ = 0;
  uint64_t returned_ = 0;
  uint32_t returned_at_once_ = 0;
  std::vector<ChannelLoss> losses_;
  std::shared_ptr<GateInbox> inbox_;
  std::shared_ptr<ChannelReader> local_reader_;
  std::unique_ptr<GateReader> reader_;
};

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

TEST_F(GateInboxTest, SeesEveryFlippedBitBeforeAnythingOfItIsTaken) {
  std::string payload;
  const FrameHeader header = frame(3, 0, 5, &payload);
  payload[17] ^= 4;
  ASSERT_TRUE(give(header, payload).ok());
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
  EXPECT_NE(losses_[0].cause.message().find("producer 3"), std::string::npos);
}

TEST_F(GateInboxTest, LosesAChannelWhoseBytesAreWrongAndNoOther) {
  std::string payload;
  const FrameHeader header = frame(3, 0, 5, &payload);
  payload[17] ^= 4;
  ASSERT_TRUE(give(header, payload).ok());
  ASSERT_TRUE(give(1, 0, 3).ok());
  EXPECT_EQ(take_all(), 3u);
  ASSERT_TRUE(give(1, 3, 2).ok());
  ASSERT_TRUE(give(3, 5, 1).ok());  // What still comes of it is dropped.
  EXPECT_EQ(take_all(), 2u);
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
  ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 4}}).ok());
  EXPECT_FALSE(reader_->ended());
}

TEST_F(GateInboxTest, NeverEndsAChannelWhoseEndCameBeforeItFailed) {
  std::string payload;
  const FrameHeader wrong = wrong_frame(3, 5, &payload);
  ASSERT_TRUE(give(0, 0, 1).ok());
  ASSERT_TRUE(give(wrong, payload).ok());
  EXPECT_EQ(reader_->next_ready(), 0u);  // Both are here, and 3 was not looked at.
  ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 4}}).ok());
  EXPECT_EQ(take_all(), 1u);
  EXPECT_FALSE(reader_->ended());
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

TEST_F(GateInboxTest, EndsAFailedChannelThatWasAttachedAgain) {
  std::string payload;
  const FrameHeader wrong = wrong_frame(3, 5, &payload);
  ASSERT_TRUE(give(0, 0, 1).ok());
  ASSERT_TRUE(give(wrong, payload).ok());
  EXPECT_EQ(reader_->next_ready(), 0u);
  ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 4}}).ok());
  EXPECT_EQ(take_all(), 1u);
  const auto next = reattach(3, false);
  FrameHeader good = frame(3, 0, 5, &payload);
  good.producer_attempt = 3;
  ASSERT_TRUE(give(*next, good, payload).ok());
  EXPECT_EQ(take_all(), 5u);
  EXPECT_FALSE(reader_->ended());  // The end that came before was not of this one.
  ASSERT_TRUE(inbox_->on_ended(*next, {{3, 4}}).ok());
  EXPECT_TRUE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

/// Producer 3 is a partition of this process; the others have ended.
class LocalGateInboxTest : public GateInboxTest {
 protected:
  LocalGateInboxTest() { attach(); }

  void attach() {
    const auto source = reattach(3, true);
    local_reader_ = std::make_shared<LocalReader>(inbox_, source);
    PartitionQueues::Options options;
    options.producer = 3;
    options.attempt = 3;
    options.fixed_record_size = 8;
    options.hash = true;
    partition_ = std::make_shared<PartitionQueues>(options);
    std::vector<ReaderCall> calls;
    channel_ = partition_->create_channel(0, local_reader_, &calls);
    EXPECT_TRUE(calls.empty());
  }

  void push(const FrameHeader& header, const std::string& payload) {
    auto block = Block::on_heap(static_cast<uint32_t>(payload.size()), nullptr, 0);
    std::ranges::copy(payload, block->data());
    Buffer buffer(std::move(block), static_cast<uint32_t>(payload.size()));
    buffer.elements_started = header.elements_started;
    buffer.first_element = header.first_element;
    buffer.hash = header.hash;
    std::vector<PartitionQueues::Pushed> pushed;
    pushed.push_back({0, channel_, std::move(buffer)});
    std::vector<ReaderCall> calls;
    partition_->push(&pushed, &calls);
    tell(calls);
  }

  void push_wrong() {
    std::string payload;
    const FrameHeader header = wrong_frame(3, 2, &payload);
    push(header, payload);
  }

  void push_good(uint64_t first) {
    std::string payload;
    const FrameHeader header = frame(3, first, 2, &payload);
    push(header, payload);
  }

  void end() {
    std::vector<ReaderCall> calls;
    partition_->set_ended();
    partition_->tell_end(0, local_reader_, &calls);
    tell(calls);
  }

  void end_others() { ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 3}}).ok()); }

  std::shared_ptr<PartitionQueues> partition_;
  QueuedChannel* channel_ = nullptr;
};

TEST_F(LocalGateInboxTest, EndsWithItsProducer) {
  end_others();
  push_good(0);
  end();
  EXPECT_EQ(take_all(), 2u);
  EXPECT_TRUE(reader_->ended());
}

TEST_F(LocalGateInboxTest, NeverEndsAChannelThatFailedBefore) {
  end_others();
  push_wrong();
  EXPECT_EQ(take_all(), 0u);
  push_good(2);
  EXPECT_EQ(take_all(), 0u);
  end();  // Everything was taken before, so it is told of the end itself.
  EXPECT_FALSE(reader_->ended());
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

TEST_F(LocalGateInboxTest, NeverEndsAChannelWhoseLastBufferCameAfterItFailed) {
  end_others();
  push_wrong();
  EXPECT_EQ(take_all(), 0u);
  push_good(2);
  end();  // Said when that buffer is taken.
  EXPECT_FALSE(reader_->ended());
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

TEST_F(LocalGateInboxTest, NeverEndsAChannelWhoseEndWasTakenBeforeItFailed) {
  ASSERT_TRUE(give(0, 0, 1).ok());
  push_wrong();
  EXPECT_EQ(reader_->next_ready(), 0u);  // What was pushed is here, and was not looked at.
  end_others();
  end();
  EXPECT_EQ(take_all(), 1u);
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

TEST_F(LocalGateInboxTest, EndsAFailedChannelThatWasAttachedAgain) {
  end_others();
  push_wrong();
  EXPECT_EQ(take_all(), 0u);
  end();
  EXPECT_FALSE(reader_->ended());
  attach();
  push_good(0);
  EXPECT_EQ(take_all(), 2u);
  EXPECT_FALSE(reader_->ended());
  end();
  EXPECT_TRUE(reader_->ended());
}

TEST_F(GateInboxTest, GoesOnWithAnotherSourceBehindWhatWasTaken) {
  ASSERT_TRUE(give(1, 0, 3).ok());
  ASSERT_TRUE(give(2, 0, 3).ok());
  (void)reader_->next_ready();
  ASSERT_TRUE(reader_->take_from(1).has_value());
  auto next = std::make_shared<GateInbox::Source>(*source_);
  next->attachment.producers = {{{1, 2}, 3}};
  next->attachment.positions = {{1, 1, 0}};
  EXPECT_TRUE(inbox_->add(next).empty());  // The former one has others.
  reader_->move_to(next);
  ASSERT_TRUE(give(1, 3, 1).ok());  // Of the former one.
  std::string payload;
  FrameHeader header = frame(1, 1, 4, &payload);
  header.producer_attempt = 3;
  ASSERT_TRUE(give(*next, header, payload).ok());
  EXPECT_EQ(take_all(), 3u + 4u);
  EXPECT_EQ(reader_->positions().at(0).elements, 5u);
  inbox_->on_source_lost(*source_, unavailable("cut"));
  EXPECT_EQ(lost(), (Lost{{0, StatusCode::kUnavailable},
                          {2, StatusCode::kUnavailable},
                          {3, StatusCode::kUnavailable}}));
  EXPECT_TRUE(losses_.size() == 2);
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

TEST_F(GateInboxTest, FailsWhenMoreOrFewerElementsComeThanAnnounced) {
  std::string payload;
  FrameHeader header = frame(0, 0, 3, &payload);
  header.elements_started = 4;
  ASSERT_TRUE(give(header, payload).ok());
  take_all();
  EXPECT_EQ(lost(), (Lost{{0, StatusCode::kDataLoss}}));
}

TEST_F(GateInboxTest, FailsWhenAnElementIsCutOff) {
  std::string payload;
  const FrameHeader header = frame(0, 0, 3, &payload);
  payload.pop_back();
  ASSERT_TRUE(give(header, payload).ok());
  take_all();
  EXPECT_EQ(lost(), (Lost{{0, StatusCode::kDataLoss}}));
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

TEST_F(GateInboxTest, LosesEachProducerOnceAndNoneThatEnded) {
  ASSERT_TRUE(inbox_->on_ended(*source_, {{1, 2}}).ok());
  inbox_->on_lost(*source_, {2, 3}, unavailable("gone"));
  inbox_->on_source_lost(*source_, unavailable("cut"));
  inbox_->on_source_lost(*source_, unavailable("cut"));
  std::vector<uint32_t> begins;
  for (const ChannelLoss& loss : losses_) begins.push_back(loss.producer_begin);
  EXPECT_EQ(begins, (std::vector<uint32_t>{2, 0, 3}));
}

TEST_F(GateInboxTest, GivesFloatingCreditToWhoHasABacklog) {
  EXPECT_EQ(ask(1, 2048), 2048u);
  // Its own and what floats: six small blocks.
  for (uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(give(1, i, 1).ok());
  EXPECT_EQ(give(1, 6, 1).code(), StatusCode::kDataLoss);
}

TEST_F(GateInboxTest, RefusesABacklogOfWhoWasNotAskedFor) {
  uint32_t granted = 0;
  EXPECT_EQ(inbox_->on_backlog(*source_, 4, 512, &granted).code(), StatusCode::kDataLoss);
}

TEST_F(GateInboxTest, PassesFloatingCreditOnWhenItComesBack) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, 1u << 20), 0u);  // It waits.
  for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(give(1, i, 1).ok());
  returned_ = 0;
  EXPECT_EQ(take_all(), 10u);
  EXPECT_EQ(returned_, 10 * 512u);  // In all as much as was used; see whose it is now.
  for (uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(give(2, i, 1).ok()) << i;
  ASSERT_TRUE(give(1, 10, 1).ok());
  ASSERT_TRUE(give(1, 11, 1).ok());
  EXPECT_EQ(give(1, 12, 1).code(), StatusCode::kDataLoss);  // Its own is all that it has.
}

TEST_F(GateInboxTest, DropsWhatWasUnderWayWithTheFloatingCreditOfALostChannel) {
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

TEST_F(GateInboxTest, TakesBackTheFloatingCreditOfAnEndedProducer) {
  EXPECT_EQ(ask(1, 1u << 20), kFloating);
  EXPECT_EQ(ask(2, 512), 0u);
  ASSERT_TRUE(inbox_->on_ended(*source_, {{1, 2}}).ok());
  EXPECT_EQ(ask(3, 512), 0u);  // Behind the one that waits since before.
  ASSERT_TRUE(give(0, 0, 1).ok());
  EXPECT_EQ(ask(0, 512), 0u);
  returned_ = 0;
  EXPECT_EQ(take_all(), 1u);
  EXPECT_EQ(returned_, 512u + 3 * 512u);
}

}  // namespace
}  // namespace freshet
