#include "shuffle/temp_directories.h"

#include <gmock/gmock.h>

#include "tests/unit/shuffle/blocking_rig.h"

namespace freshet::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TempDirectoriesTest : public ::testing::Test {
 protected:
  TempDirectoriesTest() {
    for (const char* directory : {"/a", "/b", "/c"})
      EXPECT_TRUE(files_.create_directories(directory).ok());
  }

  std::vector<std::string> next(int count) {
    std::vector<std::string> places;
    for (int i = 0; i < count; ++i) places.push_back(directories_->next("job").directory);
    return places;
  }

  MemoryFileSystem files_;
  ManualClock clock_;
  ManualExecutor disk_{clock_};
  std::shared_ptr<TempDirectories> directories_ =
      std::make_shared<TempDirectories>(SpillPlace{&files_, "/a", &disk_, {}, {"/b", "/c"}});
};

TEST_F(TempDirectoriesTest, FilesGoToThemInTurn) {
  EXPECT_THAT(directories_->all(), ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(next(4), ElementsAre("/a/job", "/b/job", "/c/job", "/a/job"));
  const SpillPlace place = directories_->next({});
  EXPECT_EQ(place.directory, "/b");
  EXPECT_TRUE(place.others.empty());
}

TEST_F(TempDirectoriesTest, OneThatFailsIsLeftOutWhileThereIsAnother) {
  directories_->next({}).on_error(data_loss("input/output error"));
  EXPECT_THAT(next(3), ElementsAre("/b/job", "/c/job", "/b/job"));
  directories_->on_removed();
  EXPECT_THAT(next(2), ElementsAre("/c/job", "/b/job"));
  directories_->next({}).on_error(unavailable("read-only"));
  EXPECT_THAT(next(2), ElementsAre("/b/job", "/b/job"));
  // Who comes when none is left hears what is the matter.
  directories_->next({}).on_error(unavailable("read-only"));
  EXPECT_THAT(next(3), ElementsAre("/c/job", "/a/job", "/b/job"));
}

TEST_F(TempDirectoriesTest, OneThatIsFullComesAfterTheOthersUntilSomethingIsRemoved) {
  const SpillPlace a = directories_->next({});
  a.on_error(resource_exhausted("full"));
  EXPECT_THAT(next(2), ElementsAre("/b/job", "/c/job"));
  directories_->next({}).on_error(data_loss("input/output error"));
  directories_->next({}).on_error(resource_exhausted("full"));
  EXPECT_THAT(next(2), ElementsAre("/a/job", "/c/job"));
  directories_->on_removed();
  EXPECT_THAT(next(2), ElementsAre("/a/job", "/c/job"));
  a.on_error(resource_exhausted("full"));
  EXPECT_THAT(next(2), ElementsAre("/c/job", "/c/job"));
}

TEST_F(TempDirectoriesTest, AFileThatCannotBeReadSaysNothingOfADirectoryThatWorks) {
  directories_->on_read_error("/a/job/file");
  EXPECT_THAT(next(3), ElementsAre("/a/job", "/b/job", "/c/job"));
  ASSERT_TRUE(files_.remove_all("/a").ok());
  directories_->on_read_error("/elsewhere/a/file");
  directories_->on_read_error("/a/job/file");
  EXPECT_THAT(next(3), ElementsAre("/b/job", "/c/job", "/b/job"));
  EXPECT_TRUE(files_.files().empty());
}

TEST_F(TempDirectoriesTest, ChecksThatFilesCanBeMade) {
  EXPECT_TRUE(TempDirectories::check(files_, "/a").ok());
  EXPECT_THAT(TempDirectories::check(files_, "/nowhere").message(), HasSubstr("/nowhere"));
  files_.put("/file", "text");
  EXPECT_THAT(TempDirectories::check(files_, "/file").message(), HasSubstr("/file"));
}

/// Blocking partitions in two directories.
class TwoDirectoriesTest : public BlockingRig {
 protected:
  TwoDirectoriesTest() {
    auto store =
        PartitionStore::create({SpillPlace{&files_, "/one", &disk_, {}, {"/two"}}, 1u << 20});
    EXPECT_TRUE(store.ok());
    store_ = std::move(store).value();
  }

  /// Its path, or the error.
  Result<std::string> write_one(uint32_t producer) {
    const Settings settings{.producer = producer};
    const auto partition = make_partition(settings);
    write(*partition, 0, {{}, kNoTimestamp, "text"});
    const auto published = publish(*partition, settings);
    partition->release();
    disk_.run_ready();
    if (!published.ok()) return published.status();
    return published->path;
  }

  Status read_one(uint32_t producer) {
    return read_all(Settings{.producer = producer}, 0).status();
  }
};

TEST_F(TwoDirectoriesTest, ADiskThatDiesLosesWhatIsOnItAndNothingElse) {
  for (uint32_t producer = 0; producer < 4; ++producer)
    EXPECT_THAT(*write_one(producer), HasSubstr(producer % 2 == 0 ? "/one/" : "/two/"));
  for (const StatusCode code : {StatusCode::kUnavailable, StatusCode::kResourceExhausted}) {
    files_.on_append = [&](const std::string& path, std::string_view) {
      return path.starts_with("/one") ? Status(code, path + ": it fails") : Status();
    };
    // The task that meets it first fails; the next attempt, and all others, do not.
    const auto failed = write_one(10);
    EXPECT_EQ(failed.status().code(), code);
    EXPECT_THAT(failed.status().message(), HasSubstr("/one/"));
    for (uint32_t producer = 20; producer < 24; ++producer) {
      EXPECT_THAT(*write_one(producer), HasSubstr("/two/"));
      EXPECT_TRUE(read_one(producer).ok());
    }
    for (uint32_t producer = 0; producer < 4; ++producer) EXPECT_TRUE(read_one(producer).ok());
    store_->release_job(key().job);
    disk_.run_ready();
    EXPECT_TRUE(files_.memory.files().empty());
    files_.on_append = nullptr;
    // What only was full is used again.
    store_ = std::move(PartitionStore::create(
                           {SpillPlace{&files_, "/one", &disk_, {}, {"/two"}}, 1u << 20}))
                 .value();
    for (uint32_t producer = 0; producer < 4; ++producer) ASSERT_TRUE(write_one(producer).ok());
  }
}

TEST_F(TwoDirectoriesTest, WhatWasInADirectoryThatVanishedIsLostAndMadeInTheOther) {
  for (uint32_t producer = 0; producer < 4; ++producer) ASSERT_TRUE(write_one(producer).ok());
  ASSERT_TRUE(files_.memory.remove_all("/one").ok());
  EXPECT_TRUE(is_partition_lost(read_one(0)));
  EXPECT_TRUE(read_one(1).ok());
  EXPECT_TRUE(is_partition_lost(read_one(2)));
  EXPECT_TRUE(read_one(3).ok());
  for (uint32_t producer = 10; producer < 13; ++producer)
    EXPECT_THAT(*write_one(producer), HasSubstr("/two/"));
}

TEST_F(TwoDirectoriesTest, ANewProcessRemovesWhatIsLeftInBoth) {
  for (uint32_t producer = 0; producer < 4; ++producer) ASSERT_TRUE(write_one(producer).ok());
  EXPECT_EQ(files_.memory.files().size(), 4u);
  ASSERT_TRUE(
      PartitionStore::create({SpillPlace{&files_, "/one", &disk_, {}, {"/two"}}, 1u << 20}).ok());
  EXPECT_TRUE(files_.memory.files().empty());
}

}  // namespace
}  // namespace freshet::testing
