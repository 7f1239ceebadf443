#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "runtime/base/memory_file_system.h"
#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/discard_sink.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/print_sink.h"
#include "runtime/operators/permanent_failure.h"
#include "tests/unit/connectors/connector_harness.h"

namespace freshet {
namespace {

using Files = std::map<std::string, std::string>;

constexpr JobId kJob{0, 1};
constexpr JobId kOtherJob{0, 2};

/// One subtask of a sink of strings, up to wherever the test takes it.
class Writer {
 public:
  Writer(const OperatorFactory& factory, FileSystem& files, uint32_t subtask, AttemptNumber attempt,
         JobId job = kJob, uint32_t subtasks = 1)
      : context(files, subtask, attempt, job), writer_(factory.make()) {
    context.subtasks = std::max(subtasks, subtask + 1);
    writer_->open(context, {});
  }
  ~Writer() { writer_->close(); }

  void write(const std::string& line) { writer_->process(0, &line, kNoTimestamp); }
  void idle() { writer_->on_idle(); }
  std::vector<std::string> end() {
    while (!writer_->finish()) {
    }
    return writer_->prepare_commit();
  }

  FakeContext context;

 private:
  std::unique_ptr<Operator> writer_;
};

class FileSinkTest : public testing::Test {
 protected:
  std::string write(uint32_t subtask, AttemptNumber attempt, const std::string& line,
                    JobId job = kJob) {
    Writer writer(*factory_, files_, subtask, attempt, job, subtasks_);
    writer.write(line);
    const auto payloads = writer.end();
    EXPECT_EQ(payloads.size(), 1u);
    return payloads.at(0);
  }
  static std::string hidden(const JobId& job, AttemptNumber attempt) {
    return "/out/.attempt-" + std::to_string(attempt) + "/" + job.to_string();
  }
  Status check(const JobId& job = kJob) { return factory_->check(job, files_); }
  Status commit(const std::string& payload) {
    return factory_->make_committer()->commit(payload, files_);
  }

