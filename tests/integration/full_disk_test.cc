#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <optional>

#include "tests/integration/results.h"
#include "tests/integration/small_disk.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A cluster whose files are on a disk that becomes full while it runs.
class FullDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "cannot mount a small disk: " << disk_.why();
    TestCluster::Options options;
    options.state_directory = disk_.path();
    options.arguments = {"-D", "taskmanager.memory.network.size=4mb"};
    cluster_.emplace(options);
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
    write_file(text_, "one two two\n");
  }
  void TearDown() override { cluster_.reset(); }

  Outcome count(const std::string& output, const std::string& mode = "streaming") const {
    return cluster_->run({"-D", "restart-strategy.type=none", "--mode", mode,
                          job_module("wordcount"), "-p", "2", "--", "--input", text_, "--output",
                          output});
  }
  std::string of_cluster(const std::string& name) const { return disk_ / "test/" + name; }

  Outcome add(const std::string& timeout) const {
    return run_freshet({"cluster", "add", "--cluster", cluster_->name(), "--state-dir",
                        disk_.path(), "--timeout", timeout});
  }

  void expect_that_a_job_runs_and_nobody_was_restarted(const std::string& mode) {
    const Outcome outcome = count(directory_ / mode, mode);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(read_word_counts(directory_ / mode), count_words({text_}));
    for (const ClusterProcess& one : cluster_->state().processes) {
      EXPECT_TRUE(one.running) << one.name;
      EXPECT_EQ(one.restarts, 0u) << one.name;
    }
  }
  static void expect_full(const Outcome& outcome, const std::string& path) {
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr(path), HasSubstr(": No space left on device ("),
                                      HasSubstr(" bytes are free there)")));
  }

  const SmallDisk disk_;
  const TemporaryDirectory directory_;
  const std::string text_ = directory_ / "text";
  std::optional<TestCluster> cluster_;
};

TEST_F(FullDiskTest, ModulesAreRefusedWithPathAndFreeSpaceUntilThereIsRoom) {
  const int port = cluster_->rest_port();
  disk_.fill();
  expect_full(count(directory_ / "refused"), of_cluster("jobmanager/blobs/"));
  const auto upload =
      httplib::Client("127.0.0.1", port)
          .Post("/jars/upload",
                httplib::MultipartFormDataItems{{"jarfile", read_file(job_module("wordcount")),
                                                 "wordcount.so", "application/x-java-archive"}});
  ASSERT_TRUE(upload);
  EXPECT_GE(upload->status, 400);
  EXPECT_THAT(upload->body, AllOf(HasSubstr("{\"errors\":[\""), HasSubstr("/jobmanager/uploads/"),
                                  HasSubstr("No space left on device (0 bytes are free there)")));
  disk_.free();
  expect_that_a_job_runs_and_nobody_was_restarted("streaming");
}

TEST_F(FullDiskTest, ResultsAndPartitionsFailTheirJobWithPathAndFreeSpaceUntilThereIsRoom) {
  expect_that_a_job_runs_and_nobody_was_restarted("streaming");  // The module is there now.
  disk_.fill();
  expect_full(count(disk_ / "out"), disk_ / "out");
  expect_full(count(directory_ / "unfinished", "batch"), "/partitions/");
  disk_.free();
  EXPECT_FALSE(exists(disk_ / "out"));
  expect_that_a_job_runs_and_nobody_was_restarted("batch");
}

TEST_F(FullDiskTest, OutputThatIsSpilledFailsItsJobWithPathAndFreeSpace) {
  // One record that becomes more words than there is memory for, and more than there is disk.
  std::string line;
  for (int word = 0; word < 3'000'000; ++word) line += "w" + std::to_string(word) + " ";
  write_file(directory_ / "line", line + "\n");
  const Outcome outcome =
      cluster_->run({"-D", "restart-strategy.type=none", job_module("wordcount"), "-p", "2", "--",
                     "--input", directory_ / "line", "--output", directory_ / "unfinished"});
  expect_full(outcome, "/spill/job-");
  EXPECT_THAT(outcome.errors, HasSubstr("operator 'split', record 1 of its source"));
  expect_that_a_job_runs_and_nobody_was_restarted("streaming");
}

TEST_F(FullDiskTest, NoTaskManagerIsAddedUntilThereIsRoom) {
  disk_.fill();
  const Outcome refused = add("2 s");
  expect_full(refused, disk_.path());
  EXPECT_THAT(refused.errors, HasSubstr("it was given up"));
  disk_.free();
  const Outcome added = add("30 s");
  EXPECT_EQ(added.exit_code, 0) << added.errors;
  EXPECT_EQ(cluster_->state().processes.size(), 4u);
  expect_that_a_job_runs_and_nobody_was_restarted("streaming");
}

TEST_F(FullDiskTest, LogsLoseLinesUntilThereIsRoom) {
  expect_that_a_job_runs_and_nobody_was_restarted("streaming");
  disk_.fill();
  // The last pages of the files have room left.
  EXPECT_TRUE(wait_until(
      [&] {
        count(disk_ / "out");
        return cluster_->output("jobmanager").find("the log cannot be written") !=
               std::string::npos;
      },
      60s));
  disk_.free();
  expect_that_a_job_runs_and_nobody_was_restarted("batch");
  EXPECT_GE(cluster_->count_in_log("jobmanager", cluster_->jobs().back().id), 1u);
}

TEST_F(FullDiskTest, ACommandThatFindsNoRoomLeavesNothing) {
  disk_.fill();
  const Outcome second =
      run_freshet({"cluster", "start", "--name", "second", "--state-dir", disk_.path()});
  expect_full(second, disk_ / ".second.");
  disk_.free();
  const auto left = make_local_file_system()->list(disk_.path());
  ASSERT_TRUE(left.ok());
  for (const FileInfo& entry : *left) EXPECT_EQ(entry.path, disk_ / "test");
  expect_that_a_job_runs_and_nobody_was_restarted("streaming");
}

TEST_F(FullDiskTest, ATaskManagerThatDiesIsStartedAgain) {
  disk_.fill();
  cluster_->kill("taskmanager-1");
  disk_.free();
  EXPECT_TRUE(wait_until(
      [&] {
        return cluster_->process("taskmanager-1").restarts == 1 &&
               cluster_->process("taskmanager-1").address.has_value();
      },
      30s));
  EXPECT_TRUE(wait_until([&] { return count(directory_ / "again").exit_code == 0; }, 30s));
}

}  // namespace
}  // namespace freshet::testing
