#include "shuffle/file_elevator.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/unit/shuffle/blocking_rig.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Le;

class FileElevatorTest : public BlockingRig {
 protected:
  /// Regions of about `region_bytes` in all subpartitions.
  void write_regions(const Settings& settings, uint64_t bytes) {
    const auto partition = make_partition(settings);
    const Written element{{}, kNoTimestamp, std::string(90, 'x')};
    for (uint64_t i = 0; i * 91 < bytes; ++i)
      write(*partition, static_cast<uint32_t>(i % settings.subpartitions), element);
    const auto published = publish(*partition, settings);
    ASSERT_TRUE(published.ok());
    file_bytes_ = published->file_bytes;
    partition->release();
  }

  void record_reads() {
    files_.on_read = [this](uint64_t offset, size_t size) {
      reads_.emplace_back(offset, size);
      return Status();
    };
  }

  /// Takes all that there is now; how many.
  int take_ready(PartitionReader& reader) {
    int buffers = 0;
    while (true) {
      const auto taken = reader.take();
      EXPECT_TRUE(taken.ok()) << taken.status().to_string();
      if (!taken.ok() || !*taken) return buffers;
      ++buffers;
    }
  }

  uint64_t file_bytes_ = 0;
  std::vector<std::pair<uint64_t, size_t>> reads_;
};

TEST_F(FileElevatorTest, ReadsAWholeFileForAllItsReadersFromItsBeginningToItsEnd) {
  const Settings settings{.subpartitions = 100, .codec = BlockCodec::kNone};
  write_regions(settings, 4u << 20);
  std::vector<std::shared_ptr<PartitionReader>> readers;
  for (uint32_t i = 0; i < settings.subpartitions; ++i)
    readers.push_back(reader(settings, (i * 37) % settings.subpartitions));
  record_reads();
  size_t ended = 0;
  while (ended < readers.size()) {
    disk_.run_ready();
    ended = 0;
    for (const auto& reader : readers) {
      take_ready(*reader);
      ended += reader->ended() ? 1 : 0;
    }
  }
  // Pages of the index and the footer beside the blocks, each once; what is adjacent at once.
  uint64_t bytes = 0;
  uint64_t at = 0;
  size_t back = 0;
  for (const auto& [offset, size] : reads_) {
    bytes += size;
    if (size > kPageBytesMax) {
      back += offset < at ? 1 : 0;
      at = offset;
    }
  }
  EXPECT_EQ(back, 0u);
  EXPECT_LE(bytes, file_bytes_ + kTailBytes);
  EXPECT_LE(reads_.size(), 100u);
  for (const auto& reader : readers) reader->close();
}

