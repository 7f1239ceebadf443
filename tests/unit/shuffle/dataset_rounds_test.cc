#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/manual_executor.h"
#include "shuffle/dataset_index.h"

namespace freshet {
namespace {

constexpr uint32_t kReaders = 200;
constexpr uint32_t kProducers = 150;

/// Remembers what it is told, and how often.
class ListeningReader final : public ChannelReader {
 public:
  explicit ListeningReader(uint32_t subpartition) {
    attachment_.subpartition = subpartition;
    attachment_.consumer = AttemptId{{}, SubtaskId{VertexId{1}, subpartition}, 0};
    // The last ten are another's.
    attachment_.producers = {{{0, 50}, 0}, {{50, kProducers - 10}, 0}};
  }
  const Attachment& attachment() const override { return attachment_; }
  void on_ready(const ReaderCall& call) override {
    partition_ = call.partition->shared_from_this();
    channel_ = call.channel;
  }
  void on_ended(ProducerSpan producers) override { on_all_ended({&producers, 1}); }
  void on_all_ended(std::span<const ProducerSpan> producers) override {
    ++calls;
    for (const ProducerSpan& span : producers) EXPECT_EQ(ended.add(span), span.end - span.begin);
  }
  void on_lost(ProducerSpan producers, const Status& cause) override {
    ++calls;
    EXPECT_EQ(lost.add(producers), producers.end - producers.begin);
    why = cause.message();
  }

  /// Takes all that waits; true when that was the end.
  bool take() {
    std::vector<Buffer> buffers;
    return partition_->take(channel_, this, UINT64_MAX, UINT64_MAX, &buffers).ended;
  }

  uint64_t calls = 0;
  ProducerSet ended, lost;
  std::string why;

 private:
  Attachment attachment_;
  std::shared_ptr<PartitionQueues> partition_;
  QueuedChannel* channel_ = nullptr;
};

class DatasetRoundsTest : public ::testing::Test {
 protected:
  DatasetRoundsTest() {
    for (uint32_t producer = 0; producer < kProducers; ++producer) {
      PartitionQueues::Options options;
      options.producer = producer;
      options.subpartitions = kReaders;
      partitions_.push_back(std::make_shared<PartitionQueues>(options));
      EXPECT_TRUE(index_.add_partition(partitions_.back()).ok());
    }
    for (uint32_t s = 0; s < kReaders; ++s) {
      readers_.push_back(std::make_shared<ListeningReader>(s));
      EXPECT_TRUE(index_.attach(readers_.back()).ok());
    }
  }
  ~DatasetRoundsTest() override {
    index_.shut_down();
    for (const auto& reader : readers_) index_.detach(*reader);
    for (const auto& partition : partitions_) index_.remove_partition(partition);
  }

  /// Until nothing is due.
  void pass() {
    clock_.advance(1s);
    executor_.run_ready();
  }

  void remove(uint32_t producer) {
    index_.remove_partition(partitions_[producer]);
    std::erase(partitions_, partitions_[producer]);
  }

  uint64_t calls() const {
    uint64_t calls = 0;
    for (const auto& reader : readers_) calls += reader->calls;
    return calls;
  }

