#include "runtime/connectors/path_pattern.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

TEST(PathPatternTest, MatchesNamesAsAShellDoes) {
  EXPECT_TRUE(matches_name("*", ""));
  EXPECT_TRUE(matches_name("*.txt", "a.txt"));
  EXPECT_FALSE(matches_name("*.txt", "a.txt2"));
  EXPECT_TRUE(matches_name("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches_name("a*b*c", "a-c-b"));
  EXPECT_TRUE(matches_name("?", "x"));
  EXPECT_FALSE(matches_name("?", ""));
  EXPECT_TRUE(matches_name("[a-c][!x]", "by"));
  EXPECT_FALSE(matches_name("[a-c][!x]", "bx"));
  EXPECT_TRUE(matches_name("[]a]", "]"));
  EXPECT_TRUE(matches_name("[a-]", "-"));
  EXPECT_TRUE(matches_name("[open", "[open"));
  EXPECT_TRUE(matches_name("\\*", "*"));
  EXPECT_FALSE(matches_name("\\*", "x"));
  EXPECT_TRUE(matches_name("*a*a*a*a*a*a*a*b", std::string(50, 'a') + "b"));
  EXPECT_FALSE(matches_name("*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

class ExpandPatternsTest : public testing::Test {
 protected:
  ExpandPatternsTest() {
    for (const char* path : {"/d/a.txt", "/d/b.txt", "/d/c.md", "/d/.hidden", "/d/_hidden.txt",
                             "/d/sub/a.txt", "/d/sub/deep/x.txt", "/e/a.txt", "/d/odd[1].txt"}) {
      files_.put(path, "x");
    }
  }

  std::vector<std::string> expand(const std::vector<std::string>& patterns) {
    const auto found = expand_patterns(patterns, files_);
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    std::vector<std::string> paths;
    if (found.ok()) {
      for (const FileInfo& file : *found) paths.push_back(file.path);
    }
    return paths;
  }

  using Paths = std::vector<std::string>;
  MemoryFileSystem files_;
};

TEST_F(ExpandPatternsTest, TakesFilesEvenHiddenOnes) {
  EXPECT_EQ(expand({"/e/a.txt", "/d/.hidden"}), (Paths{"/e/a.txt", "/d/.hidden"}));
}

TEST_F(ExpandPatternsTest, TakesTheVisibleFilesOfADirectoryButNotOfItsSubdirectories) {
  EXPECT_EQ(expand({"/d"}), (Paths{"/d/a.txt", "/d/b.txt", "/d/c.md", "/d/odd[1].txt"}));
}

TEST_F(ExpandPatternsTest, MatchesComponents) {
  EXPECT_EQ(expand({"/d/*.txt"}), (Paths{"/d/a.txt", "/d/b.txt", "/d/odd[1].txt"}));
  EXPECT_EQ(expand({"/?/a.txt"}), (Paths{"/d/a.txt", "/e/a.txt"}));
  EXPECT_EQ(expand({"/d/_*"}), (Paths{"/d/_hidden.txt"}));
  EXPECT_EQ(expand({"/*/sub/[a-z].txt"}), (Paths{"/d/sub/a.txt"}));
}

TEST_F(ExpandPatternsTest, MatchesAnyNumberOfDirectoriesWithTwoStars) {
  EXPECT_EQ(expand({"/d/**/[ax].txt"}), (Paths{"/d/a.txt", "/d/sub/a.txt", "/d/sub/deep/x.txt"}));
  EXPECT_EQ(expand({"/d/sub/**"}), (Paths{"/d/sub/a.txt", "/d/sub/deep/x.txt"}));
}

TEST_F(ExpandPatternsTest, PrefersTheFileThatIsNamedLikeAPattern) {
  EXPECT_EQ(expand({"/d/odd[1].txt"}), (Paths{"/d/odd[1].txt"}));
  files_.put("/dir[1]/a.txt", "x");
  EXPECT_EQ(expand({"/dir[1]/*"}), (Paths{"/dir[1]/a.txt"}));
}

TEST_F(ExpandPatternsTest, GivesAFileOnce) {
  EXPECT_EQ(expand({"/d/a.txt", "/d/*.txt", "/d/a.txt"}),
            (Paths{"/d/a.txt", "/d/b.txt", "/d/odd[1].txt"}));
}

/// Says of every directory that it is there, and gives nobody what is in it.
class LockedFiles final : public FileSystem {
 public:
  Result<FileInfo> info(const std::string& path) override {
    FileInfo info;
    info.path = path;
    info.is_directory = true;
    return info;
  }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return locked(path); }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return locked(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return locked(path);
  }
  Status create_directories(const std::string& path) override { return locked(path); }
  Status create_new_directory(const std::string& path) override { return locked(path); }
  Status rename(const std::string& from, const std::string&) override { return locked(from); }
  Status remove(const std::string& path) override { return locked(path); }
  Status remove_all(const std::string& path) override { return locked(path); }
  Status remove_empty_directory(const std::string& path) override { return locked(path); }

 private:
  static Status locked(const std::string& path) {
    return failed_precondition(path + ": Permission denied");
  }
};

TEST(UnreadableInputTest, IsAnsweredWithWhatToDo) {
  LockedFiles files;
  EXPECT_EQ(expand_patterns({"/locked"}, files).status().message(),
            "input '/locked' cannot be read: /locked: Permission denied; make it readable for the "
            "TaskManagers or leave it out");
}

TEST_F(ExpandPatternsTest, RefusesWhatGivesNothing) {
  ASSERT_TRUE(files_.create_directories("/empty/sub").ok());
  for (const std::string pattern :
       {"/none", "/d/*.none", "/d/su*", "/empty", "/d/a.txt/*", "/e/*/*"}) {
    const auto found = expand_patterns({pattern}, files_);
    EXPECT_EQ(found.status().code(), StatusCode::kNotFound) << pattern;
    EXPECT_NE(found.status().message().find("'" + pattern + "'"), std::string::npos);
  }
}

/// A directory of its own on the real disk.
class LocalPatternTest : public testing::Test {
 protected:
  LocalPatternTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/sub");
    EXPECT_TRUE(files_->write_atomically(root_ + "/sub/real", "12345").ok());
  }
  ~LocalPatternTest() override { std::filesystem::remove_all(root_); }

  std::string root_ = testing::TempDir() + "freshet_local_pattern_test";
  std::unique_ptr<FileSystem> files_ = make_local_file_system();
};

TEST_F(LocalPatternTest, FollowsLinksToFilesAndOverlooksLinksToNothing) {
  std::filesystem::create_symlink(root_ + "/sub/real", root_ + "/link");
  std::filesystem::create_symlink(root_ + "/none", root_ + "/dangling");
  std::filesystem::create_directory_symlink(root_, root_ + "/sub/loop");
  for (const std::string pattern : {"/link", "", "/l*"}) {
    const auto found = expand_patterns({root_ + pattern}, *files_);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    ASSERT_EQ(found->size(), 1u) << pattern;
    EXPECT_EQ(found->front().path, root_ + "/link");
    EXPECT_EQ(found->front().size_bytes, 5u);
  }
  EXPECT_FALSE(expand_patterns({root_ + "/dangling"}, *files_).ok());
  const auto below = expand_patterns({root_ + "/**"}, *files_);
  ASSERT_TRUE(below.ok());
  EXPECT_EQ(below->size(), 2u);  // The link and the file, and no end of loops.
}

TEST_F(LocalPatternTest, RefusesPipesThatWereNamedAndOverlooksOthers) {
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(expand_patterns({root_ + "/pipe"}, *files_).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(expand_patterns({root_}, *files_).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace freshet
