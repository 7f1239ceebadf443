#include "runtime/chaos/file_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace freshet::chaos {
namespace {

using testing::HasSubstr;
using Kind = FileDamage::Kind;

class FileFaultsTest : public ::testing::Test {
 protected:
  FileFaultsTest() {
    std::string name = std::filesystem::temp_directory_path() / "files-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    for (const char* path :
         {"partitions/job/0-0-0.partition", "partitions/job/0-1-0.partition",
          "partitions/job/0-2-0.partition.part", "spill/operators/a", "modules/abc.so",
          "modules/abc.so.part", "elsewhere/x.partition", "log"})
      write(path, content_);
    write("partitions/job/0-3-0.partition", "");
  }
  ~FileFaultsTest() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& path, const std::string& content) {
    EXPECT_TRUE(
        files_->create_directories(std::filesystem::path(in(path)).parent_path().string()).ok());
    EXPECT_TRUE(files_->write_atomically(in(path), content).ok());
  }
  std::string in(const std::string& path) const { return directory_ + "/" + path; }
  std::string read(const std::string& path) const { return *files_->read_all(path); }

  Result<FileDamage> damage(FileKind kind, Kind how, uint64_t chance) const {
    return damage_file(*files_, {directory_}, kind, how, chance);
  }
  std::vector<std::string> paths(FileKind kind) const {
    std::vector<std::string> paths;
    for (const FileInfo& file : find_files(*files_, {directory_, in("none")}, kind))
      paths.push_back(file.path);
    return paths;
  }

  const std::string content_ = std::string(1000, 'x');
  std::string directory_;
  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
};

TEST_F(FileFaultsTest, FindWhatIsPublished) {
  EXPECT_EQ(paths(FileKind::kSpill),
            (std::vector<std::string>{in("partitions/job/0-0-0.partition"),
                                      in("partitions/job/0-1-0.partition")}));
  EXPECT_EQ(paths(FileKind::kModule), std::vector<std::string>{in("modules/abc.so")});
}

TEST_F(FileFaultsTest, FlipOneBitWhereTheySay) {
  for (const FileKind kind : {FileKind::kSpill, FileKind::kModule}) {
    const auto done = damage(kind, Kind::kFlip, 7);
    ASSERT_TRUE(done.ok()) << done.status().to_string();
    std::string expected = content_;
    expected[done->offset] =
        static_cast<char>(static_cast<unsigned char>(expected[done->offset]) ^ (1u << done->bit));
    EXPECT_EQ(read(done->path), expected);
    EXPECT_THAT(done->to_string(), HasSubstr(" of " + done->path + " flipped (1000 bytes)"));
  }
}

TEST_F(FileFaultsTest, CutAndDelete) {
  for (const FileKind kind : {FileKind::kSpill, FileKind::kModule}) {
    const auto cut = damage(kind, Kind::kCut, 1);
    ASSERT_TRUE(cut.ok()) << cut.status().to_string();
    EXPECT_EQ(read(cut->path), content_.substr(0, cut->offset));
    EXPECT_THAT(cut->to_string(), HasSubstr(" cut from 1000 to "));
    const auto removed = damage(kind, Kind::kDelete, 1);
    ASSERT_TRUE(removed.ok());
    EXPECT_FALSE(std::filesystem::exists(removed->path));
    EXPECT_THAT(removed->to_string(), HasSubstr(removed->path + " deleted ("));
  }
}

TEST_F(FileFaultsTest, ChooseByChanceAndTheSameAgain) {
  std::set<std::string> chosen;
  std::set<uint64_t> offsets;
  for (uint64_t chance = 0; chance < 50; ++chance) {
    const auto once = damage(FileKind::kSpill, Kind::kFlip, chance);
    const auto again = damage(FileKind::kSpill, Kind::kFlip, chance);
    ASSERT_TRUE(once.ok() && again.ok());
    EXPECT_EQ(once->to_string(), again->to_string());
    EXPECT_EQ(read(once->path), content_);  // Twice is not at all.
    chosen.insert(once->path);
    offsets.insert(once->offset);
  }
  EXPECT_EQ(chosen.size(), 2u);
  EXPECT_GT(offsets.size(), 30u);
}

TEST_F(FileFaultsTest, SayThatNothingIsThere) {
  std::filesystem::remove_all(in("partitions"));
  const Status status = damage(FileKind::kSpill, Kind::kDelete, 3).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("there is no spill file"));
}

/// What runs has it in memory as it was.
TEST_F(FileFaultsTest, LeaveWhatIsLoadedOfAModule) {
  const auto open = *files_->open(in("modules/abc.so"));
  ASSERT_TRUE(damage(FileKind::kModule, Kind::kFlip, 5).ok());
  std::string bytes(content_.size(), '\0');
  ASSERT_EQ(*open->read(0, bytes.data(), bytes.size()), bytes.size());
  EXPECT_EQ(bytes, content_);
  EXPECT_NE(read(in("modules/abc.so")), content_);
}

}  // namespace
}  // namespace freshet::chaos
