#include "runtime/connectors/output_directory.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

constexpr JobId kJob{7, 1};
constexpr JobId kNext{7, 2};
constexpr int kOperationsMax = 500;

using Names = std::set<std::string>;
const Names kResult = {"part-0", "part-1", "part-2"};

/// The files as one process sees them: at its operation number `at`, which may be one that only
/// looks, something else happens first. A process that has died does nothing any more.
class ProcessFiles final : public FileSystem {
 public:
  ProcessFiles(FileSystem& files, int at, std::function<void()> happens)
      : files_(files), at_(at), happens_(std::move(happens)) {}
  /// Dies there.
  ProcessFiles(FileSystem& files, int at) : ProcessFiles(files, at, [this] { dead_ = true; }) {}

  bool reached() const { return operations_ >= at_; }
  void fail_once() { fails_once_ = true; }
  void let_renames_fail() { renames_fail_ = true; }

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.open(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.create(path);
  }
  Result<FileInfo> info(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.info(path);
  }
  Result<std::vector<FileInfo>> list(const std::string& directory) override {
    RETURN_IF_ERROR(next());
    return files_.list(directory);
  }
  /// One after the other, as on disk: what is above may go meanwhile.
  Status create_directories(const std::string& path) override {
    for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string one = path.substr(0, end);
      RETURN_IF_ERROR(next());
      const size_t above = one.rfind('/');
      if (above > 0 && !files_.info(one.substr(0, above)).ok())
        return not_found(one + ": No such file or directory");
      RETURN_IF_ERROR(files_.create_directories(one));
      if (end == std::string::npos) return Status();
    }
  }
  Status create_new_directory(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.create_new_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(next());
    return renames_fail_ ? unavailable(from + ": I/O error") : files_.rename(from, to);
  }
  Status remove(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.remove(path);
  }
  Status remove_all(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.remove_all(path);
  }
  Status remove_empty_directory(const std::string& path) override {
    RETURN_IF_ERROR(next());
    return files_.remove_empty_directory(path);
  }

 private:
  Status next() {
    if (++operations_ == at_ && fails_once_) return resource_exhausted("the disk is full");
    if (operations_ == at_) happens_();
    return dead_ ? aborted("the process is dead") : Status();
  }

  FileSystem& files_;
  const int at_;
  const std::function<void()> happens_;
  int operations_ = 0;
  bool dead_ = false;
  bool renames_fail_ = false;
  bool fails_once_ = false;
};

/// A job whose attempt 1 is to be published, and whose attempt 0 left something.
class OutputDirectoryTest : public testing::Test {
 protected:
  void write(AttemptNumber attempt, const JobId& job, const Names& names) {
    uint32_t subtask = 0;
    for (const std::string& name : names) {
      OutputDirectory output(kPath, job, files());
      ASSERT_TRUE(output.claim(attempt, subtask++).ok());
      ASSERT_TRUE(files().create(output.attempt_directory(attempt) + "/" + name).ok());
    }
  }

  /// Calls `test` with number 1, 2, ... of an operation, on new files each time, until the process
  /// that it gives back has ended before.
  void at_each_operation(const std::function<bool(int)>& test) {
    int at = 1;
    for (bool reached = true; reached; at++) {
      ASSERT_LT(at, kOperationsMax);
      SCOPED_TRACE("at operation " + std::to_string(at));
      files_ = std::make_unique<MemoryFileSystem>();
      ASSERT_TRUE(files().create_directories("/data").ok());
      write(0, kJob, {"part-0"});
      write(1, kJob, kResult);
      reached = test(at);
      if (HasFailure()) return;
    }
    EXPECT_GT(at, 5);
  }

  void commit(FileSystem& files, const JobId& job = kJob, uint32_t parts = 3) {
    for (uint32_t part = 0; part < parts; part++)
      (void)OutputDirectory(kPath, job, files).publish(1, part, parts);
  }
  void clean_up(FileSystem& files, const JobId& job = kJob) {
    OutputDirectory(kPath, job, files).remove_leftovers();
  }
  Status check(FileSystem& files, const JobId& job = kNext) {
    return OutputDirectory(kPath, job, files).check();
  }

  MemoryFileSystem& files() { return *files_; }

  Names visible() {
    Names names;
    for (const auto& [path, content] : files().files()) {
      const std::string name = path.substr(path.rfind('/') + 1);
      if (path == kPath + "/" + name) names.insert(name);
    }
    return names;
  }
  void expect_whole_or_nothing() {
    const Names names = visible();
    EXPECT_TRUE(names.empty() || names == kResult) << names.size() << " files are visible";
  }
  void expect_nothing_hidden() {
    for (const auto& [path, content] : files().files()) {
      EXPECT_EQ(path.find("/."), std::string::npos) << path;
    }
    const auto entries = files().list("/data");
    ASSERT_TRUE(entries.ok());
    for (const FileInfo& entry : *entries) EXPECT_EQ(entry.path, kPath);
  }
  void expect_next_job_starts() {
    EXPECT_TRUE(check(files()).ok()) << check(files()).message();
    write(1, kNext, kResult);
    commit(files(), kNext);
    EXPECT_EQ(visible(), kResult);
    expect_nothing_hidden();
  }

