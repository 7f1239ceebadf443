#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "shuffle/pipelined_partition.h"
#include "shuffle/segment_pool.h"
#include "tests/unit/shuffle/counting_reader.h"

namespace freshet {
namespace {

/// A partition with one channel, and who reads that when the test says so.
class HandOverTest : public ::testing::Test {
 protected:
  HandOverTest() {
    EXPECT_TRUE(index_->attach(reader_).ok());
    PipelinedPartition::Context context;
    context.pool = pool_;
    context.index = index_;
    context.claim = {1u << 20, 0};
    partition_ = *PipelinedPartition::create({}, std::move(context));
  }
  ~HandOverTest() override {
    index_->detach(*reader_);
    partition_->release();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  /// In records of 64 with their lengths.
  void write(uint32_t bytes) {
    for (; bytes > 0; bytes -= 64) {
      partition_->begin_record(0, kNoTimestamp).write(std::string(63, 'x').data(), 63);
      partition_->end_record();
    }
  }
  bool was_told() { return std::exchange(reader_->told, 0) != 0; }
  uint64_t held_bytes() const {
    return static_cast<const PipelinedPartition&>(*partition_).account().held_bytes();
  }

  const std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(4u << 20);
  const std::shared_ptr<DatasetIndex> index_ = std::make_shared<DatasetIndex>();
  const std::shared_ptr<CountingReader> reader_ = std::make_shared<CountingReader>(0);
  std::shared_ptr<ResultPartition> partition_;
};

TEST_F(HandOverTest, FullSmallBuffersGoTogetherAtTheEndOfTheStep) {
  write(kSmallBlockBytes);
  EXPECT_FALSE(was_told());
  partition_->end_step();
  EXPECT_TRUE(was_told());
  EXPECT_EQ(reader_->take_all(), 1u);
  partition_->end_step();
  EXPECT_FALSE(was_told());
}

TEST_F(HandOverTest, ManyFullBuffersDoNotWaitForTheEndOfTheStep) {
  write(2 * kLargeBlockBytes);
  EXPECT_TRUE(was_told());
  EXPECT_GT(reader_->take_all(), 0u);
}

TEST_F(HandOverTest, AFlushByTimeLeavesWhatIsAsNewAsTheStep) {
  write(64);
  partition_->end_step();
  write(kSmallBlockBytes);  // The block is full, and more.
  partition_->flush_older();
  EXPECT_EQ(reader_->take_all(), 1u);
  partition_->end_step();
  partition_->flush_older();  // Now the rest is older.
  EXPECT_EQ(reader_->take_all(), 1u);
  EXPECT_TRUE(was_told());
  write(64);
  partition_->flush_older();  // As new as the step in which something went already.
  EXPECT_FALSE(was_told());
  partition_->flush();
  EXPECT_EQ(reader_->take_all(), 1u);
}

TEST_F(HandOverTest, AFlushEndsABlockThatTheNextWouldFindFull) {
  write(kSmallBlockBytes / 2 + 64);
  partition_->flush();
  EXPECT_EQ(reader_->take_all(), 1u);
  EXPECT_EQ(held_bytes(), 0u);
  write(kSmallBlockBytes / 2 - 64);
  partition_->flush();
  EXPECT_EQ(reader_->take_all(), 1u);
  EXPECT_EQ(held_bytes(), kSmallBlockBytes);  // There is room for as much again.
  write(64);
  partition_->flush();
  EXPECT_EQ(reader_->take_all(), 1u);
  EXPECT_EQ(held_bytes(), kSmallBlockBytes);
  partition_->flush();  // Nothing was written since.
  EXPECT_EQ(held_bytes(), 0u);
}

TEST_F(HandOverTest, ABlockOfWhichSomethingWaitsIsFilled) {
  write(64);
  partition_->flush();
  partition_->flush();  // Nothing is free by giving it back.
  write(kSmallBlockBytes / 2 + 64);
  partition_->flush();
  write(kSmallBlockBytes / 2 - 128);  // Full now.
  partition_->end_step();
  EXPECT_EQ(reader_->take_all(), 1u);  // All of it.
  EXPECT_EQ(held_bytes(), 0u);
}

/// What a codec does wrong is no reason to abort.
TEST(RecordSizeTest, ARecordThatHasNotTheSizeThatAllHaveIsRefused) {
  for (const uint32_t bytes : {0u, 4u, 9u, 2000u, 100'000u}) {
    const auto pool = std::make_shared<SegmentPool>(4u << 20);
    PipelinedPartition::Context context;
    context.pool = pool;
    context.index = std::make_shared<DatasetIndex>();
    context.claim = {1u << 20, 0};
    ResultPartition::Options options;
    options.fixed_record_size = 8;
    const auto partition = *PipelinedPartition::create(options, std::move(context));
    const auto write = [&](uint32_t size) {
      partition->write(0, kNoTimestamp, 8, [size](Encoder& encoder) {
        encoder.write(std::string(size, 'x').data(), size);
      });
    };
    for (int i = 0; i < 100; ++i) write(8);
    try {
      write(bytes);
      ADD_FAILURE() << bytes << " bytes were taken";
    } catch (const CodecError& error) {
      EXPECT_EQ(std::string(error.what()),
                "its codec wrote " + std::to_string(bytes) + " bytes, and says that each has 8");
    }
    partition->release();
    EXPECT_EQ(pool->free_bytes(), pool->total_bytes());
  }
}

}  // namespace
}  // namespace freshet
