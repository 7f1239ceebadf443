#include "shuffle/stored_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "shuffle/dataset_index.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr JobId kJob{0, 1};
constexpr DatasetId kDataset{3};

Buffer buffer_of(const std::string& text) {
  const BlockRef block = Block::on_heap(static_cast<uint32_t>(text.size()), nullptr, 0);
  std::memcpy(block->data(), text.data(), text.size());
  Buffer buffer(block, static_cast<uint32_t>(text.size()));
  buffer.elements_started = 1;
  return buffer;
}

/// What a test has in its hand of one reading.
struct Feed {
  std::deque<Buffer> buffers;
  Status error;
  bool ended = false;
  std::function<void()> wake;
};

class FakeSource final : public BufferSource {
 public:
  explicit FakeSource(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
  Result<std::optional<Buffer>> take() override {
    if (!feed_->error.ok()) return feed_->error;
    if (feed_->buffers.empty()) return std::optional<Buffer>();
    Buffer next = std::move(feed_->buffers.front());
    feed_->buffers.pop_front();
    return std::optional<Buffer>(std::move(next));
  }
  bool ended() const override { return feed_->ended && feed_->buffers.empty(); }
  uint64_t waiting_bytes() const override {
    uint64_t bytes = 0;
    for (const Buffer& buffer : feed_->buffers) bytes += buffer.charge();
    return bytes;
  }

 private:
  const std::shared_ptr<Feed> feed_;
};

/// Of each subpartition that has something the text `<producer>:<subpartition>`.
class FakeStored final : public StoredPartition {
 public:
  FakeStored(uint32_t producer, std::optional<std::vector<uint32_t>> filled,
             AttemptNumber attempt = 0)
      : StoredPartition({kJob, kDataset, producer, attempt}, 10, 0), filled_(std::move(filled)) {}

  std::optional<std::vector<uint32_t>> filled() const override { return filled_; }
  bool take_at_hand(uint32_t subpartition, std::vector<Buffer>* buffers) const override {
    if (!at_hand) return false;
    buffers->push_back(
        buffer_of(std::to_string(name().producer) + ":" + std::to_string(subpartition)));
    return true;
  }
  std::unique_ptr<BufferSource> read(uint32_t subpartition, uint64_t /*next_element*/,
                                     std::function<void()> wake) const override {
    feeds.push_back(std::make_shared<Feed>());
    feeds.back()->wake = std::move(wake);
    if (complete) {
      feeds.back()->buffers.push_back(
          buffer_of(std::to_string(name().producer) + ":" + std::to_string(subpartition)));
      feeds.back()->ended = true;
    }
    return std::make_unique<FakeSource>(feeds.back());
  }
  void later(std::function<void()> function) const override { late.push_back(std::move(function)); }

  bool complete = true;
  bool at_hand = false;
  mutable std::vector<std::shared_ptr<Feed>> feeds;
  mutable std::vector<std::function<void()>> late;

 private:
  const std::optional<std::vector<uint32_t>> filled_;
};

/// Takes at once what it is told of.
class TestReader final : public ChannelReader {
 public:
  TestReader(uint32_t subpartition, std::vector<AttachedProducers> producers, bool stored = true) {
    attachment_.job = kJob;
    attachment_.dataset = kDataset;
    attachment_.subpartition = subpartition;
    attachment_.consumer = AttemptId{kJob, SubtaskId{VertexId{1}, subpartition}, 0};
    attachment_.stored = stored;
    attachment_.producers = std::move(producers);
  }
  const Attachment& attachment() const override { return attachment_; }
  bool takes_at_hand() const override { return takes_at_hand_; }
  void on_at_hand(std::vector<ProducerBuffer> buffers,
                  std::span<const ProducerSpan> producers) override {
    for (const ProducerBuffer& arrived : buffers) texts.emplace_back(arrived.buffer.bytes());
    ended.add_all(producers);
    ++told_at_hand;
  }
  void on_ready(const ReaderCall& call) override {
    std::vector<Buffer> buffers;
    const auto taken = call.partition->take(call.channel, this, UINT64_MAX, UINT64_MAX, &buffers);
    for (const Buffer& buffer : buffers) texts.emplace_back(buffer.bytes());
    const uint32_t producer = call.partition->producer();
    if (taken.ended) on_ended({producer, producer + 1});
  }
  void on_ended(ProducerSpan producers) override {
    ended.add(producers);
    told_ends++;
  }
  void on_lost(ProducerSpan producers, const Status& cause) override {
    lost.add(producers);
    lost_cause = cause.code();
  }

  std::vector<std::string> texts;
  ProducerSet ended, lost;
  uint32_t told_ends = 0;
  uint32_t told_at_hand = 0;
  bool takes_at_hand_ = false;
  StatusCode lost_cause = StatusCode::kOk;

