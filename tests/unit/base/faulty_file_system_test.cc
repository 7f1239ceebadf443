#include "runtime/base/faulty_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "runtime/base/file_damage.h"
#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

using testing::HasSubstr;

class FaultyFileSystemTest : public ::testing::Test {
 protected:
  FaultyFileSystemTest() {
    std::string name = std::filesystem::temp_directory_path() / "disk-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    EXPECT_TRUE(create_disk_switches(path_of_switches()).ok());
    switches_ = *map_disk_switches(path_of_switches());
    auto memory = std::make_unique<MemoryFileSystem>();
    memory_ = memory.get();
    files_ = std::make_unique<FaultyFileSystem>(
        std::move(memory), switches_,
        std::vector<FaultyFileSystem::Place>{{"", DiskFiles::kOutput},
                                             {"/state", DiskFiles::kTemporary},
                                             {"/state/modules", DiskFiles::kModules}});
  }
  ~FaultyFileSystemTest() override { std::filesystem::remove_all(directory_); }

  std::string path_of_switches() const { return directory_ + "/switches"; }
  DiskState& disk(DiskFiles which) { return switches_->of(which); }
  Status write(const std::string& path) { return files_->write_atomically(path, "0123456789"); }

  std::string directory_;
  std::shared_ptr<DiskSwitches> switches_;
  MemoryFileSystem* memory_ = nullptr;
  std::unique_ptr<FaultyFileSystem> files_;
};

TEST_F(FaultyFileSystemTest, IsAsTheOtherWhenNothingIsSwitchedOn) {
  for (const std::string path : {"/state/a", "/state/modules/a", "/out/a"}) {
    ASSERT_TRUE(files_->create_directories(std::filesystem::path(path).parent_path()).ok());
    EXPECT_TRUE(write(path).ok());
    EXPECT_EQ(*files_->read_all(path), "0123456789");
  }
  for (const DiskFiles which : {DiskFiles::kTemporary, DiskFiles::kModules, DiskFiles::kOutput})
    EXPECT_EQ(disk(which).met, 0u);
}

