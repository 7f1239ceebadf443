#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "tests/integration/dying_disks.h"
#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr size_t kLines = 80'000;
constexpr uint32_t kSubtasks = 16;

/// All files there; directories come and go meanwhile.
std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code gone;
  auto at = std::filesystem::recursive_directory_iterator(directory, gone);
  for (; !gone && at != std::filesystem::recursive_directory_iterator(); at.increment(gone)) {
    if (!at->is_directory(gone)) files.push_back(at->path());
  }
  return files;
}

/// A batch job whose files are on two disks, and a streaming job beside it.
class DyingDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_words(input_, kLines, 1);
    counts_ = count_with_coreutils({input_});
  }
  void TearDown() override {
    run_.reset();
    beside_.reset();
    cluster_.reset();
  }

  void start(const std::string& directories) {
    TestCluster::Options options;
    options.slots = 3;
    options.arguments = {"-D", "io.tmp.dirs=" + directories};
    run_without_override([&] { cluster_.emplace(options); });
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
    beside_.emplace(*cluster_, directory_.path(), std::vector<std::string>(), "2");
    ASSERT_TRUE(beside_->wait_until_in_the_middle()) << beside_->errors();
    run_.emplace(cluster_->command(
        "run", {job_module("wordcount"), "-p", std::to_string(kSubtasks), "--mode", "batch", "--",
                "--input", input_, "--output", output_}));
  }

  void expect_that_all_is_right() {
    ASSERT_EQ(run_->wait(120s), 0) << run_->errors() << cluster_->log("jobmanager");
    EXPECT_EQ(read_word_counts(output_), counts_);
    beside_->open_gate();
    ASSERT_EQ(beside_->run().wait(60s), 0) << beside_->errors();
    beside_->expect_exact_result();
    for (const JobLine& job : cluster_->jobs())
      EXPECT_EQ(job.restarts > 0, job.name == "wordcount") << job.name;
    for (const ClusterProcess& one : cluster_->state().processes) {
      EXPECT_TRUE(one.running) << one.name;
      EXPECT_EQ(one.restarts, 0u) << one.name;
    }
  }

  std::string logs() const {
    return cluster_->log("taskmanager-1") + cluster_->log("taskmanager-2");
  }

  const TemporaryDirectory directory_, healthy_;
  const std::string input_ = directory_ / "words.txt", output_ = directory_ / "out";
  WordCounts counts_;
  std::optional<TestCluster> cluster_;
  std::optional<GatedJob> beside_;
  std::optional<FreshetProcess> run_;
};

class DyingDiskKindTest : public DyingDiskTest, public ::testing::WithParamInterface<DiskKind> {};

TEST_P(DyingDiskKindTest, CostsItsFilesAndNothingElse) {
  const std::unique_ptr<DyingDisk> disk = GetParam().make();
  if (!disk->why_not().empty()) GTEST_SKIP() << "no such disk here: " << disk->why_not();
  start(healthy_.path() + "," + disk->path());
  ASSERT_TRUE(wait_until([&] { return !files_below(disk->path()).empty(); }, 20s))
      << run_->errors();
  disk->die();
  expect_that_all_is_right();

  const std::string log = logs();
  const size_t at = log.find(" temp_directory_left_out path=" + disk->path());
  ASSERT_NE(at, std::string::npos) << log;
  const std::string line = log.substr(at, log.find('\n', at) - at);
  EXPECT_THAT(line, HasSubstr(GetParam().says));
  EXPECT_THAT(line, HasSubstr("left=1"));
  EXPECT_THAT(line, AnyOf(HasSubstr("to_do=\"restart this TaskManager when it works again\""),
                          HasSubstr("to_do=\"make room there\"")));
  EXPECT_EQ(log.find(" temp_directory_left_out path=" + healthy_.path()), std::string::npos);

  EXPECT_TRUE(wait_until([&] { return files_below(healthy_.path()).empty(); }, 10s));
  const Outcome stopped = cluster_->stop();
  EXPECT_EQ(stopped.exit_code, 0) << stopped.errors;
  EXPECT_TRUE(std::filesystem::is_empty(healthy_.path()));
}

INSTANTIATE_TEST_SUITE_P(Disks, DyingDiskKindTest, ::testing::ValuesIn(disk_kinds()),
                         [](const auto& kind) { return kind.param.name; });

/// Then nothing is left to go to: the tasks that are there run again until there is.
TEST_F(DyingDiskTest, AJobGoesOnWhenFilesMayGrowAgain) {
  const TemporaryDirectory other;
  start(healthy_.path() + "," + other.path());
  ASSERT_TRUE(wait_until([&] { return !files_below(other.path()).empty(); }, 20s))
      << run_->errors();
  const pid_t process = cluster_->process("taskmanager-1").process.pid;
  rlimit before{};
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, nullptr, &before), 0);
  const rlimit nothing{0, before.rlim_max};
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, &nothing, nullptr), 0);
  EXPECT_TRUE(wait_until(
      [&] { return cluster_->count_in_log("jobmanager", ": File too large") > 1; }, 30s));
  ASSERT_EQ(::prlimit(process, RLIMIT_FSIZE, &before, nullptr), 0);
  expect_that_all_is_right();
  EXPECT_TRUE(wait_until([&] { return files_below(healthy_.path()).empty(); }, 10s));
  EXPECT_TRUE(wait_until([&] { return files_below(other.path()).empty(); }, 10s));
}

}  // namespace
}  // namespace freshet::testing