 private:
  Attachment attachment_;
};

std::shared_ptr<TestReader> reader(uint32_t subpartition, uint32_t producers, bool stored = true) {
  return std::make_shared<TestReader>(subpartition,
                                      std::vector<AttachedProducers>{{{0, producers}, 0}}, stored);
}

class StoredPartitionTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeStored> add(uint32_t producer, std::optional<std::vector<uint32_t>> filled) {
    auto stored = std::make_shared<FakeStored>(producer, std::move(filled));
    EXPECT_TRUE(index_.add_stored(stored).ok());
    return stored;
  }

  DatasetIndex index_;
};

TEST_F(StoredPartitionTest, AReaderTakesWhatIsForItAndHearsOfTheOthersAsRanges) {
  for (uint32_t p = 0; p < 1'000; p++) {
    add(p, p == 500 ? std::vector<uint32_t>{2, 7} : std::vector<uint32_t>{3});
  }
  const auto one = reader(7, 1'000);
  ASSERT_TRUE(index_.attach(one).ok());
  EXPECT_THAT(one->texts, ElementsAre("500:7"));
  EXPECT_EQ(one->ended.size(), 1'000u);
  EXPECT_EQ(one->told_ends, 3u);  // Before it, behind it, and of itself.
  EXPECT_TRUE(one->lost.empty());
  index_.detach(*one);
}

TEST_F(StoredPartitionTest, IsReadAgainByWhoComesNext) {
  add(0, std::nullopt);
  for (int i = 0; i < 2; i++) {
    const auto one = reader(4, 1);
    ASSERT_TRUE(index_.attach(one).ok());
    EXPECT_THAT(one->texts, ElementsAre("0:4"));
    index_.detach(*one);
  }
}

TEST_F(StoredPartitionTest, WhatIsNotThereIsLostUnlessItMayStillCome) {
  add(1, std::vector<uint32_t>{});
  const auto one = reader(0, 3);
  ASSERT_TRUE(index_.attach(one).ok());
  EXPECT_EQ(one->lost.spans(), (std::vector<ProducerSpan>{{0, 1}, {2, 3}}));
  EXPECT_EQ(one->lost_cause, StatusCode::kNotFound);
  const auto patient = reader(1, 3, /*stored=*/false);
  ASSERT_TRUE(index_.attach(patient).ok());
  EXPECT_TRUE(patient->lost.empty());
  add(0, std::vector<uint32_t>{1});
  add(2, std::vector<uint32_t>{9});
  EXPECT_THAT(patient->texts, ElementsAre("0:1"));
  EXPECT_EQ(patient->ended.size(), 3u);
  index_.detach(*one);
  index_.detach(*patient);
}

TEST_F(StoredPartitionTest, AReaderIsToldWhenSomethingWasRead) {
  auto stored = std::make_shared<FakeStored>(0, std::vector<uint32_t>{0});
  stored->complete = false;
  ASSERT_TRUE(index_.add_stored(stored).ok());
  const auto one = reader(0, 1);
  ASSERT_TRUE(index_.attach(one).ok());
  EXPECT_THAT(one->texts, IsEmpty());
  Feed& feed = *stored->feeds.at(0);
  feed.buffers.push_back(buffer_of("late"));
  feed.wake();
  EXPECT_THAT(one->texts, ElementsAre("late"));
  EXPECT_TRUE(one->ended.empty());
  feed.ended = true;
  feed.wake();
  EXPECT_TRUE(one->ended.contains(0));
  index_.detach(*one);
  feed.wake();  // It may come late.
}

TEST_F(StoredPartitionTest, WhatIsAtHandComesAtOnceOrThroughItsChannel) {
  for (const uint32_t producer : {5u, 2u, 3u}) {
    const auto stored = std::make_shared<FakeStored>(producer, std::nullopt);
    stored->at_hand = producer != 3;
    EXPECT_TRUE(index_.add_stored(stored).ok());
  }
  for (const bool at_once : {true, false}) {
    const auto wanted = reader(7, 6, false);
    wanted->takes_at_hand_ = at_once;
    ASSERT_TRUE(index_.attach(wanted).ok());
    EXPECT_THAT(wanted->texts, UnorderedElementsAre("2:7", "3:7", "5:7"));
    EXPECT_THAT(wanted->ended.spans(), ElementsAre(ProducerSpan{2, 4}, ProducerSpan{5, 6}));
    EXPECT_EQ(wanted->told_at_hand, at_once ? 1u : 0u);
    index_.detach(*wanted);
  }
}

TEST_F(StoredPartitionTest, AllThatWasReadCountsAsWaitingForCredit) {
  const auto stored = std::make_shared<FakeStored>(0, std::nullopt);
  stored->complete = false;
  std::vector<ReaderCall> calls;
  const auto wanted = reader(7, 1);
  const auto view = PartitionQueues::view(stored, wanted, &calls);
  for (int i = 0; i < 5; ++i) stored->feeds.at(0)->buffers.push_back(buffer_of("0:7"));
  std::vector<Buffer> buffers;
  const auto taken =
      view->take(calls.at(0).channel, wanted.get(), 2 * kSmallBlockBytes, UINT64_MAX, &buffers);
  EXPECT_EQ(buffers.size(), 2u);
  EXPECT_TRUE(taken.more);
  EXPECT_EQ(taken.waiting_bytes, 3 * kSmallBlockBytes);
  view->close_view();
}

TEST_F(StoredPartitionTest, AnErrorIsTheLossOfTheChannel) {
  const auto stored = add(0, std::vector<uint32_t>{0});
  stored->complete = false;
  const auto one = reader(0, 1);
  ASSERT_TRUE(index_.attach(one).ok());
  stored->feeds.at(0)->error = data_loss("its checksum differs");
  stored->feeds.at(0)->wake();
  EXPECT_TRUE(one->lost.empty());  // Not where it takes.
  ASSERT_EQ(stored->late.size(), 1u);
  stored->late[0]();
  EXPECT_TRUE(one->lost.contains(0));
  EXPECT_EQ(one->lost_cause, StatusCode::kDataLoss);
  index_.detach(*one);
}

TEST_F(StoredPartitionTest, WhoReadsWhatIsRemovedLosesIt) {
  const auto stored = add(0, std::vector<uint32_t>{0});
  stored->complete = false;
  const auto one = reader(0, 1);
  ASSERT_TRUE(index_.attach(one).ok());
  EXPECT_TRUE(index_.remove_stored(stored->name()));
  EXPECT_FALSE(index_.remove_stored(stored->name()));
  EXPECT_TRUE(one->lost.contains(0));
  const auto next = reader(0, 1);
  ASSERT_TRUE(index_.attach(next).ok());
  EXPECT_TRUE(next->lost.contains(0));
  index_.detach(*one);
  index_.detach(*next);
  add(0, std::vector<uint32_t>{0});  // Another one may take its place.
  index_.remove_all_stored(kJob);
  EXPECT_EQ(index_.partition_count(), 0u);
}

TEST_F(StoredPartitionTest, WhatIsRemovedOneByOneCostsNobodyWhatIsLeft) {
  std::vector<std::shared_ptr<FakeStored>> stored;
  for (uint32_t p = 0; p < 100; ++p)
    stored.push_back(add(p, p % 3 == 0 ? std::nullopt : std::optional(std::vector<uint32_t>{1})));
  const auto first = reader(1, 100);
  ASSERT_TRUE(index_.attach(first).ok());
  EXPECT_EQ(first->texts.size(), 100u);
  for (uint32_t p = 0; p < 100; ++p) {
    if (p % 10 == 7) continue;
    EXPECT_TRUE(index_.remove_stored(stored[p]->name()));
    EXPECT_FALSE(index_.remove_stored(stored[p]->name()));
    stored[p] = nullptr;
    const auto next = reader(1, 100);
    ASSERT_TRUE(index_.attach(next).ok());
    EXPECT_EQ(next->lost.size() + next->ended.size(), 100u);
    EXPECT_EQ(next->texts.size(), next->ended.size());
    EXPECT_TRUE(next->lost.contains(p));
    index_.detach(*next);
  }
  // Another attempt in the place of one that is gone.
  ASSERT_TRUE(index_.add_stored(std::make_shared<FakeStored>(5, std::vector<uint32_t>{1}, 1)).ok());
  const auto last = std::make_shared<TestReader>(
      1, std::vector<AttachedProducers>{{{0, 5}, 0}, {{5, 6}, 1}, {{6, 100}, 0}});
  ASSERT_TRUE(index_.attach(last).ok());
  EXPECT_EQ(last->texts.size(), 11u);
  EXPECT_EQ(last->lost.size(), 89u);
  index_.detach(*first);
  index_.detach(*last);
  index_.remove_all_stored(kJob);
  EXPECT_EQ(index_.partition_count(), 0u);
}

TEST_F(StoredPartitionTest, AttemptsDoNotMix) {
  add(0, std::vector<uint32_t>{0});
  ASSERT_TRUE(index_.add_stored(std::make_shared<FakeStored>(0, std::vector<uint32_t>{0}, 1)).ok());
  EXPECT_EQ(index_.add_stored(std::make_shared<FakeStored>(0, std::nullopt, 1)).code(),
            StatusCode::kAlreadyExists);
  const auto second = std::make_shared<TestReader>(0, std::vector<AttachedProducers>{{{0, 1}, 1}});
  ASSERT_TRUE(index_.attach(second).ok());
  EXPECT_EQ(second->texts.size(), 1u);
  index_.detach(*second);
}

}  // namespace
}  // namespace freshet