  uint32_t subtasks_ = 1;
  MemoryFileSystem files_;
  std::shared_ptr<const OperatorFactory> factory_ = file_sink<std::string>("/out/").writer;
};

TEST_F(FileSinkTest, PublishesNothingBeforeTheLastCommit) {
  subtasks_ = 2;
  const std::string first = write(0, 0, "a");
  const std::string second = write(1, 0, "b");
  EXPECT_EQ(files_.files(),
            (Files{{hidden(kJob, 0) + "/part-0", "a\n"}, {hidden(kJob, 0) + "/part-1", "b\n"}}));
  EXPECT_TRUE(commit(first).ok());
  EXPECT_FALSE(files_.info("/out/part-0").ok());
  EXPECT_TRUE(commit(second).ok());
  EXPECT_EQ(files_.files(), (Files{{"/out/part-0", "a\n"}, {"/out/part-1", "b\n"}}));
  EXPECT_FALSE(files_.info("/out/.attempt-0").ok());
}

TEST_F(FileSinkTest, PublishesTheLastAttemptOfEachSubtask) {
  subtasks_ = 3;
  (void)write(1, 0, "old");
  (void)write(2, 1, "older");
  const std::vector<std::string> payloads = {write(0, 0, "a"), write(1, 1, "b"), write(2, 2, "c")};
  for (const std::string& payload : payloads) EXPECT_TRUE(commit(payload).ok());
  EXPECT_EQ(files_.files(),
            (Files{{"/out/part-0", "a\n"}, {"/out/part-1", "b\n"}, {"/out/part-2", "c\n"}}));
}

TEST_F(FileSinkTest, CommitsTheSameFileAgainAfterACrashBeforeTheAnswer) {
  subtasks_ = 2;
  const std::string first = write(0, 0, "a");
  const std::string second = write(1, 0, "b");
  EXPECT_TRUE(commit(first).ok());
  EXPECT_TRUE(commit(first).ok());
  EXPECT_TRUE(commit(second).ok());
  EXPECT_TRUE(commit(first).ok());
  EXPECT_TRUE(commit(second).ok());
  EXPECT_EQ(files_.files(), (Files{{"/out/part-0", "a\n"}, {"/out/part-1", "b\n"}}));
}

TEST_F(FileSinkTest, OwnsItsDirectoryHoweverThatIsWritten) {
  EXPECT_EQ(factory_->owned(), "output '/out'");
  EXPECT_EQ(file_sink<std::string>("/a/.././out//").writer->owned(), "output '/out'");
  EXPECT_EQ(file_sink<std::string>("/").writer->owned(), "output '/'");
}

TEST_F(FileSinkTest, FailsForGoodInADirectoryThatIsNotItsOwn) {
  (void)write(0, 0, "of the other job", kOtherJob);
  EXPECT_THROW((void)write(0, 0, "a"), PermanentFailure);
  const auto visible = file_sink<std::string>("/visible").writer;
  files_.put("/visible/mine", "x");
  EXPECT_THROW(Writer(*visible, files_, 0, 0), PermanentFailure);
}

TEST_F(FileSinkTest, FailsInTheSameWayWhenItIsExecutedAgain) {
  const auto files = make_local_file_system();
  const auto impossible = file_sink<std::string>("/proc/none/out").writer;
  FakeContext first(*files);
  const auto failure_of = [&](FakeContext& context) -> std::string {
    const auto writer = impossible->make();
    try {
      writer->open(context, {});
    } catch (const PermanentFailure& failure) {
      return std::string("for good: ") + failure.what();
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
    return "";
  };
  const std::string failure = failure_of(first);
  EXPECT_EQ(failure.find("output '/proc/none/out' cannot be made"), 0u) << failure;
  FakeContext again(files_);
  again.recorded = first.recorded;
  EXPECT_EQ(failure_of(again), failure);
}

TEST_F(FileSinkTest, RemovesWhatOlderAttemptsLeft) {
  (void)write(0, 0, "old");
  (void)write(0, 3, "older than ten");
  const std::string payload = write(0, 10, "new");
  EXPECT_TRUE(commit(payload).ok());
  EXPECT_EQ(files_.files(), (Files{{"/out/part-0", "new\n"}}));
}

TEST_F(FileSinkTest, SaysWhichFileIsLost) {
  const std::string payload = write(0, 0, "a");
  ASSERT_TRUE(files_.remove(hidden(kJob, 0) + "/part-0").ok());
  const Status status = commit(payload);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/out/part-0"), std::string::npos) << status.message();
}

TEST_F(FileSinkTest, PublishesNothingOverFilesThatSomebodyPutThere) {
  const std::string payload = write(0, 0, "a");
  files_.put("/out/notes", "mine");
  for (int i = 0; i < 2; i++) {
    const Status status = commit(payload);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("cannot publish to '/out'"), std::string::npos)
        << status.message();
  }
  factory_->clean_up(kJob, files_);
  EXPECT_EQ(files_.files(), (Files{{"/out/notes", "mine"}}));
}

TEST_F(FileSinkTest, RefusesADamagedCommittable) {
  const std::string payload = write(0, 0, "a");
  EXPECT_EQ(commit("").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(commit(payload.substr(1)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(commit(payload + "x").code(), StatusCode::kInvalidArgument);
}

TEST_F(FileSinkTest, LeavesNothingWhenAnAttemptIsCancelled) {
  {
    Writer writer(*factory_, files_, 0, 0);
    writer.write(std::string(100'000, 'x'));
    EXPECT_EQ(files_.files().size(), 1u);
  }
  EXPECT_TRUE(files_.files().empty());
  EXPECT_FALSE(files_.info("/out").ok());
}

TEST_F(FileSinkTest, LeavesTheDirectoryOfANewerAttemptAlone) {
  auto old = std::make_unique<Writer>(*factory_, files_, 0, 0);
  Writer next(*factory_, files_, 0, 1);
  next.write("new");
  old.reset();
  const auto payloads = next.end();
  EXPECT_TRUE(commit(payloads.at(0)).ok());
  EXPECT_EQ(files_.files(), (Files{{"/out/part-0", "new\n"}}));
}

TEST_F(FileSinkTest, CleansUpAfterAJobWithoutResult) {
  (void)write(0, 0, "a");
  (void)write(0, 1, "b");
  factory_->clean_up(kJob, files_);
  EXPECT_TRUE(files_.files().empty());
  EXPECT_TRUE(check().ok());
}

TEST_F(FileSinkTest, RefusesTheDirectoryOfAnotherJobUntilThatIsCleanedUp) {
  (void)write(0, 0, "left behind");
  (void)write(0, 1, "left behind");
  const Files before = files_.files();
  EXPECT_THROW(Writer(*factory_, files_, 0, 0, kOtherJob), std::runtime_error);
  const Status status = check(kOtherJob);
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_NE(status.message().find("unfinished files of job " + kJob.to_string()), std::string::npos)
      << status.message();
  factory_->clean_up(kOtherJob, files_);
  EXPECT_EQ(files_.files(), before);
  factory_->clean_up(kJob, files_);
  EXPECT_TRUE(files_.files().empty());
  EXPECT_TRUE(check(kOtherJob).ok());
  EXPECT_TRUE(commit(write(0, 0, "other", kOtherJob)).ok());
  EXPECT_EQ(files_.files(), (Files{{"/out/part-0", "other\n"}}));
}

TEST_F(FileSinkTest, WhatTheJobItselfLeftIsNoReasonToRefuse) {
  (void)write(1, 0, "by a subtask that was faster than the check");
  EXPECT_TRUE(check().ok());
  (void)write(0, 3, "by a later attempt");
  EXPECT_TRUE(check().ok());
}

TEST_F(FileSinkTest, CleansUpNothingOfAResult) {
  EXPECT_TRUE(commit(write(0, 0, "a")).ok());
  factory_->clean_up(kJob, files_);
  EXPECT_EQ(files_.files(), (Files{{"/out/part-0", "a\n"}}));
}

TEST_F(FileSinkTest, RefusesADirectoryThatExists) {
  EXPECT_TRUE(check().ok());
  ASSERT_TRUE(files_.create_directories("/out").ok());
  const auto expect_refused = [&] {
    const Status status = check();
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_EQ(status.message(),
              "output '/out' exists already; remove it or name another directory");
  };
  expect_refused();
  factory_->clean_up(kJob, files_);
  expect_refused();
  files_.put("/out/part-0", "a");
  expect_refused();
  ASSERT_TRUE(files_.remove_all("/out").ok());
  files_.put("/out", "a file");
  expect_refused();
}

TEST_F(FileSinkTest, RefusesADirectoryThatCannotBeMadeBeforeTheJobStarts) {
  const auto files = make_local_file_system();
  const std::string base = ::testing::TempDir() + "sinks_" + std::to_string(getpid());
  ASSERT_TRUE(files->create_directories(base).ok());
  ASSERT_TRUE(files->write_atomically(base + "/text", "").ok());
  for (const std::string& path :
       {base + "/text/out", base + "/text/deep/out", std::string("/proc/none/out")}) {
    const Status status = file_sink<std::string>(path).writer->check(kJob, *files);
    EXPECT_NE(status.message().find("output '" + path + "' cannot be made"), std::string::npos)
        << status.message();
    EXPECT_EQ(status.message().find(".probe-"), std::string::npos) << status.message();
  }
  EXPECT_EQ(file_sink<std::string>("/proc/none").writer->check(kJob, *files).message(),
            "output '/proc/none' cannot be made: /proc takes no new directory (No such file or "
            "directory); name another place, or let the TaskManagers write there");
  EXPECT_TRUE(file_sink<std::string>(base + "/a/b/out").writer->check(kJob, *files).ok());
  const auto left = files->list(base);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->size(), 1u);
  EXPECT_TRUE(files->remove_all(base).ok());
}

TEST_F(FileSinkTest, FailsWithThePathWhenTheDiskIsFull) {
  Writer writer(*factory_, files_, 0, 0);
  files_.set_capacity(10);
  try {
    writer.write(std::string(100'000, 'x'));
    FAIL() << "wrote more than there is room";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(hidden(kJob, 0) + "/part-0"), std::string::npos);
  }
}

TEST_F(FileSinkTest, LeavesNothingWhenItsFormatterThrows) {
  factory_ = file_sink<std::string>("/out", [](const std::string& line) -> std::string {
               if (line == "bad") throw std::runtime_error("no such word");
               return line;
             }).writer;
  {
    Writer writer(*factory_, files_, 0, 0);
    writer.write("good");
    EXPECT_THROW(writer.write("bad"), std::runtime_error);
  }
  EXPECT_TRUE(files_.files().empty());
}

TEST(CollectSinkTest, ShowsOnlyWhatWasCommitted) {
  MemoryFileSystem files;
  const auto results = std::make_shared<CollectedResults<std::string>>();
  const auto factory = collect_sink(results).writer;
  std::vector<std::string> payloads;
  for (const AttemptNumber attempt : {0u, 1u}) {
    for (const uint32_t subtask : {1u, 0u}) {
      Writer writer(*factory, files, subtask, attempt);
      writer.write(std::to_string(attempt) + "/" + std::to_string(subtask));
      payloads.push_back(writer.end().at(0));
    }
  }
  EXPECT_TRUE(results->values().empty());
  const auto committer = factory->make_committer();
  EXPECT_TRUE(committer->commit(payloads[2], files).ok());
  EXPECT_TRUE(committer->commit(payloads[3], files).ok());
  EXPECT_TRUE(committer->commit(payloads[2], files).ok());
  EXPECT_EQ(results->values(), (std::vector<std::string>{"1/0", "1/1"}));
  factory->clean_up(kJob, files);
  EXPECT_EQ(results->values().size(), 2u);
}

TEST(CollectSinkTest, RefusesToCommitInAnotherProcess) {
  MemoryFileSystem files;
  std::string payload;
  {
    const auto here = collect_sink(std::make_shared<CollectedResults<std::string>>()).writer;
    Writer writer(*here, files, 0, 0);
    payload = writer.end().at(0);
  }
  const auto there = collect_sink(std::make_shared<CollectedResults<std::string>>()).writer;
  EXPECT_EQ(there->make_committer()->commit(payload, files).code(),
            StatusCode::kFailedPrecondition);
}

TEST(DiscardSinkTest, Counts) {
  MemoryFileSystem files;
  const auto counter = std::make_shared<DiscardedRecords>();
  const auto factory = discard_sink<std::string>(counter).writer;
  {
    Writer writer(*factory, files, 0, 0);
    writer.write("a");
    writer.write("b");
    EXPECT_TRUE(writer.end().empty());
  }
  EXPECT_EQ(counter->count, 2u);
  EXPECT_EQ(factory->make_committer(), nullptr);
}

TEST(PrintSinkTest, PrintsAtTheEndAndWhenLinesGetOld) {
  MemoryFileSystem files;
  const auto factory = print_sink<std::string>([](const std::string& word, std::string& line) {
                         line += "<" + word + ">";
                       }).writer;
  testing::internal::CaptureStdout();
  Writer writer(*factory, files, 0, 0);
  writer.write("a");
  const std::string at_once = testing::internal::GetCapturedStdout();
  testing::internal::CaptureStdout();
  writer.context.now += 100;
  writer.write("b");
  const std::string later = testing::internal::GetCapturedStdout();
  testing::internal::CaptureStdout();
  writer.write("c");
  (void)writer.end();
  const std::string at_the_end = testing::internal::GetCapturedStdout();
  EXPECT_EQ(at_once, "");
  EXPECT_EQ(later, "<a>\n<b>\n");
  EXPECT_EQ(at_the_end, "<c>\n");
}

TEST(PrintSinkTest, PrintsWhatItHasWhenThereIsNothingToDo) {
  MemoryFileSystem files;
  const auto factory = print_sink<std::string>().writer;
  testing::internal::CaptureStdout();
  Writer writer(*factory, files, 0, 0);
  writer.write("a");
  writer.write("b");
  writer.idle();
  writer.idle();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\nb\n");
}

TEST(PrintSinkTest, HoldsNothingBackWhenTheClockWentBack) {
  MemoryFileSystem files;
  const auto factory = print_sink<std::string>().writer;
  testing::internal::CaptureStdout();
  Writer writer(*factory, files, 0, 0);
  writer.context.now = 1'000'000;
  writer.write("a");
  writer.context.now = 500'000;
  writer.write("b");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "a\nb\n");
}

TEST(PrintSinkTest, PrintsTheLinesBeforeTheOneThatItsFormatterRefuses) {
  MemoryFileSystem files;
  const auto factory = print_sink<std::string>([](const std::string& word, std::string& line) {
                         line += "half ";
                         if (word == "bad") throw std::runtime_error("no such word");
                         line += word;
                       }).writer;
  testing::internal::CaptureStdout();
  {
    Writer writer(*factory, files, 0, 0);
    writer.write("good");
    EXPECT_THROW(writer.write("bad"), std::runtime_error);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "half good\n");
}

/// Standard output is `file` while this lives.
class Redirection {
 public:
  explicit Redirection(std::FILE* file) : before_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    EXPECT_EQ(::dup2(::fileno(file), STDOUT_FILENO), STDOUT_FILENO);
    std::fclose(file);
  }
  ~Redirection() {
    std::clearerr(stdout);
    EXPECT_EQ(::dup2(before_, STDOUT_FILENO), STDOUT_FILENO);
    ::close(before_);
  }

 private:
  const int before_;
};

TEST(PrintSinkTest, FailsForGoodWhereNobodyCanEverRead) {
  MemoryFileSystem files;
  const auto factory = print_sink<std::string>().writer;
  const auto pipe_without_reader = [] {
    int ends[2] = {};
    EXPECT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    return ::fdopen(ends[1], "w");
  };
  std::signal(SIGPIPE, SIG_IGN);
  for (std::FILE* file :
       {std::fopen("/dev/full", "w"), pipe_without_reader(), std::fopen("/dev/null", "r")}) {
    Redirection redirection(file);
    Writer writer(*factory, files, 0, 0);
    writer.write("a");
    EXPECT_THROW((void)writer.end(), PermanentFailure);
  }
}

TEST(PrintSinkTest, TriesAgainWhereADiskMayGetRoom) {
  MemoryFileSystem files;
  const auto factory = print_sink<std::string>().writer;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit nothing{0, before.rlim_max};
  std::FILE* const full = std::tmpfile();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &nothing), 0);
  {
    Redirection redirection(full);
    Writer writer(*factory, files, 0, 0);
    writer.write("a");
    try {
      (void)writer.end();
      ADD_FAILURE() << "written to a full disk";
    } catch (const PermanentFailure&) {
      ADD_FAILURE() << "given up";
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

struct Point {
  int x = 0;
};
std::ostream& operator<<(std::ostream& out, const Point& point) { return out << "x=" << point.x; }

TEST(LineFormatTest, PrintsWhatFmtOrAStreamCanPrint) {
  std::string line;
  append_text(std::string("a"), line);
  append_text(-5, line);
  append_text(2.5, line);
  append_text(Point{7}, line);
  EXPECT_EQ(line, "a-52.5x=7");
}

}  // namespace
}  // namespace freshet
