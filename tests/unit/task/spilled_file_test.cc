#include "runtime/task/spilled_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"

namespace freshet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string read_all(SpilledFile& file) {
  std::string all;
  while (true) {
    const Result<std::string> next = file.pop();
    EXPECT_TRUE(next.ok()) << next.status().message();
    if (!next.ok() || next->empty()) return all;
    all += *next;
  }
}

std::string random_bytes(Random& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

class SpilledFileTest : public ::testing::Test {
 protected:
  std::shared_ptr<SpilledFile> make(const std::string& name) {
    const auto block = [this](const std::function<void()>& function) {
      if (when_it_waits_) when_it_waits_();
      function();
    };
    return std::make_shared<SpilledFile>(SpillPlace{&files_, "/spill", &disk_, block}, name,
                                         cancelled_);
  }

  void TearDown() override {
    disk_.stop();
    EXPECT_THAT(files_.files(), IsEmpty());
  }

  MemoryFileSystem files_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  ThreadExecutor disk_{"disk", *clock_};
  std::function<void()> when_it_waits_;
  std::atomic<bool> cancelled_{false};
};

TEST_F(SpilledFileTest, GivesWhatWasPushed) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const auto random = make_seeded_random(seed);
    const auto file = make(std::to_string(seed));
    std::string all;
    for (uint64_t pieces = random->below(40); pieces > 0; pieces--) {
      const std::string piece = random_bytes(*random, 1 + random->below(100'000));
      all += piece;
      ASSERT_TRUE(file->push(piece).ok());
    }
    file->end();
    EXPECT_TRUE(read_all(*file) == all);
    SpilledFile::close(file);
  }
}

TEST_F(SpilledFileTest, IsRemovedWhenItIsClosedHalfWritten) {
  const auto file = make("a");
  for (int i = 0; i < 10; i++) ASSERT_TRUE(file->push(std::string(50'000, 'x')).ok());
  SpilledFile::close(file);
}

TEST_F(SpilledFileTest, OneWhoWaitsForADiskThatStandsStillIsCancelled) {
  std::atomic<bool> stands{true};
  disk_.post("stand", [&] { stands.wait(true); });
  when_it_waits_ = [this] { cancelled_ = true; };
  const auto file = make("a");
  Status status;
  while (status.ok()) status = file->push(std::string(50'000, 'x'));
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  file->end();
  EXPECT_EQ(file->pop().status().code(), StatusCode::kAborted);
  SpilledFile::close(file);
  stands = false;
  stands.notify_all();
}

TEST_F(SpilledFileTest, WaitsUntilTheDiskGoesOn) {
  std::atomic<bool> stands{true};
  disk_.post("stand", [&] { stands.wait(true); });
  when_it_waits_ = [&] {
    stands = false;
    stands.notify_all();
  };
  const auto file = make("a");
  for (int i = 0; i < 20; i++) ASSERT_TRUE(file->push(std::string(50'000, 'x')).ok());
  file->end();
  EXPECT_EQ(read_all(*file).size(), 1'000'000u);
  SpilledFile::close(file);
}

/// Where no thread can wait, as in a simulation, whoever wants something does it himself.
TEST(SpilledFileAloneTest, NeedsNobodyElse) {
  ManualClock clock;
  ManualExecutor disk(clock);
  MemoryFileSystem files;
  std::atomic<bool> cancelled{false};
  {
    const auto file =
        std::make_shared<SpilledFile>(SpillPlace{&files, "/spill", &disk, {}}, "a", cancelled);
    for (int i = 0; i < 20; i++) ASSERT_TRUE(file->push(std::string(50'000, 'x')).ok());
    file->end();
    EXPECT_EQ(read_all(*file).size(), 1'000'000u);
    SpilledFile::close(file);
  }
  disk.run_ready();
  EXPECT_THAT(files.files(), IsEmpty());
}

TEST(SpilledFileAloneTest, SaysWhatIsMissing) {
  ManualClock clock;
  ManualExecutor disk(clock);
  MemoryFileSystem files;
  std::atomic<bool> cancelled{false};
  const auto file =
      std::make_shared<SpilledFile>(SpillPlace{&files, "/spill", &disk, {}}, "a", cancelled);
  ASSERT_TRUE(file->push(std::string(50'000, 'x')).ok());
  file->end();
  disk.run_ready();
  ASSERT_TRUE(files.create("/spill/a").ok());  // Empty now.
  const Status status = file->pop().status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("/spill/a: 50000 of 50000 bytes are missing"));
  SpilledFile::close(file);
  disk.run_ready();
}

/// A disk on which there is room for so much.
class FullDisk final : public FileSystem {
 public:
  class File final : public WritableFile {
   public:
    explicit File(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
    Status append(std::string_view bytes) override {
      if (bytes.size() > room_) return resource_exhausted("/spill/a: no space left on device");
      room_ -= bytes.size();
      return file_->append(bytes);
    }
    Status sync() override { return file_->sync(); }
    Status close() override { return file_->close(); }

   private:
    std::unique_ptr<WritableFile> file_;
    uint64_t room_ = 100'000;
  };

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return files_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    ASSIGN_OR_RETURN(auto file, files_.create(path));
    return std::unique_ptr<WritableFile>(std::make_unique<File>(std::move(file)));
  }
  Result<FileInfo> info(const std::string& path) override { return files_.info(path); }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return files_.list(path); }
  Status create_directories(const std::string& path) override {
    return files_.create_directories(path);
  }
  Status create_new_directory(const std::string& path) override {
    return files_.create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return files_.rename(from, to);
  }
  Status remove(const std::string& path) override { return files_.remove(path); }
  Status remove_all(const std::string& path) override { return files_.remove_all(path); }
  Status remove_empty_directory(const std::string& path) override {
    return files_.remove_empty_directory(path);
  }
  Result<uint64_t> free_bytes(const std::string& /*path*/) override { return 4711; }

  MemoryFileSystem& memory() { return files_; }

 private:
  MemoryFileSystem files_;
};

TEST(SpilledFileAloneTest, SaysHowMuchIsFreeWhenTheDiskIsFull) {
  ManualClock clock;
  ManualExecutor disk(clock);
  FullDisk files;
  std::atomic<bool> cancelled{false};
  const auto file =
      std::make_shared<SpilledFile>(SpillPlace{&files, "/spill", &disk, {}}, "a", cancelled);
  Status status;
  while (status.ok()) status = file->push(std::string(50'000, 'x'));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("/spill/a"), HasSubstr("4711 bytes are free")));
  EXPECT_EQ(file->push("more").message(), status.message());
  SpilledFile::close(file);
  disk.run_ready();
}

}  // namespace
}  // namespace freshet
