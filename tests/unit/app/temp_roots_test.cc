#include "runtime/app/temp_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "runtime/base/memory_file_system.h"
#include "shuffle/temp_directories.h"
#include "tests/unit/base/hooked_files.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TempRootsTest : public ::testing::Test {
 protected:
  TempRootsTest() {
    EXPECT_TRUE(files_.create_directories("/disk/1").ok());
    EXPECT_TRUE(files_.create_directories("/disk/2").ok());
  }
  std::string error(std::string_view setting) {
    const auto roots = TempRoots::open(setting, "/state", files_);
    EXPECT_FALSE(roots.ok());
    return roots.status().to_string();
  }

  MemoryFileSystem files_;
};

TEST_F(TempRootsTest, AreInTheStateDirectoryUnlessTheyAreSet) {
  const auto roots = TempRoots::open("", "/state", files_);
  ASSERT_TRUE(roots.ok());
  const SpillPlace place = roots->place("spill", {});
  EXPECT_EQ(place.directory, "/state/spill");
  EXPECT_TRUE(place.others.empty());
  files_.put("/state/kept", "text");
  roots->remove();
  EXPECT_TRUE(files_.files().contains("/state/kept"));
}

TEST_F(TempRootsTest, EachTaskManagerHasItsOwnInEachDirectory) {
  const auto roots = TempRoots::open(" /disk/1/, /disk/2", "/state", files_);
  const auto others = TempRoots::open("/disk/1", "/other", files_);
  ASSERT_TRUE(roots.ok() && others.ok());
  const SpillPlace place = roots->place("spill", {});
  EXPECT_THAT(place.directory, StartsWith("/disk/1/freshet-"));
  ASSERT_EQ(place.others.size(), 1u);
  EXPECT_THAT(place.others[0], StartsWith("/disk/2/freshet-"));
  EXPECT_NE(others->place("spill", {}).directory, place.directory);
  EXPECT_EQ(TempRoots::open("/disk/1", "/state", files_)->place("spill", {}).directory,
            place.directory);
  files_.put(place.directory + "/file", "text");
  files_.put("/disk/1/of-somebody-else", "text");
  roots->remove();
  EXPECT_EQ(files_.files().size(), 1u);
}

TEST_F(TempRootsTest, WhatIsNotThereOrCannotBeUsedIsNamed) {
  files_.put("/disk/file", "text");
  EXPECT_THAT(error("/disk/1,/disk/3"), HasSubstr("/disk/3"));
  EXPECT_THAT(error("/disk/1,/disk/3"), HasSubstr("io.tmp.dirs"));
  EXPECT_THAT(error("/disk/file"), HasSubstr("/disk/file"));
  files_.set_capacity(0);
  EXPECT_THAT(error("/disk/1"), HasSubstr("io.tmp.dirs: /disk/1/"));
  EXPECT_THAT(error("/disk/1"), HasSubstr("no space left on device"));
  EXPECT_EQ(files_.files().size(), 1u);
  EXPECT_TRUE(files_.list("/disk/1")->empty());
  EXPECT_THAT(error("tmp"), HasSubstr("'tmp' is not an absolute path"));
  EXPECT_THAT(error("/disk/1,/disk/1/"), HasSubstr("'/disk/1' is named twice"));
}

/// Each removes what it tried, and must find it.
TEST(TempRootsAtOnceTest, TaskManagersThatStartTogetherDoNotMeet) {
  testing::HookedFiles files;
  ASSERT_TRUE(files.create_directories("/disk").ok());
  bool other_came = false;
  files.on_append = [&](const std::string&, std::string_view) {
    if (std::exchange(other_came, true)) return Status();
    return TempRoots::open("/disk", "/other", files).status();
  };
  const auto roots = TempRoots::open("/disk", "/state", files);
  EXPECT_TRUE(roots.ok()) << roots.status().to_string();
  EXPECT_TRUE(other_came);
}

TEST_F(TempRootsTest, WhatVanishesIsNotMadeAgain) {
  const auto roots = TempRoots::open("/disk/1,/disk/2", "/state", files_);
  ASSERT_TRUE(roots.ok());
  SpillPlace place;
  place.files = &files_;
  const auto directories = std::make_shared<TempDirectories>(roots->place("spill", place));
  ASSERT_TRUE(files_.remove_all("/disk/1").ok());
  const SpillPlace first = directories->next("job"), second = directories->next("job");
  const Status status = first.make_directory();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), StartsWith("/disk/1/freshet-"));
  EXPECT_FALSE(files_.info("/disk/1").ok());
  EXPECT_TRUE(second.make_directory().ok());
  EXPECT_TRUE(files_.info(second.directory).ok());
}

}  // namespace
}  // namespace freshet
