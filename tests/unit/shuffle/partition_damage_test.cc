// What becomes of partition files that are missing, cut off, changed, or cannot be read.

#include <gmock/gmock.h>

#include <set>

#include "tests/unit/shuffle/blocking_rig.h"

namespace freshet::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PartitionDamageTest : public BlockingRig {
 protected:
  /// A small file with all that there is in one.
  void write_small(const Settings& settings) {
    const auto partition = make_partition(settings);
    for (uint32_t i = 0; i < 9; ++i) {
      const Written element{{}, i % 2 == 0 ? kNoTimestamp : i, std::string(100 + i, 'x')};
      write(*partition, i % settings.subpartitions, element);
      if (i == 4) partition->broadcast_event(ElementKind::kWatermark, "12345678");
    }
    const auto published = publish(*partition, settings);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    path_ = published->path;
    whole_ = files_.memory.files()[path_];
    partition->release();
    for (uint32_t i = 0; i < settings.subpartitions; ++i) all_.push_back(*read_all(settings, i));
  }

  /// By somebody who knows nothing of the file yet.
  Result<std::vector<Written>> read_anew(const Settings& settings, uint32_t subpartition) {
    PartitionReader::Options options;
    options.subpartition = subpartition;
    options.wake = [this] { ++woken_; };
    const auto elevator = std::make_shared<FileElevator>(
        FileElevator::Options{&files_, path_, &disk_, store_->read_pool()});
    return read_to_end(elevator->read(options), settings);
  }

  /// Reading gives what was written, or says that the partition is lost, and where; each time.
  bool is_right_or_lost(const Settings& settings) {
    bool lost = false;
    for (uint32_t i = 0; i < settings.subpartitions; ++i) {
      const auto read = read_anew(settings, i);
      if (read.ok()) {
        EXPECT_TRUE(*read == all_[i]);
        continue;
      }
      lost = true;
      EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << read.status().to_string();
      EXPECT_TRUE(is_partition_lost(read.status()));
      EXPECT_THAT(read.status().message(), HasSubstr(path_));
      EXPECT_THAT(read.status().message(), HasSubstr("at offset "));
    }
    return lost;
  }

  std::string path_;
  std::string whole_;
  std::vector<std::vector<Written>> all_;
};

TEST_F(PartitionDamageTest, ATruncatedFileIsLostWhereverItEnds) {
  for (const BlockCodec codec : {BlockCodec::kNone, BlockCodec::kLz4, BlockCodec::kZstd}) {
    const Settings settings{
        .subpartitions = 3, .codec = codec, .attempt = static_cast<uint32_t>(codec)};
    all_.clear();
    write_small(settings);
    for (size_t size = 0; size < whole_.size(); ++size) {
      files_.memory.put(path_, whole_.substr(0, size));
      EXPECT_TRUE(is_right_or_lost(settings)) << size;
    }
  }
}

TEST_F(PartitionDamageTest, AChangedByteIsNeverRead) {
  for (const BlockCodec codec : {BlockCodec::kNone, BlockCodec::kLz4, BlockCodec::kZstd}) {
    const Settings settings{
        .subpartitions = 3, .codec = codec, .attempt = static_cast<uint32_t>(codec)};
    all_.clear();
    write_small(settings);
    for (size_t at = 0; at < whole_.size(); ++at) {
      for (const char change : {'\x01', '\x80', '\xFF'}) {
        std::string changed = whole_;
        changed[at] = static_cast<char>(changed[at] ^ change);
        files_.memory.put(path_, changed);
        EXPECT_TRUE(is_right_or_lost(settings)) << at;
      }
    }
  }
}

