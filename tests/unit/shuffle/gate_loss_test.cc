#include <algorithm>

#include "tests/unit/shuffle/gate_inbox_fixture.h"

namespace freshet {
namespace {

using GateLossTest = GateInboxFixture;

TEST_F(GateLossTest, SeesEveryFlippedBitBeforeAnythingOfItIsTaken) {
  std::string payload;
  const FrameHeader header = frame(3, 0, 5, &payload);
  payload[17] ^= 4;
  ASSERT_TRUE(give(header, payload).ok());
  EXPECT_EQ(take_all(), 0u);
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
  EXPECT_NE(losses_[0].cause.message().find("producer 3"), std::string::npos);
  EXPECT_EQ(refused_, (Refused{{source_.get(), losses_[0].cause}}));
}

TEST_F(GateLossTest, TakesNothingMoreOfAChannelWhoseBytesAreWrongAndRefusesItsSourceOnce) {
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
  EXPECT_EQ(refused_.size(), 1u);
  ASSERT_TRUE(inbox_->on_ended(*source_, {{0, 4}}).ok());
  EXPECT_FALSE(reader_->ended());
}

TEST_F(GateLossTest, NeverEndsAChannelWhoseEndCameBeforeItFailed) {
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

TEST_F(GateLossTest, EndsAFailedChannelThatWasAttachedAgain) {
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
class LocalGateLossTest : public GateInboxFixture {
 protected:
  LocalGateLossTest() { attach(); }

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

TEST_F(LocalGateLossTest, EndsWithItsProducer) {
  end_others();
  push_good(0);
  end();
  EXPECT_EQ(take_all(), 2u);
  EXPECT_TRUE(reader_->ended());
}

TEST_F(LocalGateLossTest, NeverEndsAChannelThatFailedBefore) {
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

TEST_F(LocalGateLossTest, NeverEndsAChannelWhoseLastBufferCameAfterItFailed) {
  end_others();
  push_wrong();
  EXPECT_EQ(take_all(), 0u);
  push_good(2);
  end();  // Said when that buffer is taken.
  EXPECT_FALSE(reader_->ended());
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

TEST_F(LocalGateLossTest, NeverEndsAChannelWhoseEndWasTakenBeforeItFailed) {
  ASSERT_TRUE(give(0, 0, 1).ok());
  push_wrong();
  EXPECT_EQ(reader_->next_ready(), 0u);  // What was pushed is here, and was not looked at.
  end_others();
  end();
  EXPECT_EQ(take_all(), 1u);
  EXPECT_FALSE(reader_->ended());
  EXPECT_EQ(lost(), (Lost{{3, StatusCode::kDataLoss}}));
}

TEST_F(LocalGateLossTest, EndsAFailedChannelThatWasAttachedAgain) {
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

TEST_F(GateLossTest, GoesOnWithAnotherSourceBehindWhatWasTaken) {
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

TEST_F(GateLossTest, FailsWhenMoreOrFewerElementsComeThanAnnounced) {
  std::string payload;
  FrameHeader header = frame(0, 0, 3, &payload);
  header.elements_started = 4;
  ASSERT_TRUE(give(header, payload).ok());
  take_all();
  EXPECT_EQ(lost(), (Lost{{0, StatusCode::kDataLoss}}));
}

TEST_F(GateLossTest, FailsWhenAnElementIsCutOff) {
  std::string payload;
  const FrameHeader header = frame(0, 0, 3, &payload);
  payload.pop_back();
  ASSERT_TRUE(give(header, payload).ok());
  take_all();
  EXPECT_EQ(lost(), (Lost{{0, StatusCode::kDataLoss}}));
}

TEST_F(GateLossTest, LosesEachProducerOnceAndNoneThatEnded) {
  ASSERT_TRUE(inbox_->on_ended(*source_, {{1, 2}}).ok());
  inbox_->on_lost(*source_, {2, 3}, unavailable("gone"));
  inbox_->on_source_lost(*source_, unavailable("cut"));
  inbox_->on_source_lost(*source_, unavailable("cut"));
  std::vector<uint32_t> begins;
  for (const ChannelLoss& loss : losses_) begins.push_back(loss.producer_begin);
  EXPECT_EQ(begins, (std::vector<uint32_t>{2, 0, 3}));
}

}  // namespace
}  // namespace freshet
