// What operators of batch jobs collect does not fit into their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kWords = 60'000;

/// Each word four times, far from each other.
void write_many_words(const std::string& path) {
  std::ofstream file(path);
  for (uint32_t i = 0; i < 4 * kWords; i++)
    file << "word" << uint64_t{i} * 7919 % kWords << (i % 10 == 9 ? '\n' : ' ');
}

/// Directories come and go meanwhile.
std::vector<std::string> spilled_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code gone;
  auto at = std::filesystem::recursive_directory_iterator(directory, gone);
  for (; !gone && at != std::filesystem::recursive_directory_iterator(); at.increment(gone)) {
    if (at->path().extension() == ".run") files.push_back(at->path());
  }
  return files;
}

class BatchMemoryTest : public ::testing::Test {
 protected:
  BatchMemoryTest() { write_many_words(input_); }

  void start(uint32_t slots, const std::string& memory, bool compresses = false) {
    TestCluster::Options options;
    options.task_managers = 1;
    options.slots = slots;
    options.arguments = {"-D", "taskmanager.memory.managed.size=" + memory, "-D",
                         std::string("taskmanager.memory.managed.compress-spills=") +
                             (compresses ? "true" : "false")};
    cluster_.emplace(options);
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
  }

  std::vector<std::string> word_count(const std::string& mode, const std::string& output) const {
    return cluster_->command("run", {job_module("wordcount"), "-p", "2", "--mode", mode, "--",
                                     "--input", input_, "--output", output});
  }

  void expect_counts(const std::string& output) {
    EXPECT_EQ(read_word_counts(output), count_with_coreutils({input_}));
    EXPECT_TRUE(
        wait_until([&] { return spilled_files(cluster_->state_directory()).empty(); }, 10s));
  }

  const TemporaryDirectory directory_;
  const std::string input_ = directory_ / "words.txt";
  std::optional<TestCluster> cluster_;
};

TEST_F(BatchMemoryTest, CountsMoreWordsThanThereIsMemoryFor) {
  for (const bool compresses : {false, true}) {
    start(2, "2 mb", compresses);
    const std::string output = directory_ / ("out" + std::to_string(compresses));
    const Outcome outcome = run_freshet(word_count("batch", output));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(cluster_->count_in_log("taskmanager-1", "operator_spills"), 2u);
    expect_counts(output);
  }
}

TEST_F(BatchMemoryTest, CountsThemExactlyWhenTheTaskManagerIsKilledMeanwhile) {
  start(2, "2 mb");
  const std::string output = directory_ / "out";
  FreshetProcess run(word_count("batch", output));
  ASSERT_TRUE(wait_until(
      [&] { return cluster_->count_in_log("taskmanager-1", "operator_spills") > 0; }, 30s))
      << run.errors();
  cluster_->kill("taskmanager-1");
  ASSERT_EQ(run.wait(60s), 0) << run.errors() << cluster_->log("jobmanager");
  expect_counts(output);
}

TEST_F(BatchMemoryTest, SaysHowMuchIsNeededWhenItIsTooLittle) {
  start(2, "1 mb");
  const Outcome outcome = run_freshet(word_count("batch", directory_ / "out"));
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("taskmanager.memory.managed.size is too little"));
  EXPECT_THAT(outcome.errors, HasSubstr("set it to at least 2 mb"));
  // Streams need none.
  const Outcome streaming = run_freshet(word_count("streaming", directory_ / "out2"));
  EXPECT_EQ(streaming.exit_code, 0) << streaming.errors;
}

}  // namespace
}  // namespace freshet::testing
