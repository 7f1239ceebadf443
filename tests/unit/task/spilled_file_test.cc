#include "runtime/task/spilled_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "tests/unit/base/hooked_files.h"

namespace freshet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string read_all(SpilledFile& file) {
  std::string all;
  while (true) {
    const Result<std::string> next = file.next();
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
  std::unique_ptr<SpilledFile> make(const std::string& name) {
    const auto block = [this](const std::function<void()>& function) {
      if (when_it_waits_) when_it_waits_();
      function();
    };
    return std::make_unique<SpilledFile>(SpillPlace{&files_, "/spill", &disk_, block}, name,
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
    auto file = make(std::to_string(seed));
    std::string all;
    for (uint64_t pieces = random->below(40); pieces > 0; pieces--) {
      const std::string piece = random_bytes(*random, 1 + random->below(100'000));
      all += piece;
      ASSERT_TRUE(file->append(piece).ok());
    }
    file->end();
    EXPECT_TRUE(read_all(*file) == all);
    file = nullptr;
  }
}

TEST_F(SpilledFileTest, IsRemovedWhenItIsClosedHalfWritten) {
  auto file = make("a");
  for (int i = 0; i < 10; i++) ASSERT_TRUE(file->append(std::string(50'000, 'x')).ok());
  file = nullptr;
}

TEST_F(SpilledFileTest, OneWhoWaitsForADiskThatStandsStillIsCancelled) {
  std::atomic<bool> stands{true};
  disk_.post("stand", [&] { stands.wait(true); });
  when_it_waits_ = [this] { cancelled_ = true; };
  auto file = make("a");
  Status status;
  while (status.ok()) status = file->append(std::string(50'000, 'x'));
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  file->end();
  EXPECT_EQ(file->next().status().code(), StatusCode::kAborted);
  file = nullptr;
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
  auto file = make("a");
  for (int i = 0; i < 20; i++) ASSERT_TRUE(file->append(std::string(50'000, 'x')).ok());
  file->end();
  EXPECT_EQ(read_all(*file).size(), 1'000'000u);
  file = nullptr;
}

/// Where no thread can wait, as in a simulation, whoever wants something does it himself.
TEST(SpilledFileAloneTest, NeedsNobodyElse) {
  ManualClock clock;
  ManualExecutor disk(clock);
  MemoryFileSystem files;
  std::atomic<bool> cancelled{false};
  {
    auto file =
        std::make_unique<SpilledFile>(SpillPlace{&files, "/spill", &disk, {}}, "a", cancelled);
    for (int i = 0; i < 20; i++) ASSERT_TRUE(file->append(std::string(50'000, 'x')).ok());
    file->end();
    EXPECT_EQ(read_all(*file).size(), 1'000'000u);
    file = nullptr;
  }
  disk.run_ready();
  EXPECT_THAT(files.files(), IsEmpty());
}

TEST(SpilledFileAloneTest, SaysWhatIsMissing) {
  ManualClock clock;
  ManualExecutor disk(clock);
  MemoryFileSystem files;
  std::atomic<bool> cancelled{false};
  auto file =
      std::make_unique<SpilledFile>(SpillPlace{&files, "/spill", &disk, {}}, "a", cancelled);
  ASSERT_TRUE(file->append(std::string(50'000, 'x')).ok());
  file->end();
  disk.run_ready();
  ASSERT_TRUE(files.create("/spill/a").ok());  // Empty now.
  const Status status = file->next().status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("/spill/a: 50000 of 50000 bytes are missing"));
  file = nullptr;
  disk.run_ready();
}

TEST(SpilledFileAloneTest, SaysWhereAndHowMuchIsFreeWhenTheDiskIsFull) {
  ManualClock clock;
  ManualExecutor disk(clock);
  MemoryFileSystem files;
  files.set_capacity(120'000);
  std::atomic<bool> cancelled{false};
  auto file =
      std::make_unique<SpilledFile>(SpillPlace{&files, "/spill", &disk, {}}, "a", cancelled);
  Status status;
  while (status.ok()) status = file->append(std::string(50'000, 'x'));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("/spill/a"), HasSubstr("(20000 bytes are free there)"),
                    HasSubstr("what an operator has no memory for")));
  EXPECT_EQ(file->append("more").message(), status.message());
  file = nullptr;
  disk.run_ready();
}

/// Operators of several tasks, and two disks.
class TaskSpillSpaceTest : public ::testing::Test {
 protected:
  ~TaskSpillSpaceTest() override {
    disk_.run_ready();
    EXPECT_THAT(files_.memory.files(), IsEmpty());
  }

  SpillPlace place() {
    SpillPlace place{&files_, "/one/operators", &disk_, {}};
    place.others = {"/two/operators"};
    return place;
  }

  /// An attempt of a task that spills to `files` files; how that went.
  Status run(int files) {
    TaskSpillSpace space({directories_, "task-" + std::to_string(++attempts_)}, cancelled_);
    std::vector<std::unique_ptr<SpilledBytes>> runs;
    for (int i = 0; i < files; ++i) {
      runs.push_back(space.make());
      for (int piece = 0; piece < 10; ++piece)
        RETURN_IF_ERROR(runs.back()->append(std::string(50'000, 'x')));
      runs.back()->end();
    }
    for (const auto& run : runs) {
      uint64_t bytes = 0;
      while (true) {
        ASSIGN_OR_RETURN(const std::string next, run->next());
        if (next.empty()) break;
        bytes += next.size();
      }
      EXPECT_EQ(bytes, 500'000u);
    }
    return Status();
  }

  testing::HookedFiles files_;
  ManualClock clock_;
  ManualExecutor disk_{clock_};
  std::shared_ptr<TempDirectories> directories_ = std::make_shared<TempDirectories>(place());
  std::atomic<bool> cancelled_{false};
  int attempts_ = 0;
};

TEST_F(TaskSpillSpaceTest, FilesGoToTheDirectoriesInTurn) {
  std::map<std::string, int> made;
  files_.on_append = [&](const std::string& path, std::string_view) {
    ++made[path.substr(0, 4)];
    return Status();
  };
  EXPECT_TRUE(run(4).ok());
  EXPECT_EQ(made["/one"], made["/two"]);
  EXPECT_GT(made["/one"], 0);
}

TEST_F(TaskSpillSpaceTest, ADiskThatDiesFailsWhoIsThereAndTheNextAttemptGoesElsewhere) {
  for (const Status& error :
       {unavailable("input/output error"), failed_precondition("read-only file system"),
        not_found("no such file or directory"),
        resource_exhausted("no space left on device (0 bytes are free there)")}) {
    SCOPED_TRACE(error.to_string());
    directories_ = std::make_shared<TempDirectories>(place());
    files_.on_append = [&](const std::string& path, std::string_view) {
      return path.starts_with("/one/") ? Status(error.code(), path + ": " + error.message())
                                       : Status();
    };
    // Somebody whose file is on the other disk.
    TaskSpillSpace other({directories_, "other"}, cancelled_);
    const auto first = other.make();
    auto second = other.make();
    ASSERT_TRUE(second->name().starts_with("/two/")) << second->name();
    ASSERT_TRUE(second->append(std::string(300'000, 'x')).ok());
    const Status failed = run(1);
    EXPECT_EQ(failed.code(), error.code());
    EXPECT_THAT(failed.message(),
                AllOf(HasSubstr("/one/operators/task-"), HasSubstr(error.message())));
    for (int attempt = 0; attempt < 5; ++attempt) EXPECT_TRUE(run(3).ok());
    ASSERT_TRUE(second->append(std::string(300'000, 'x')).ok());
    second->end();
    EXPECT_TRUE(second->next().ok());
    files_.on_append = nullptr;
  }
}

TEST_F(TaskSpillSpaceTest, ADiskThatCannotReadFailsWhoIsThere) {
  TaskSpillSpace space({directories_, "task"}, cancelled_);
  const auto file = space.make();
  ASSERT_TRUE(file->append(std::string(600'000, 'x')).ok());
  file->end();
  disk_.run_ready();
  files_.on_read = [](uint64_t, size_t) { return unavailable("input/output error"); };
  EXPECT_EQ(file->next().status().code(), StatusCode::kUnavailable);
  files_.on_read = nullptr;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(space.make()->name().starts_with("/two/"));
}

TEST_F(TaskSpillSpaceTest, OneThatWasFullIsUsedAgainOnceSomethingWasRemoved) {
  TaskSpillSpace space({directories_, "task"}, cancelled_);
  auto full = space.make();  // In /one.
  auto kept = space.make();
  ASSERT_TRUE(kept->append(std::string(600'000, 'x')).ok());
  files_.on_append = [](const std::string& path, std::string_view) {
    return path.starts_with("/one/") ? resource_exhausted(path + ": full") : Status();
  };
  Status status;
  while (status.ok()) status = full->append(std::string(100'000, 'x'));
  files_.on_append = nullptr;
  full = nullptr;  // That it goes says nothing.
  disk_.run_ready();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(space.make()->name().starts_with("/two/"));
  kept = nullptr;
  disk_.run_ready();
  EXPECT_NE(space.make()->name().substr(0, 4), space.make()->name().substr(0, 4));
}

}  // namespace
}  // namespace freshet