  void push(uint32_t producer, uint32_t subpartition) {
    auto* const channel = index_.create_channel(partitions_[producer], subpartition);
    const BlockRef block = Block::on_heap(8, nullptr, 0);
    std::vector<PartitionQueues::Pushed> pushed;
    Buffer buffer(block, 8);
    buffer.elements_started = 1;
    pushed.push_back({subpartition, channel, buffer});
    std::vector<ReaderCall> calls;
    partitions_[producer]->push(&pushed, &calls);
    tell(calls);
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  DatasetIndex index_{&executor_};
  std::vector<std::shared_ptr<PartitionQueues>> partitions_;
  std::vector<std::shared_ptr<ListeningReader>> readers_;
};

TEST_F(DatasetRoundsTest, ManyEndsAreToldTogetherAsRanges) {
  for (const auto& partition : partitions_) index_.end_partition(partition);
  EXPECT_EQ(calls(), 0u);
  pass();
  EXPECT_EQ(calls(), kReaders);
  for (const auto& reader : readers_) EXPECT_EQ(reader->ended.size(), kProducers - 10);
  pass();
  EXPECT_EQ(calls(), kReaders);
}

TEST_F(DatasetRoundsTest, WhatWasNotTakenComesBeforeTheEnd) {
  push(3, 7);
  push(4, 7);
  EXPECT_FALSE(readers_[7]->take());
  push(3, 8);
  EXPECT_FALSE(readers_[8]->take());
  for (const auto& partition : partitions_) index_.end_partition(partition);
  pass();
  // What 3 had came before that of 4, which it took, and is still there.
  EXPECT_FALSE(readers_[7]->ended.contains(3));
  EXPECT_TRUE(readers_[7]->ended.contains(4));
  EXPECT_EQ(readers_[7]->ended.size(), kProducers - 11);
  EXPECT_EQ(readers_[8]->ended.size(), kProducers - 10);
  remove(3);
  EXPECT_TRUE(readers_[7]->lost.contains(3));
  EXPECT_EQ(readers_[8]->lost.size(), 0u);
  pass();
  EXPECT_EQ(readers_[9]->lost.size(), 0u);
}

TEST_F(DatasetRoundsTest, ManyLossesAreToldTogetherAsRanges) {
  for (uint32_t i = 0; i < 100; ++i) remove(20);
  EXPECT_EQ(calls(), 0u);
  pass();
  EXPECT_EQ(calls(), kReaders);
  for (const auto& reader : readers_) {
    EXPECT_EQ(reader->lost.spans(), (std::vector<ProducerSpan>{{20, 120}}));
    EXPECT_EQ(reader->why, "producers 20 to 120 went away before their end");
  }
  remove(0);
  pass();
  EXPECT_EQ(readers_[0]->why, "producer 0 went away before its end");
}

TEST_F(DatasetRoundsTest, AnEndThatNobodyWasToldOfIsALossWhenThePartitionGoes) {
  index_.end_partition(partitions_[2]);
  index_.end_partition(partitions_[1]);
  remove(1);
  pass();
  for (const auto& reader : readers_) {
    EXPECT_EQ(reader->ended.spans(), (std::vector<ProducerSpan>{{2, 3}}));
    EXPECT_EQ(reader->lost.spans(), (std::vector<ProducerSpan>{{1, 2}}));
  }
}

TEST_F(DatasetRoundsTest, WhoeverIsGoneIsToldNothing) {
  for (uint32_t i = 0; i < 100; ++i) remove(20);
  for (uint32_t s = 0; s < kReaders; ++s) index_.detach(*readers_[s]);
  pass();
  EXPECT_EQ(calls(), 0u);
}

TEST_F(DatasetRoundsTest, WhereFewReadTheyAreToldAtOnce) {
  for (uint32_t s = WideLimits{}.readers_at_once; s < kReaders; ++s) index_.detach(*readers_[s]);
  index_.end_partition(partitions_[0]);
  remove(1);
  for (uint32_t s = 0; s < WideLimits{}.readers_at_once; ++s) {
    EXPECT_TRUE(readers_[s]->ended.contains(0));
    EXPECT_TRUE(readers_[s]->lost.contains(1));
  }
}

TEST_F(DatasetRoundsTest, AfterTheShutDownAllIsToldAtOnce) {
  index_.end_partition(partitions_[0]);
  index_.shut_down();
  pass();
  index_.end_partition(partitions_[5]);
  for (const auto& reader : readers_) EXPECT_EQ(reader->ended.size(), 2u);
}

TEST_F(DatasetRoundsTest, WhoeverComesBeforeTheRoundKnowsAlready) {
  index_.detach(*readers_[0]);
  for (uint32_t producer = 10; producer < 20; ++producer)
    index_.end_partition(partitions_[producer]);
  readers_[0] = std::make_shared<ListeningReader>(0);
  ASSERT_TRUE(index_.attach(readers_[0]).ok());
  EXPECT_EQ(readers_[0]->ended.size(), 10u);
  EXPECT_EQ(readers_[0]->calls, 1u);
}

}  // namespace
}  // namespace freshet