TEST_F(FaultyFileSystemTest, FullTakesAPartAndSaysSoLikeTheOperatingSystem) {
  ASSERT_TRUE(files_->create_directories("/state").ok());
  auto file = *files_->create("/state/a");
  ASSERT_TRUE(file->append("abcd").ok());
  disk(DiskFiles::kTemporary).full = 1;
  const Status status = file->append("0123456789");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "/state/a: No space left on device (0 bytes are free there)");
  EXPECT_TRUE(file->close().ok());
  EXPECT_EQ(*files_->read_all("/state/a"), "abcd01234");
  EXPECT_EQ(files_->create("/state/b").status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(files_->create_directories("/state/c").code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(files_->create_directories("/state").ok());
  EXPECT_TRUE(files_->rename("/state/a", "/state/b").ok());
  EXPECT_TRUE(files_->remove("/state/b").ok());
  EXPECT_EQ(disk(DiskFiles::kTemporary).met, 3u);
  disk(DiskFiles::kTemporary).full = 0;
  EXPECT_TRUE(write("/state/b").ok());
}

TEST_F(FaultyFileSystemTest, EachUseHasItsOwnSwitches) {
  for (const char* directory : {"/state/modules", "/out"})
    ASSERT_TRUE(files_->create_directories(directory).ok());
  disk(DiskFiles::kModules).full = 1;
  EXPECT_TRUE(write("/state/a").ok());
  EXPECT_TRUE(write("/out/a").ok());
  EXPECT_FALSE(write("/state/modules/a").ok());
  disk(DiskFiles::kOutput).full = 1;
  EXPECT_TRUE(write("/state/a").ok());
  EXPECT_FALSE(write("/out/a").ok());
  EXPECT_FALSE(write("/stated").ok());  // It is not below.
}

TEST_F(FaultyFileSystemTest, BrokenFailsEveryOperationButTheReadingOfInputs) {
  ASSERT_TRUE(files_->create_directories("/state").ok());
  ASSERT_TRUE(files_->create_directories("/in").ok());
  ASSERT_TRUE(write("/state/a").ok());
  ASSERT_TRUE(write("/in/a").ok());
  const auto open = *files_->open("/state/a");
  disk(DiskFiles::kTemporary).fails = 1;
  disk(DiskFiles::kOutput).fails = 1;
  char byte = 0;
  EXPECT_EQ(open->read(0, &byte, 1).status().message(), "/state/a: Input/output error");
  EXPECT_EQ(files_->open("/state/a").status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(files_->remove("/state/a").ok());
  EXPECT_EQ(*files_->read_all("/in/a"), "0123456789");
  EXPECT_FALSE(write("/in/b").ok());
}

TEST_F(FaultyFileSystemTest, SlowWaitsUntilItIsMended) {
  ASSERT_TRUE(files_->create_directories("/state").ok());
  disk(DiskFiles::kTemporary).delay_ms = 1;
  EXPECT_TRUE(write("/state/a").ok());
  const uint64_t met = disk(DiskFiles::kTemporary).met;
  EXPECT_GE(met, 4u);  // Made, written, synced, renamed.
  disk(DiskFiles::kTemporary).delay_ms = 3'600'000;
  std::atomic<bool> done = false;
  std::thread writer([&] {
    EXPECT_TRUE(write("/state/b").ok());
    done = true;
  });
  EXPECT_FALSE(done);
  disk(DiskFiles::kTemporary).delay_ms = 0;
  writer.join();
  EXPECT_TRUE(done);
}

TEST_F(FaultyFileSystemTest, SwitchesAreSharedThroughTheirFile) {
  const auto other = *map_disk_switches(path_of_switches());
  other->of(DiskFiles::kOutput).full = 1;
  EXPECT_EQ(disk(DiskFiles::kOutput).full, 1u);
}

TEST_F(FaultyFileSystemTest, SwitchesAreMadeOnce) {
  EXPECT_EQ(create_disk_switches(path_of_switches()).code(), StatusCode::kAlreadyExists);
}

TEST_F(FaultyFileSystemTest, RefusesWhatAreNoSwitches) {
  const std::string missing = directory_ + "/missing";
  EXPECT_THAT(map_disk_switches(missing).status().message(), HasSubstr(missing + ": No such file"));
  const std::string other = directory_ + "/other";
  ASSERT_TRUE(make_local_file_system()->write_atomically(other, "other").ok());
  EXPECT_EQ(map_disk_switches(other).status().code(), StatusCode::kDataLoss);
  const std::string wrong(sizeof(DiskSwitches), 'x');
  ASSERT_TRUE(make_local_file_system()->write_atomically(other, wrong).ok());
  EXPECT_EQ(map_disk_switches(other).status().code(), StatusCode::kDataLoss);
}

class FileDamageTest : public FaultyFileSystemTest {
 protected:
  FileDamageTest() { EXPECT_TRUE(local_->write_atomically(path_, "abcd").ok()); }

  const std::string path_ = directory_ + "/file";
  const std::unique_ptr<FileSystem> local_ = make_local_file_system();
};

TEST_F(FileDamageTest, IsSeenByWhoHasTheFileOpen) {
  const auto open = *local_->open(path_);
  ASSERT_TRUE(flip_bit(path_, 1, 0).ok());
  char bytes[4];
  ASSERT_EQ(*open->read(0, bytes, 4), 4u);
  EXPECT_EQ(std::string(bytes, 4), "accd");
  ASSERT_TRUE(cut_file(path_, 2).ok());
  EXPECT_EQ(*open->read(0, bytes, 4), 2u);
}

TEST_F(FileDamageTest, NamesWhatIsNotThere) {
  EXPECT_EQ(flip_bit(directory_ + "/none", 0, 0).code(), StatusCode::kNotFound);
  EXPECT_EQ(cut_file(directory_ + "/none", 0).code(), StatusCode::kNotFound);
  EXPECT_THAT(flip_bit(path_, 4, 0).message(), HasSubstr("has no byte 4"));
}

}  // namespace
}  // namespace freshet
