#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

constexpr size_t kLines = 20'000;

/// Directories come and go meanwhile.
std::vector<std::string> partition_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code gone;
  auto at = std::filesystem::recursive_directory_iterator(directory, gone);
  for (; !gone && at != std::filesystem::recursive_directory_iterator(); at.increment(gone)) {
    if (at->path().extension() == ".partition") files.push_back(at->path());
  }
  return files;
}

std::vector<std::string> word_count(const std::string& input, const std::string& output,
                                    const std::string& parallelism) {
  return {job_module("wordcount"),
          "-p",
          parallelism,
          "--mode",
          "batch",
          "--",
          "--input",
          input,
          "--output",
          output};
}

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() { use_lines(kLines); }

  void use_lines(size_t lines) {
    write_words(input_, lines, 1);
    counts_ = count_with_coreutils({input_});
  }

  void start(uint32_t task_managers, uint32_t slots, std::vector<std::string> arguments = {}) {
    TestCluster::Options options;
    options.task_managers = task_managers;
    options.slots = slots;
    options.arguments = std::move(arguments);
    cluster_.emplace(options);
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
  }

  /// Every consumer found its files, and nobody has any left.
  void expect_counts(const std::string& output) {
    EXPECT_EQ(read_word_counts(output), counts_);
    EXPECT_TRUE(
        wait_until([&] { return partition_files(cluster_->state_directory()).empty(); }, 10s));
  }

  const TemporaryDirectory directory_;
  const std::string input_ = directory_ / "words.txt";
  WordCounts counts_;
  std::optional<TestCluster> cluster_;
};

TEST_F(BatchTest, ManySubtasksRunOneAfterTheOtherOnOneSlot) {
  start(1, 1);
  const std::string output = directory_ / "out";
  const Outcome outcome = run_freshet(cluster_->command("run", word_count(input_, output, "20")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  expect_counts(output);
  // Enumerator, readers, counters.
  EXPECT_EQ(cluster_->count_in_log("jobmanager", "tasks_deployed"), 41u);
}

/// A file that somebody removed is made again, with what was read of it.
TEST_F(BatchTest, WhatIsLostIsMadeAgain) {
  use_lines(4 * kLines);  // So that nobody is done before the test has looked.
  start(1, 1);
  const std::string output = directory_ / "out";
  FreshetProcess run(cluster_->command("run", word_count(input_, output, "6")));
  ASSERT_TRUE(
      wait_until([&] { return partition_files(cluster_->state_directory()).size() >= 3; }, 20s))
      << run.errors();
  size_t removed = 0;
  for (const std::string& file : partition_files(cluster_->state_directory()))
    removed += std::filesystem::remove(file);
  ASSERT_GE(removed, 3u);
  ASSERT_EQ(run.wait(60s), 0) << run.errors() << cluster_->log("jobmanager");
  EXPECT_GE(cluster_->count_in_log("jobmanager", "job_restarts"), 1u);
  expect_counts(output);
}

/// Its job has ended meanwhile: only the TaskManager itself can know of them.
TEST_F(BatchTest, WhatAKilledTaskManagerLeftIsGoneWhenItHasStartedAgain) {
  use_lines(4 * kLines);
  const TemporaryDirectory one, two;
  const std::string directories = "io.tmp.dirs=" + one.path() + "," + two.path();
  start(1, 1, {"--no-restart", "-D", "slot.request.timeout=1 s", "-D", directories});
  const auto some_in = [](const TemporaryDirectory& directory) {
    return !partition_files(directory.path()).empty();
  };
  FreshetProcess run(cluster_->command("run", word_count(input_, directory_ / "out", "6")));
  ASSERT_TRUE(wait_until([&] { return some_in(one) && some_in(two); }, 20s)) << run.errors();
  cluster_->kill("taskmanager-1");
  ASSERT_EQ(run.wait(60s), 1) << run.errors();
  EXPECT_TRUE(some_in(one) && some_in(two));
  FreshetProcess again({"taskmanager", "--jobmanager", cluster_->job_manager().to_string(),
                        "--state-dir", cluster_->state_directory() + "/test/taskmanager-1", "-D",
                        directories});
  EXPECT_TRUE(wait_until([&] { return !some_in(one) && !some_in(two); }, 20s)) << again.errors();
}

}  // namespace
}  // namespace freshet::testing
