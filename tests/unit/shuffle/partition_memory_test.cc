#include <gtest/gtest.h>

#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "shuffle/pipelined_environment.h"

namespace freshet {
namespace {

class PartitionMemoryTest : public ::testing::Test {
 protected:
  PartitionMemoryTest() {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 8 * kLargeBlockBytes;
    environment_ = *ShuffleEnvironment::create(options, transport_);
  }
  ~PartitionMemoryTest() override {
    EXPECT_EQ(environment_->free_bytes(), environment_->total_bytes());
    environment_->shut_down();
    executor_.run_ready();
  }

  std::shared_ptr<ResultPartition> partition(uint32_t producer, uint32_t subpartitions) {
    ResultPartition::Options options;
    options.producer = producer;
    options.subpartitions = subpartitions;
    options.wake = [this] { ++woken_; };
    auto made = environment_->create_partition(options);
    EXPECT_TRUE(made.ok());
    return *made;
  }

  void write(ResultPartition& partition, uint32_t subpartition, size_t size) {
    partition.begin_record(subpartition, INT64_MIN).write(std::string(size, 'z').data(), size);
    partition.end_record();
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  int woken_ = 0;
  std::unique_ptr<ShuffleEnvironment> environment_;
};

TEST_F(PartitionMemoryTest, WritesOnWhenThePoolIsEmptyAndIsUnavailableThen) {
  auto partition = this->partition(0, 1);
  write(*partition, 0, 10u << 20);  // Forty times the pool, within one element.
  EXPECT_FALSE(partition->available());
  EXPECT_EQ(environment_->free_bytes(), 0u);
  partition->release();
  EXPECT_EQ(woken_, 0);  // Nobody waits any more.
}

TEST_F(PartitionMemoryTest, StaysAvailableWhateverManyChannelsHaveOpen) {
  // Open blocks are given back only once flushed, so they alone must not stop the task.
  auto partition = this->partition(0, 3000);
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t s = 0; s < 3000; ++s) write(*partition, s, 10);
    EXPECT_TRUE(partition->available());
  }
  EXPECT_TRUE(partition->wants_flush());
  partition->release();
}

TEST_F(PartitionMemoryTest, HoldsOneBlockForAllWhoGetTheSame) {
  auto partition = this->partition(0, 100);
  partition->write_to_all();
  for (int i = 0; i < 20; ++i) {
    write(*partition, 0, 10);
    partition->flush();
  }
  EXPECT_EQ(environment_->total_bytes() - environment_->free_bytes(), kLargeBlockBytes);
  EXPECT_EQ(partition->records_written(), 2000u);
  const auto positions = partition->positions();
  ASSERT_EQ(positions.size(), 100u);
  EXPECT_EQ(positions[99], (ChannelPosition{99, 20, 0}));
  partition->release();
}

TEST_F(PartitionMemoryTest, GivesBackTheMemoryOfIdleChannelsAtTheNextFlush) {
  auto partition = this->partition(0, 100);
  for (uint32_t s = 0; s < 100; ++s) write(*partition, s, 10);
  partition->flush();
  write(*partition, 7, 10);
  EXPECT_TRUE(partition->wants_flush());
  partition->flush();  // The other 99 had nothing.
  partition->flush();
  EXPECT_FALSE(partition->wants_flush());
  partition->release();
}

TEST_F(PartitionMemoryTest, CostsNothingForChannelsWithoutElements) {
  auto partition = this->partition(0, 100'000);
  write(*partition, 77'777, 10);
  EXPECT_EQ(environment_->total_bytes() - environment_->free_bytes(), kLargeBlockBytes);
  const auto positions = partition->positions();
  ASSERT_EQ(positions.size(), 1u);
  EXPECT_EQ(positions[0].peer, 77'777u);
  partition->release();
}

TEST_F(PartitionMemoryTest, SaysHowMuchIsNeededWhenThereIsTooLittle) {
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (uint32_t producer = 0; producer < 8; ++producer)
    partitions.push_back(this->partition(producer, 1000));
  ResultPartition::Options options;
  options.producer = 8;
  options.subpartitions = 1000;
  const Status alone = environment_->create_partition(options).status();
  EXPECT_EQ(alone.code(), StatusCode::kInvalidArgument);  // It does not get better.
  for (const char* said : {"294912", "262144", "taskmanager.memory.network.size"})
    EXPECT_NE(alone.message().find(said), std::string::npos) << alone.message();
  options.job = JobId{9, 9};
  EXPECT_EQ(environment_->create_partition(options).status().code(),
            StatusCode::kResourceExhausted);
  partitions.back()->release();
  const auto other = environment_->create_partition(options);
  ASSERT_TRUE(other.ok());
  options.job = JobId{};
  EXPECT_EQ(environment_->create_partition(options).status().code(),
            StatusCode::kResourceExhausted);
  (*other)->release();
  partitions.back() = this->partition(8, 1000);
  for (auto& partition : partitions) partition->release();
}

TEST_F(PartitionMemoryTest, TakesLittleForPartitionsOfFewChannels) {
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (uint32_t producer = 0; producer < 128; ++producer)
    partitions.push_back(this->partition(producer, 1));
  for (auto& partition : partitions) partition->release();
}

TEST_F(PartitionMemoryTest, RefusesTheSameAttemptTwice) {
  auto first = this->partition(0, 1);
  ResultPartition::Options options;
  EXPECT_EQ(environment_->create_partition(options).status().code(), StatusCode::kAlreadyExists);
  first->release();
}

}  // namespace
}  // namespace freshet