  const std::string kPath = "/data/out";

 private:
  std::unique_ptr<MemoryFileSystem> files_ = std::make_unique<MemoryFileSystem>();
};

TEST_F(OutputDirectoryTest, IsPublishedByAnotherWhenTheFirstDies) {
  at_each_operation([this](int at) {
    ProcessFiles first(files(), at);
    commit(first);
    expect_whole_or_nothing();
    commit(files());
    EXPECT_EQ(visible(), kResult);
    expect_nothing_hidden();
    return first.reached();
  });
}

/// Nobody dies, so nobody cleans up; it is tried again.
TEST_F(OutputDirectoryTest, LeavesNothingOfAnOperationThatFailed) {
  at_each_operation([this](int at) {
    ProcessFiles first(files(), at);
    first.fail_once();
    commit(first);
    expect_whole_or_nothing();
    commit(files());
    EXPECT_EQ(visible(), kResult);
    expect_nothing_hidden();
    return first.reached();
  });
}

TEST_F(OutputDirectoryTest, IsCleanedUpWhenWhoPublishesDies) {
  at_each_operation([this](int at) {
    ProcessFiles first(files(), at);
    commit(first);
    clean_up(files());
    expect_whole_or_nothing();
    expect_nothing_hidden();
    if (visible().empty()) expect_next_job_starts();
    return first.reached();
  });
}

TEST_F(OutputDirectoryTest, NextJobIsToldTheTruthWhenEverybodyDies) {
  at_each_operation([this](int at) {
    ProcessFiles first(files(), at);
    commit(first);
    const Status status = check(files());
    EXPECT_FALSE(status.ok());
    const bool whole = status.message().find("exists already") != std::string::npos;
    const bool left = status.message().find("unfinished files of job") != std::string::npos;
    EXPECT_NE(whole, left) << status.message();
    EXPECT_EQ(visible(), whole ? kResult : Names()) << status.message();
    if (whole) expect_nothing_hidden();
    return first.reached();
  });
}

TEST_F(OutputDirectoryTest, IsNeverPublishedInPartWhileItIsCleanedUp) {
  at_each_operation([this](int at) {
    ProcessFiles publisher(files(), at, [this] { clean_up(files()); });
    commit(publisher);
    expect_whole_or_nothing();
    return publisher.reached();
  });
  at_each_operation([this](int at) {
    ProcessFiles cleaner(files(), at, [this] { commit(files()); });
    clean_up(cleaner);
    expect_whole_or_nothing();
    return cleaner.reached();
  });
}

TEST_F(OutputDirectoryTest, IsNeverPublishedInPartWhileItIsCleanedUpWhereNothingCanBeRenamed) {
  at_each_operation([this](int at) {
    ProcessFiles cleaner(files(), at, [this] { commit(files()); });
    cleaner.let_renames_fail();
    clean_up(cleaner);
    expect_whole_or_nothing();
    if (visible().empty()) {
      clean_up(files());
      expect_next_job_starts();
    }
    return cleaner.reached();
  });
  at_each_operation([this](int at) {
    ProcessFiles publisher(files(), at, [this] {
      ProcessFiles cleaner(files(), 0);
      cleaner.let_renames_fail();
      clean_up(cleaner);
    });
    commit(publisher);
    expect_whole_or_nothing();
    return publisher.reached();
  });
}

TEST_F(OutputDirectoryTest, IsNeverPublishedInPartWhenACleanUpDies) {
  at_each_operation([this](int at) {
    ProcessFiles cleaner(files(), at);
    clean_up(cleaner);
    commit(files());
    expect_whole_or_nothing();
    if (visible().empty()) {
      clean_up(files());
      expect_next_job_starts();
    }
    return cleaner.reached();
  });
}

TEST_F(OutputDirectoryTest, IsNotInTheWayWhenAJobDiesWhoseTasksRemoveTheirFiles) {
  at_each_operation([this](int at) {
    ProcessFiles process(files(), at);
    for (const AttemptNumber attempt : {0u, 1u}) {
      OutputDirectory output(kPath, kJob, process);
      for (const std::string& name : kResult) {
        (void)process.remove(output.attempt_directory(attempt) + "/" + name);
        output.remove_if_empty(attempt);
      }
    }
    if (!process.reached()) expect_nothing_hidden();
    const Status status = check(files());
    if (status.ok()) {
      expect_next_job_starts();
    } else {
      EXPECT_NE(status.message().find("unfinished files"), std::string::npos) << status.message();
    }
    return process.reached();
  });
}