TEST_F(FileElevatorTest, WhoComesNextFindsItsSmallPartRead) {
  // Several regions, and something for all.
  const Settings settings{.subpartitions = 400, .codec = BlockCodec::kNone};
  const auto partition = make_partition(settings);
  for (uint32_t i = 0; i < 6'000; ++i)
    write(*partition, i * 7 % 400, {{}, kNoTimestamp, fmt::format("{:090}", i)});
  partition->broadcast_event(ElementKind::kWatermark, "12345678");
  const auto published = publish(*partition, settings);
  ASSERT_TRUE(published.ok());
  partition->release();
  ASSERT_TRUE(read_all(settings, 0).ok());
  int waited = 0;
  record_reads();
  for (uint32_t i = 0; i < settings.subpartitions; ++i) {
    const auto next = reader(settings, i);
    std::vector<Written> elements;
    const auto first = next->take();
    ASSERT_TRUE(first.ok());
    if (*first || next->ended()) {
      next->close();
    } else {
      ++waited;
    }
    ASSERT_EQ(read_all(settings, i)->size(), 16u);
  }
  // With each of these some dozens after it.
  EXPECT_LT(waited, 25);
  uint64_t bytes = 0;
  for (const auto& [offset, size] : reads_) bytes += size;
  EXPECT_LT(bytes, 2 * published->file_bytes);
}

TEST_F(FileElevatorTest, ASmallPartAtHandIsTakenAsItWouldBeRead) {
  for (const BlockCodec codec : {BlockCodec::kNone, BlockCodec::kLz4, BlockCodec::kZstd}) {
    for (const bool to_all : {false, true}) {
      const Settings settings{.subpartitions = 400,
                              .codec = codec,
                              .to_all = to_all,
                              .attempt = static_cast<AttemptNumber>(codec) * 2 + (to_all ? 1 : 0)};
      const auto partition = make_partition(settings);
      for (uint32_t i = 0; i < (to_all ? 600 : 6'000); ++i)
        write(*partition, to_all ? 0 : i * 7 % 399, {{}, kNoTimestamp, fmt::format("{:090}", i)});
      ASSERT_TRUE(publish(*partition, settings).ok());
      partition->release();
      std::vector<Buffer> buffers;
      EXPECT_FALSE(store_->take_at_hand(key(settings), 0, &buffers));
      int at_hand = 0;
      for (uint32_t i = 0; i < settings.subpartitions; ++i) {
        const bool taken = store_->take_at_hand(key(settings), i, &buffers);
        ChannelElements elements(0);
        for (const Buffer& buffer : buffers) elements.add(buffer);
        buffers.clear();
        const auto read = read_all(settings, i);
        ASSERT_TRUE(read.ok());
        if (taken) {
          EXPECT_TRUE(elements.elements == *read) << i;
          ++at_hand;
        }
      }
      EXPECT_GT(at_hand, 100) << to_string(codec) << (to_all ? " to all" : "");
    }
  }
}

TEST_F(FileElevatorTest, WhatIsAtHandLivesAsLongAsItIsUsedAndCounts) {
  const Settings settings{.subpartitions = 400, .codec = BlockCodec::kNone};
  write_regions(settings, 200'000);
  ASSERT_TRUE(read_all(settings, 0).ok());
  std::vector<Buffer> buffers;
  uint32_t next = 1;
  while (!store_->take_at_hand(key(settings), next, &buffers)) ASSERT_LT(++next, 400u);
  const std::string bytes(buffers.at(0).bytes());
  for (uint32_t i = 0; i < 400; ++i) ASSERT_TRUE(read_all(settings, i).ok());
  store_->release_job(key().job);
  disk_.run_ready();
  EXPECT_GT(store_->read_pool()->windows_held_bytes(), 0u);
  EXPECT_EQ(buffers.at(0).bytes(), bytes);
  buffers.clear();
  EXPECT_EQ(store_->read_pool()->windows_held_bytes(), 0u);
}

TEST_F(FileElevatorTest, DamageIsNotAtHand) {
  const Settings settings{.subpartitions = 400, .codec = BlockCodec::kNone};
  write_regions(settings, 50'000);
  // The first bytes of the payload of a small part, as the disk gives them.
  files_.change_read = [](uint64_t offset, char* bytes, size_t size) {
    const uint64_t at = 10'000;
    if (offset <= at && at < offset + size) bytes[at - offset] ^= 1;
  };
  int damaged = 0;
  for (uint32_t i = 0; i < settings.subpartitions; ++i) {
    std::vector<Buffer> buffers;
    const bool taken = store_->take_at_hand(key(settings), i, &buffers);
    EXPECT_NE(taken, buffers.empty()) << i;
    const auto read = read_all(settings, i);
    EXPECT_FALSE(taken && !read.ok()) << i;
    damaged += is_partition_lost(read.status()) ? 1 : 0;
  }
  EXPECT_EQ(damaged, 1);
}

TEST_F(FileElevatorTest, WhatIsReadForThoseWhoComeNextIsBounded) {
  restart(64u << 10);
  std::vector<std::shared_ptr<PartitionReader>> readers;
  Settings settings{.subpartitions = 50};
  for (settings.producer = 0; settings.producer < 40; ++settings.producer) {
    write_regions(settings, 30'000);
    readers.push_back(reader(settings, 0));
    ASSERT_TRUE(take(*readers.back()).ok());
    EXPECT_LE(store_->read_pool()->windows_held_bytes(), 32u << 10);
  }
  EXPECT_GT(store_->read_pool()->windows_held_bytes(), 16u << 10);
  for (const auto& reader : readers) reader->close();
  readers.clear();
  store_->release_job(key().job);
  EXPECT_EQ(store_->read_pool()->windows_held_bytes(), 0u);
}

TEST_F(FileElevatorTest, ServesEachReaderOnceInASweepByRisingOffset) {
  // One region, in which all that is for one is behind all that is for the one before it.
  const Settings settings{.subpartitions = 6, .codec = BlockCodec::kNone, .memory_bytes = 3u << 20};
  write_regions(settings, 2u << 20);
  std::vector<uint64_t> offsets;
  files_.on_read = [&](uint64_t offset, size_t size) {
    if (size >= kLargeBlockBytes) offsets.push_back(offset);
    return Status();
  };
  std::vector<std::shared_ptr<PartitionReader>> readers;
  for (const uint32_t subpartition : {3u, 1u, 5u})
    readers.push_back(reader(settings, subpartition));
  // All of them want more all the time.
  while (disk_.run_one()) {
    for (const auto& reader : readers) take_ready(*reader);
  }
  ASSERT_GT(offsets.size(), 6u);
  for (size_t i = 1; i < offsets.size(); ++i) {
    // Each third read begins a sweep.
    EXPECT_EQ(offsets[i] < offsets[i - 1], i % 3 == 0) << i;
  }
  for (const auto& reader : readers) {
    EXPECT_TRUE(reader->ended());
    reader->close();
  }
}

TEST_F(FileElevatorTest, TheDiskHearsBeforeWhatIsReadNext) {
  for (const uint32_t subpartitions : {2u, 1000u}) {
    const Settings settings{.subpartitions = subpartitions,
                            .codec = BlockCodec::kNone,
                            .memory_bytes = 3u << 20,
                            .attempt = subpartitions};
    write_regions(settings, 2u << 20);
    std::vector<std::pair<uint64_t, uint64_t>> expected;
    files_.on_expect = [&](uint64_t offset, uint64_t size) {
      expected.emplace_back(offset, offset + size);
    };
    files_.on_read = [&](uint64_t offset, size_t size) {
      uint64_t heard = offset;
      for (const auto& [begin, end] : expected) {
        if (begin <= heard) heard = std::max(heard, end);
      }
      EXPECT_GE(heard, std::min(offset + size,
                                offset / ReadPool::kAroundBytesMin * ReadPool::kAroundBytesMin +
                                    ReadPool::kAroundBytesMin));
      return Status();
    };
    for (const uint32_t subpartition : {0u, 1u}) {
      const auto all = read_all(settings, subpartition);
      ASSERT_TRUE(all.ok());
    }
    // For small parts once for all that is around them.
    EXPECT_LE(expected.size(), subpartitions == 2 ? 40u : 8u);
    files_.on_expect = nullptr;
    files_.on_read = nullptr;
  }
}

TEST_F(FileElevatorTest, WhatIsReadWasExpectedInAnEarlierTurn) {
  for (const uint32_t subpartitions : {2u, 1000u}) {
    const Settings settings{.subpartitions = subpartitions,
                            .codec = BlockCodec::kNone,
                            .memory_bytes = 3u << 20,
                            .attempt = subpartitions};
    write_regions(settings, 12u << 20);
    int turn = 0;
    std::vector<std::pair<uint64_t, uint64_t>> expected;  // Before this turn.
    std::vector<std::pair<uint64_t, uint64_t>> now;
    uint64_t bytes_expected = 0;
    files_.on_expect = [&](uint64_t offset, uint64_t size) {
      now.emplace_back(offset, offset + size);
      bytes_expected += size;
    };
    files_.on_read = [&](uint64_t offset, size_t size) {
      uint64_t heard = offset;
      for (size_t i = 0; i < expected.size(); ++i) {
        for (const auto& [begin, end] : expected) {
          if (begin <= heard) heard = std::max(heard, end);
        }
        if (heard >= offset + size) break;
      }
      EXPECT_GE(heard, offset + size) << offset << ", turn " << turn;
      return Status();
    };
    const auto first = reader(settings, 0);
    const auto second = reader(settings, 1);
    while (!first->ended() || !second->ended()) {
      ++turn;
      ASSERT_TRUE(disk_.run_one());
      expected.insert(expected.end(), now.begin(), now.end());
      now.clear();
      take_ready(*first);
      take_ready(*second);
    }
    first->close();
    second->close();
    // Nothing twice, but for what is around the index.
    EXPECT_LE(bytes_expected, file_bytes_ + 8 * ReadPool::kAroundBytesMax);
    files_.on_expect = nullptr;
    files_.on_read = nullptr;
  }
}

TEST_F(FileElevatorTest, AReaderThatDoesNotTakeHoldsUpNobody) {
  restart(64u << 10);
  const Settings settings{.subpartitions = 20, .codec = BlockCodec::kNone};
  write_regions(settings, 8u << 20);
  std::vector<std::shared_ptr<PartitionReader>> idle;
  for (uint32_t i = 0; i < 19; ++i) idle.push_back(reader(settings, i));
  disk_.run_ready();
  // They have what there is of the pool.
  EXPECT_FALSE(store_->read_pool()->available());
  const auto all = read_all(settings, 19);
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  EXPECT_GT(all->size(), 4'000u);
  EXPECT_LE(store_->read_pool()->held_bytes(), (64u << 10) + ReadPool::kRunBytesMax + (64u << 10));
  // And then they go on where they were.
  for (const auto& reader : idle) {
    while (true) {
      const auto taken = take(*reader);
      ASSERT_TRUE(taken.ok()) << taken.status().to_string();
      if (!*taken) break;
    }
    reader->close();
  }
}

/// Consumers that write a partition each before they take the next buffer of their input, all with
/// the least memory there can be.
TEST_F(FileElevatorTest, AChainOfPartitionsGoesThroughWithTheLeastMemory) {
  restart(kLargeBlockBytes);
  const Settings first{.subpartitions = 3, .producer = 0};
  write_regions(first, 2u << 20);
  // All stages have readers of all that is before them, which hold what they can.
  std::vector<std::shared_ptr<PartitionReader>> held;
  for (uint32_t stage = 1; stage <= 3; ++stage) {
    const Settings before{.subpartitions = 3, .producer = stage - 1};
    const Settings after{.subpartitions = 3, .producer = stage};
    held.push_back(reader(before, 1));
    held.push_back(reader(before, 2));
    disk_.run_ready();
    const auto input = read_all(before, 0);
    ASSERT_TRUE(input.ok()) << input.status().to_string();
    const auto partition = make_partition(after);
    for (uint32_t i = 0; i < 3 * input->size(); ++i) write(*partition, i % 3, (*input)[i / 3]);
    ASSERT_TRUE(publish(*partition, after).ok());
    partition->release();
    const auto output = read_all(after, 2);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->size(), input->size());
  }
  for (const auto& reader : held) reader->close();
}

TEST_F(FileElevatorTest, ClosingReadersAtAnyTimeLeavesNothing) {
  const Settings settings{.subpartitions = 5};
  write_regions(settings, 3u << 20);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto random = make_seeded_random(seed);
    std::vector<std::shared_ptr<PartitionReader>> readers;
    for (uint32_t i = 0; i < 5; ++i) readers.push_back(reader(settings, i));
    for (uint64_t steps = random->below(60); steps > 0; --steps) {
      if (random->one_in(2)) disk_.run_one();
      ASSERT_TRUE(readers[random->below(5)]->take().ok());
    }
    for (const auto& reader : readers) reader->close();
    readers.clear();
    disk_.run_ready();
    ASSERT_EQ(store_->read_pool()->held_bytes(), 0u);
  }
}

TEST_F(FileElevatorTest, ManyFilesAreReadWithFewOfThemOpen) {
  const uint32_t files = ReadPool::kFilesKeptMax + 50;
  Settings settings;
  std::vector<std::shared_ptr<PartitionReader>> readers;
  for (settings.producer = 0; settings.producer < files; ++settings.producer) {
    const auto partition = make_partition(settings);
    write(*partition, 0, {{}, kNoTimestamp, std::to_string(settings.producer)});
    ASSERT_TRUE(publish(*partition, settings).ok());
    partition->release();
    readers.push_back(reader(settings, 0));
  }
  int most = 0;
  files_.on_read = [&](uint64_t, size_t) {
    most = std::max(most, files_.open_files);
    return Status();
  };
  for (const auto& reader : readers) {
    EXPECT_TRUE(take(*reader).ok());
    EXPECT_FALSE(take(*reader)->has_value());
  }
  EXPECT_THAT(most, Le(static_cast<int>(ReadPool::kFilesKeptMax) + 1));
  for (const auto& reader : readers) reader->close();
}

}  // namespace
}  // namespace freshet::testing