TEST_F(PartitionDamageTest, AFileThatIsGoneIsNotFound) {
  const Settings settings{.subpartitions = 3};
  write_small(settings);
  ASSERT_TRUE(files_.memory.remove(path_).ok());
  const auto read = read_anew(settings, 1);
  EXPECT_EQ(read.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(read.status().message(), HasSubstr(path_));
  EXPECT_TRUE(is_partition_lost(read.status()));
}

TEST_F(PartitionDamageTest, AFileOfAnotherPartitionIsLostOrEmpty) {
  const Settings wide{.subpartitions = 3};
  write_small(wide);
  const auto partition = make_partition({.subpartitions = 1, .attempt = 8});
  write(*partition, 0, {{}, kNoTimestamp, "x"});
  ASSERT_TRUE(publish(*partition, {.subpartitions = 1, .attempt = 8}).ok());
  partition->release();
  files_.memory.put(path_, files_.memory.files()[store_->find(key({.attempt = 8}))->path]);
  EXPECT_THAT(read_anew(wide, 2).status().message(), HasSubstr("it has 1 subpartitions"));
}

TEST_F(PartitionDamageTest, ADiskThatCannotReadLosesThePartition) {
  const Settings settings{.subpartitions = 3};
  write_small(settings);
  int reads = 0;
  files_.on_read = [&](uint64_t, size_t) {
    ++reads;
    return Status();
  };
  EXPECT_FALSE(is_right_or_lost(settings));
  const int all_reads = reads;
  EXPECT_GT(all_reads, 6);
  for (int failing = 1; failing <= all_reads; ++failing) {
    reads = 0;
    files_.on_read = [&](uint64_t, size_t) {
      return ++reads == failing ? unavailable("input/output error") : Status();
    };
    EXPECT_TRUE(is_right_or_lost(settings)) << failing;
  }
}

TEST_F(PartitionDamageTest, FilesThatCannotBeOpenedNowAreNotLost) {
  const Settings settings{.subpartitions = 3};
  write_small(settings);
  files_.on_open = [](const std::string& path) {
    return resource_exhausted(path + ": too many open files");
  };
  const auto read = read_anew(settings, 1);
  EXPECT_EQ(read.status().code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(is_partition_lost(read.status()));
  files_.on_open = nullptr;
  EXPECT_TRUE(*read_all(settings, 1) == all_[1]);
}

class PartitionStoreTest : public BlockingRig {
 protected:
  void write_one(const Settings& settings, const std::string& text) {
    const auto partition = make_partition(settings);
    write(*partition, 0, {{}, kNoTimestamp, text});
    const auto published = publish(*partition, settings);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    partition->release();
  }
  std::string text_of(const Settings& settings) {
    const auto read = read_all(settings, 0);
    return read.ok() ? read->at(0).payload : read.status().to_string();
  }
  size_t file_count() const { return files_.memory.files().size(); }
};

TEST_F(PartitionStoreTest, AttemptsOfOneProducerDoNotMeet) {
  const auto late = make_partition({.attempt = 0});
  write(*late, 0, {{}, kNoTimestamp, "first"});
  write_one({.attempt = 1}, "second");
  ASSERT_TRUE(publish(*late, {.attempt = 0}).ok());
  late->release();
  EXPECT_EQ(text_of({.attempt = 0}), "first");
  EXPECT_EQ(text_of({.attempt = 1}), "second");
  store_->release(key({.attempt = 0}));
  EXPECT_EQ(text_of({.attempt = 1}), "second");
  EXPECT_EQ(store_->publish(key({.attempt = 1}), {}).code(), StatusCode::kAlreadyExists);
}

TEST_F(PartitionStoreTest, WhatIsReleasedIsRemovedAndNotFound) {
  write_one({}, "text");
  EXPECT_EQ(text_of({}), "text");
  EXPECT_EQ(text_of({}), "text");
  EXPECT_EQ(store_->partition_count(), 1u);
  EXPECT_GT(store_->file_bytes(), 0u);
  store_->release(key());
  store_->release(key());
  disk_.run_ready();
  EXPECT_EQ(file_count(), 0u);
  EXPECT_EQ(store_->find(key()).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(store_->read(key(), {}).status().message(),
              HasSubstr("the partition of producer 3, attempt 0, of dataset 7 is not here"));
}

TEST_F(PartitionStoreTest, WhoReadsWhileItIsReleasedReadsToItsEndOrHearsIt) {
  const Settings settings{.codec = BlockCodec::kNone};
  const auto partition = make_partition(settings);
  for (int i = 0; i < 50'000; ++i) write(*partition, 0, {{}, kNoTimestamp, std::string(90, 'x')});
  ASSERT_TRUE(publish(*partition, settings).ok());
  partition->release();
  const auto reader = this->reader(settings, 0);
  ASSERT_TRUE(take(*reader).ok());
  store_->release(key());
  uint64_t elements = 0;
  while (true) {
    const auto taken = take(*reader);
    ASSERT_TRUE(taken.ok()) << taken.status().to_string();
    if (!*taken) break;
    elements = (*taken)->buffer.first_element + (*taken)->buffer.elements_started;
  }
  EXPECT_EQ(elements, 50'000u);
  EXPECT_EQ(file_count(), 0u);
  reader->close();
}

TEST_F(PartitionStoreTest, AJobLeavesNothing) {
  write_one({.producer = 1}, "a");
  write_one({.producer = 2}, "b");
  const auto unfinished = make_partition({.codec = BlockCodec::kNone, .producer = 4});
  for (int i = 0; i < 10'000; ++i) write(*unfinished, 0, {{}, kNoTimestamp, std::string(300, 'x')});
  disk_.run_one();
  EXPECT_EQ(file_count(), 3u);
  unfinished->release();
  store_->release_job(key().job);
  disk_.run_ready();
  EXPECT_EQ(file_count(), 0u);
  EXPECT_EQ(store_->partition_count(), 0u);
  EXPECT_THAT(*files_.memory.list(kDirectory), IsEmpty());
}

/// Of a job with very many files.
TEST_F(PartitionStoreTest, WhoUsesTheDiskDoesNotWaitForAllThatIsRemoved) {
  constexpr uint32_t kFiles = 200;
  for (uint32_t producer = 0; producer < kFiles; ++producer)
    write_one({.producer = producer}, "text");
  for (uint32_t producer = 0; producer < kFiles / 2; ++producer)
    store_->release(key({.producer = producer}));
  store_->release_job(key().job);
  size_t left = 0;
  for (int i = 0; i < 3; ++i) {
    bool had_its_turn = false;
    disk_.post("another_job", [&] { had_its_turn = true; });
    const size_t before = file_count();
    while (!had_its_turn) disk_.run_one();
    left = file_count();
    EXPECT_LE(before - left, FileRemover::kAtOnce);
  }
  EXPECT_LT(left, kFiles);
  disk_.run_ready();
  EXPECT_EQ(file_count(), 0u);
  EXPECT_THAT(*files_.memory.list(kDirectory), IsEmpty());
}

/// As when its TaskManager loses the JobManager for a moment.
TEST_F(PartitionStoreTest, WhatAJobWritesAfterItWasReleasedStays) {
  for (uint32_t producer = 0; producer < 20; ++producer) write_one({.producer = producer}, "text");
  store_->release_job(key().job);
  write_one({.attempt = 1, .producer = 30}, "again");
  disk_.run_ready();
  EXPECT_EQ(text_of({.attempt = 1, .producer = 30}), "again");
  EXPECT_EQ(file_count(), 1u);
  store_->release_job(key().job);
  disk_.run_ready();
  EXPECT_THAT(*files_.memory.list(kDirectory), IsEmpty());
}

TEST_F(PartitionStoreTest, AProcessThatEndsLeavesNothingThatWasReleased) {
  for (uint32_t producer = 0; producer < 20; ++producer) write_one({.producer = producer}, "text");
  store_->release_job(key().job);
  while (file_count() == 20) ASSERT_TRUE(disk_.run_one());
  EXPECT_EQ(file_count(), 20u - FileRemover::kAtOnce);
  store_ = nullptr;
  disk_.stop();
  EXPECT_EQ(file_count(), 0u);
}

TEST_F(PartitionStoreTest, WhatAKilledProcessLeftIsRemovedAtTheStart) {
  write_one({}, "a");
  files_.memory.put(std::string(kDirectory) + "/other/1-2-3.partition.part", "half");
  restart();
  EXPECT_EQ(file_count(), 0u);
  EXPECT_EQ(store_->find(key()).status().code(), StatusCode::kNotFound);
  write_one({}, "b");
  EXPECT_EQ(text_of({}), "b");
}

TEST_F(PartitionStoreTest, NamesADirectoryThatCannotBeMade) {
  files_.memory.put("/file", "");
  const auto store = PartitionStore::create({SpillPlace{&files_, "/file", &disk_, {}}, 1 << 20});
  if (store.ok()) return;  // It took the place of the file.
  EXPECT_THAT(store.status().message(), HasSubstr("directory of partitions: /file"));
}

}  // namespace
}  // namespace freshet::testing
