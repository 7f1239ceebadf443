#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "shuffle/pipelined_partition.h"
#include "shuffle/segment_pool.h"
#include "tests/unit/shuffle/counting_reader.h"

namespace freshet {
namespace {

/// A partition with many channels, each read when the test says so.
class FlushVisitsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kChannels = 1000;

  FlushVisitsTest() {
    for (uint32_t s = 0; s < kChannels; ++s) {
      readers_.push_back(std::make_shared<CountingReader>(s));
      EXPECT_TRUE(index_->attach(readers_.back()).ok());
    }
    make_partition(false);
  }
  ~FlushVisitsTest() override {
    for (const auto& reader : readers_) index_->detach(*reader);
    partition_->release();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  void make_partition(bool hash) {
    if (partition_) partition_->release();
    PipelinedPartition::Context context;
    context.pool = pool_;
    context.index = index_;
    context.claim = {8u << 20, 0};
    ResultPartition::Options options;
    options.subpartitions = kChannels;
    options.hash = hash;
    partition_ = *PipelinedPartition::create(options, std::move(context));
  }

  /// As a job's edge does it: in place, where that is possible.
  void write(uint32_t channel) {
    partition_->write(channel, kNoTimestamp, 0,
                      [](Encoder& encoder) { encoder.write("nine byte", 9); });
  }
  void write_to_all() {
    for (uint32_t s = 0; s < kChannels; ++s) write(s);
  }
  /// One flush, and how many channels it looked at.
  uint64_t flush() {
    const uint64_t before = partition().flush_visits();
    partition_->flush();
    partition_->end_step();
    return partition().flush_visits() - before;
  }
  size_t read(uint32_t channel) { return readers_[channel]->take_all(); }
  size_t read_all() {
    size_t buffers = 0;
    for (uint32_t s = 0; s < kChannels; ++s) buffers += read(s);
    return buffers;
  }
  const PipelinedPartition& partition() const {
    return static_cast<const PipelinedPartition&>(*partition_);
  }
  uint64_t held_bytes() const { return partition().account().held_bytes(); }

  const std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(16u << 20);
  const std::shared_ptr<DatasetIndex> index_ = std::make_shared<DatasetIndex>();
  std::vector<std::shared_ptr<CountingReader>> readers_;
  std::shared_ptr<ResultPartition> partition_;
};

TEST_F(FlushVisitsTest, OnlyThoseWithUnflushedBytesAndOnceMoreThoseItCut) {
  write_to_all();
  EXPECT_EQ(flush(), kChannels);
  EXPECT_EQ(read_all(), kChannels);
  write(7);
  EXPECT_EQ(flush(), kChannels + 1);  // All but the one have nothing new, and give back.
  EXPECT_EQ(held_bytes(), kSmallBlockBytes);
  write(7);
  EXPECT_EQ(flush(), 2u);
  write(8);
  EXPECT_EQ(flush(), 2u);
  EXPECT_EQ(flush(), 1u);
  EXPECT_EQ(read_all(), 2u);
  EXPECT_EQ(flush(), 2u);
  EXPECT_FALSE(partition_->wants_flush());
}

TEST_F(FlushVisitsTest, NoneOfWhichSomethingWaitsAndNothingIsNew) {
  write_to_all();
  EXPECT_EQ(flush(), kChannels);
  EXPECT_EQ(flush(), kChannels);
  for (int round = 0; round < 100; ++round) EXPECT_EQ(flush(), 0u);
  EXPECT_TRUE(partition_->wants_flush());  // Their memory comes back some time.
  EXPECT_EQ(held_bytes(), kChannels * kSmallBlockBytes);

  write(3);
  EXPECT_EQ(flush(), 1u);
  EXPECT_EQ(flush(), 1u);
  EXPECT_EQ(read(3), 1u);  // One buffer: it was written on in the same block.
  for (uint32_t s = 100; s < 200; ++s) EXPECT_EQ(read(s), 1u);
  EXPECT_EQ(flush(), 101u);
  EXPECT_EQ(held_bytes(), (kChannels - 101) * kSmallBlockBytes);
  EXPECT_EQ(flush(), 0u);
  EXPECT_EQ(read_all(), kChannels - 101);
  EXPECT_EQ(flush(), kChannels - 101);
  EXPECT_EQ(held_bytes(), 0u);
  EXPECT_FALSE(partition_->wants_flush());
}

TEST_F(FlushVisitsTest, WhatWasTakenBeforeTheSecondLookIsGivenBack) {
  write_to_all();
  EXPECT_EQ(flush(), kChannels);
  const std::vector<Buffer> in_use = readers_[0]->take();
  EXPECT_EQ(read_all(), kChannels - 1);
  EXPECT_EQ(flush(), kChannels + 1);  // That of the one is taken, and let go later.
  EXPECT_FALSE(partition_->wants_flush());
  EXPECT_EQ(held_bytes(), kSmallBlockBytes);
}

TEST_F(FlushVisitsTest, WhatWasTakenOnceSaysNothingOfWhatIsWrittenNext) {
  write(5);
  flush();
  flush();  // Idle: something waits.
  write(5);
  read(5);  // Nothing waits, but something is written.
  write(5);
  flush();
  flush();  // Idle again, and something waits again.
  EXPECT_EQ(held_bytes(), kSmallBlockBytes);
  EXPECT_TRUE(partition_->wants_flush());
  write(5);
  flush();
  EXPECT_EQ(read(5), 1u);  // In the same block.
}

TEST_F(FlushVisitsTest, ForgetsNobodyWhoeverWritesAndReadsWhen) {
  for (const bool hash : {false, true}) {
    make_partition(hash);
    const auto random = make_seeded_random(hash ? 11 : 12);
    uint64_t written = 0;
    for (int round = 0; round < 300; ++round) {
      const uint64_t writes = random->below(200);
      for (uint64_t i = 0; i < writes; ++i) write(static_cast<uint32_t>(random->below(kChannels)));
      written += writes;
      for (uint64_t i = random->below(100); i > 0; --i)
        read(static_cast<uint32_t>(random->below(kChannels)));
      if (random->one_in(3)) read_all();
      flush();
    }
    // Cut, looked at again, given back: three looks for what was written, and no more.
    EXPECT_LE(partition().flush_visits(), 3 * written);
    read_all();
    for (int i = 0; i < 3; ++i) flush();
    read_all();
    flush();
    EXPECT_EQ(held_bytes(), 0u);
    EXPECT_FALSE(partition_->wants_flush());
  }
}

}  // namespace
}  // namespace freshet
