#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"
#include "tests/models/restart_model.h"
#include "tests/unit/graph/region_sketch.h"

namespace freshet::testing {
namespace {

using ::testing::IsEmpty;

constexpr uint32_t kParallelism = 8;
constexpr uint32_t kTasks = 1 + 2 * kParallelism;  // Enumerator, readers, counters.

struct KillPoint {
  std::string text;  // In the log of the JobManager.
  uint32_t times = 0;
};

/// A TaskManager is killed at every few events of a word count, so in every phase; which tasks run
/// again is compared with what must by definition.
class BatchRestartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
    write_words(input_, 20'000, 1);
    counts_ = count_with_coreutils({input_});
  }

  void run_and_kill(const KillPoint& point) {
    SCOPED_TRACE(std::to_string(point.times) + " times" + point.text);
    const size_t before = cluster_.log("jobmanager").size();
    const std::string output = directory_ / ("out" + std::to_string(runs_));
    FreshetProcess run(
        cluster_.command("run", {"-D", "source.file.split-size=32 kb", job_module("wordcount"),
                                 "-p", std::to_string(kParallelism), "--mode", "batch", "--",
                                 "--input", input_, "--output", output}));
    ASSERT_TRUE(wait_until([&] { return count_after(before, point.text) >= point.times; }, 20s))
        << run.errors();
    kill_one_and_add_another();
    ASSERT_EQ(run.wait(60s), 0) << run.errors() << cluster_.log("jobmanager");
    EXPECT_EQ(read_word_counts(output), counts_);
    follow(cluster_.log("jobmanager").substr(before));
  }

  void kill_one_and_add_another() {
    const size_t which = runs_++ % 2;
    cluster_.kill(task_managers_[which]);
    task_managers_[which] = "taskmanager-" + std::to_string(2 + runs_);
    const Outcome added = run_freshet(
        {"cluster", "add", "--name", cluster_.name(), "--state-dir", cluster_.state_directory()});
    ASSERT_EQ(added.output, "Cluster 'test' has " + task_managers_[which] + " now.\n")
        << added.errors;
  }

  size_t count_after(size_t from, const std::string& text) const {
    const std::string log = cluster_.log("jobmanager").substr(from);
    size_t count = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) count++;
    return count;
  }

  /// An enumerator, readers and counters; each reads all of the one before.
  static JobGraph word_count_graph() {
    return RegionSketch({1, kParallelism, kParallelism})
        .blocking(0, 1, Partitioning::kHash)
        .blocking(1, 2, Partitioning::kHash)
        .graph;
  }

  void follow(const std::string& log) {
    const size_t at = log.find(" execution_deployed job=");
    ASSERT_NE(at, std::string::npos);
    const std::string job = log.substr(at + std::string(" execution_deployed job=").size(), 32);
    RestartModel model(job, word_count_graph());
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) model.read(line);
    model.end();
    EXPECT_TRUE(model.finished());
    EXPECT_THAT(model.problems(), IsEmpty()) << log;
    felt_ += model.rounds() > 0;
    restarted_ += model.restarted();
    spared_ += model.spared();
  }

  TestCluster cluster_{[] {
    TestCluster::Options options;
    options.arguments = {"--no-restart", "-D", "env.log.level=debug"};
    return options;
  }()};
  const TemporaryDirectory directory_;
  const std::string input_ = directory_ / "words.txt";
  WordCounts counts_;
  std::array<std::string, 2> task_managers_{"taskmanager-1", "taskmanager-2"};
  uint32_t runs_ = 0;
  uint32_t felt_ = 0;
  uint32_t restarted_ = 0;
  uint32_t spared_ = 0;
};

TEST_F(BatchRestartsTest, RunAgainWhatTheyMustAndNothingElseWheneverATaskManagerIsKilled) {
  for (uint32_t times = 1; times <= kTasks; times++) {
    run_and_kill({" execution_deployed ", times});
    if (HasFatalFailure()) return;
  }
  for (uint32_t times = 1; times < kTasks; times++) {
    run_and_kill({" state=END_OF_DATA\n", times});
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(felt_, 8u);
  EXPECT_GE(restarted_, 20u);
  EXPECT_GE(spared_, 20u);
}

}  // namespace
}  // namespace freshet::testing