TEST_F(OutputDirectoryTest, IsPublishedByTwoAtTheSameTime) {
  at_each_operation([this](int at) {
    ProcessFiles one(files(), at, [this] { commit(files()); });
    commit(one);
    EXPECT_EQ(visible(), kResult);
    expect_nothing_hidden();
    return one.reached();
  });
}

/// Its TaskManager stood still, and woke when the next job ran already.
TEST_F(OutputDirectoryTest, LatePublicationTouchesNothingOfTheNextJob) {
  at_each_operation([this](int at) {
    ProcessFiles late(files(), at, [this] {
      clean_up(files());
      if (!check(files()).ok()) return;
      write(1, kNext, {"part-0", "part-1"});
    });
    commit(late);
    if (visible().empty()) commit(files(), kNext, 2);
    const Names names = visible();
    EXPECT_TRUE(names == kResult || names == Names({"part-0", "part-1"})) << names.size();
    return late.reached();
  });
}

TEST_F(OutputDirectoryTest, IsClaimedWhileAnotherSubtaskGivesUp) {
  for (int at = 1; at < kOperationsMax; at++) {
    SCOPED_TRACE("at operation " + std::to_string(at));
    MemoryFileSystem files;
    ASSERT_TRUE(files.create_directories("/data").ok());
    ASSERT_TRUE(OutputDirectory(kPath, kJob, files).claim(0, 0).ok());
    Status claimed = internal_error("did not run");
    ProcessFiles process(files, at,
                         [&] { claimed = OutputDirectory(kPath, kJob, files).claim(0, 1); });
    OutputDirectory(kPath, kJob, process).remove_if_empty(0);
    if (!process.reached()) {
      EXPECT_GT(at, 5);
      return;
    }
    EXPECT_TRUE(claimed.ok()) << claimed.to_string();
  }
}

TEST_F(OutputDirectoryTest, IsClaimedWhenAnotherSubtaskGivesUpInTheMiddleOfIt) {
  for (int at = 1; at < kOperationsMax; at++) {
    SCOPED_TRACE("at operation " + std::to_string(at));
    MemoryFileSystem files;
    ASSERT_TRUE(files.create_directories("/data").ok());
    ASSERT_TRUE(OutputDirectory(kPath, kJob, files).claim(0, 0).ok());
    ProcessFiles process(files, at,
                         [&] { OutputDirectory(kPath, kJob, files).remove_if_empty(0); });
    const Status claimed = OutputDirectory(kPath, kJob, process).claim(0, 1);
    EXPECT_TRUE(claimed.ok()) << claimed.to_string();
    if (!process.reached()) {
      EXPECT_GT(at, 5);
      return;
    }
  }
}

TEST_F(OutputDirectoryTest, IsCheckedAndClaimedWhileAnotherSubtaskClaims) {
  for (const bool check : {true, false}) {
    for (int at = 1; at < kOperationsMax; at++) {
      SCOPED_TRACE((check ? "check at operation " : "claim at operation ") + std::to_string(at));
      MemoryFileSystem files;
      ASSERT_TRUE(files.create_directories("/data").ok());
      Status other = internal_error("did not run");
      ProcessFiles process(files, at,
                           [&] { other = OutputDirectory(kPath, kJob, files).claim(0, 1); });
      OutputDirectory output(kPath, kJob, process);
      const Status one = check ? output.check() : output.claim(0, 0);
      EXPECT_TRUE(one.ok()) << one.to_string();
      if (!process.reached()) {
        EXPECT_GT(at, 5);
        break;
      }
      EXPECT_TRUE(other.ok()) << other.to_string();
    }
  }
}

TEST_F(OutputDirectoryTest, IsClaimedByOneOfTwoJobs) {
  for (int at = 1; at < kOperationsMax; at++) {
    SCOPED_TRACE("at operation " + std::to_string(at));
    MemoryFileSystem files;
    ASSERT_TRUE(files.create_directories("/data").ok());
    Status other = internal_error("did not run");
    ProcessFiles process(files, at,
                         [&] { other = OutputDirectory(kPath, kNext, files).claim(0, 0); });
    const Status one = OutputDirectory(kPath, kJob, process).claim(0, 0);
    if (!process.reached()) {
      EXPECT_GT(at, 5);
      return;
    }
    EXPECT_NE(one.ok(), other.ok()) << one.to_string() << ", " << other.to_string();
    const Status& refused = one.ok() ? other : one;
    EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists);
    EXPECT_EQ(files.list("/data")->size(), 1u);
  }
}

}  // namespace
}  // namespace freshet
