#include "runtime/app/temp_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

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
  EXPECT_THAT(error("tmp"), HasSubstr("'tmp' is not an absolute path"));
  EXPECT_THAT(error("/disk/1,/disk/1/"), HasSubstr("'/disk/1' is named twice"));
}

}  // namespace
}  // namespace freshet
