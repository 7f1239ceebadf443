// Blocking partitions with a thread for the disk and one for each consumer.

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "shuffle/blocking_partition.h"
#include "shuffle/partition_store.h"
#include "tests/unit/shuffle/bell.h"

namespace freshet {
namespace {

class BlockingThreadsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSubpartitions = 16;
  static constexpr uint64_t kRecords = 200'000;

  BlockingThreadsTest() { open_store(); }
  void open_store() {
    const auto wait = [](const std::function<void()>& function) { function(); };
    auto store =
        PartitionStore::create({SpillPlace{&files_, "/partitions", &disk_, wait}, read_bytes_});
    EXPECT_TRUE(store.ok());
    store_ = std::move(store).value();
  }
  ~BlockingThreadsTest() override {
    disk_.stop();
    EXPECT_EQ(store_->read_pool()->held_bytes(), 0u);
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  PartitionKey key() const { return {{1, 2}, DatasetId{7}, 0, 0}; }

  std::unique_ptr<BlockingPartition> make_partition(std::shared_ptr<Bell> bell) {
    ResultPartition::Options options;
    options.job = key().job;
    options.subpartitions = subpartitions_;
    options.fixed_record_size = 8;
    options.wake = [bell] { bell->ring(); };
    BlockingPartition::Context context;
    context.pool = pool_;
    context.claim = {RegionBuffer::kLeastBytes, 0};
    context.place = store_->place_of(key().job);
    context.file_name = PartitionStore::file_name(key());
    return std::make_unique<BlockingPartition>(options, context);
  }

  /// Numbers, each to the subpartition that it names.
  void write() {
    const auto bell = std::make_shared<Bell>();
    const auto partition = make_partition(bell);
    for (uint64_t i = 0; i < kRecords; ++i)
      partition->write_plain(static_cast<uint32_t>(i % subpartitions_), kNoTimestamp, i);
    partition->end_of_data();
    while (!partition->published()) bell->wait();
    const auto published = *partition->published();
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    ASSERT_TRUE(store_->publish(key(), *published).ok());
    partition->release();
  }

  /// Takes the numbers of one subpartition; all of them, or at most so many.
  uint64_t read(uint32_t subpartition, uint64_t records_max) {
    std::vector<Buffer> at_hand;
    if (records_max == UINT64_MAX && subpartition % 2 == 0 &&
        store_->take_at_hand(key(), subpartition, &at_hand)) {
      uint64_t records = 0;
      for (const Buffer& buffer : at_hand) records += buffer.elements_started;
      return records;
    }
    const auto bell = std::make_shared<Bell>();
    PartitionReader::Options options;
    options.subpartition = subpartition;
    options.fixed_record_size = 8;
    options.wake = [bell] { bell->ring(); };
    const auto reader = store_->read(key(), options);
    EXPECT_TRUE(reader.ok());
    uint64_t records = 0;
    while (records < records_max) {
      const auto taken = (*reader)->take();
      EXPECT_TRUE(taken.ok()) << taken.status().to_string();
      if (!taken.ok() || (*reader)->ended()) {
        records += taken.ok() && *taken ? (*taken)->buffer.elements_started : 0;
        break;
      }
      if (!*taken) {
        bell->wait();
        continue;
      }
      records += (*taken)->buffer.elements_started;
    }
    (*reader)->close();
    return records;
  }

  uint32_t subpartitions_ = kSubpartitions;
  uint64_t read_bytes_ = 64u << 10;  // Of what is read.
  std::shared_ptr<Clock> clock_ = make_system_clock();
  MemoryFileSystem files_;
  ThreadExecutor disk_{"disk", *clock_};
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(4u << 20);
  std::unique_ptr<PartitionStore> store_;
};

TEST_F(BlockingThreadsTest, ManyConsumersReadAtOnce) {
  write();
  std::atomic<uint64_t> records{0};
  {
    std::vector<std::unique_ptr<ThreadExecutor>> threads;
    for (uint32_t i = 0; i < kSubpartitions; ++i) {
      threads.push_back(std::make_unique<ThreadExecutor>("consumer", *clock_));
      threads.back()->post("read", [this, i, &records] { records += read(i, UINT64_MAX); });
    }
    for (const auto& thread : threads) thread->stop();
  }
  EXPECT_EQ(records, kRecords);
}

TEST_F(BlockingThreadsTest, ConsumersComeAndGoWhileOthersRead) {
  write();
  std::atomic<uint64_t> whole{0};
  {
    std::vector<std::unique_ptr<ThreadExecutor>> threads;
    for (uint32_t i = 0; i < 8; ++i) {
      threads.push_back(std::make_unique<ThreadExecutor>("consumer", *clock_));
      threads.back()->post("read", [this, i, &whole] {
        auto random = make_seeded_random(i);
        for (int round = 0; round < 50; ++round) {
          const auto from = static_cast<uint32_t>(random->below(kSubpartitions));
          if (random->one_in(3)) {
            whole += read(from, UINT64_MAX) == kRecords / kSubpartitions ? 0 : 1;
          } else {
            (void)read(from, random->below(5'000));
          }
        }
      });
    }
    for (const auto& thread : threads) thread->stop();
  }
  EXPECT_EQ(whole, 0u);
}

TEST_F(BlockingThreadsTest, ConsumersOfSmallPartsComeOneAfterTheOther) {
  read_bytes_ = 1u << 20;
  open_store();
  subpartitions_ = 300;
  write();
  std::atomic<uint32_t> next{0};
  std::atomic<uint64_t> records{0};
  {
    std::vector<std::unique_ptr<ThreadExecutor>> threads;
    for (uint32_t i = 0; i < 4; ++i) {
      threads.push_back(std::make_unique<ThreadExecutor>("consumer", *clock_));
      threads.back()->post("read", [&] {
        for (uint32_t each = next++; each < subpartitions_; each = next++)
          records += read(each, UINT64_MAX);
      });
    }
    for (const auto& thread : threads) thread->stop();
  }
  EXPECT_EQ(records, kRecords);
  EXPECT_GT(store_->read_pool()->windows_held_bytes(), 0u);
  store_->release_job(key().job);
}

TEST_F(BlockingThreadsTest, IsReleasedWhileTheDiskWrites) {
  for (uint64_t records = 1; records < kRecords; records *= 3) {
    const auto bell = std::make_shared<Bell>();
    const auto partition = make_partition(bell);
    for (uint64_t i = 0; i < records; ++i)
      partition->write_plain(static_cast<uint32_t>(i % kSubpartitions), kNoTimestamp, i);
    if (records % 2 == 0) partition->end_of_data();
    partition->release();
  }
  store_->release_job(key().job);
}

}  // namespace
}  // namespace freshet
