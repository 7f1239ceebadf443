#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

/// Takes all descriptors that a process has not got yet, until the scope ends.
class NoDescriptors {
 public:
  explicit NoDescriptors(pid_t pid) : pid_(pid) {
    EXPECT_EQ(prlimit(pid_, RLIMIT_NOFILE, nullptr, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(prlimit(pid_, RLIMIT_NOFILE, &none, nullptr), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(prlimit(pid_, RLIMIT_NOFILE, &before_, nullptr), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  const pid_t pid_;
  rlimit before_{};
};

/// A cluster of real processes that run out of descriptors and get some again.
class DescriptorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
    write_file(text_, "one two two\n");
  }

  Outcome count(const std::string& output, Duration timeout = 60s) {
    return cluster_.run({"-D", "restart-strategy.type=none", job_module("wordcount"), "-p", "2",
                         "--", "--input", text_, "--output", directory_ / output},
                        timeout);
  }

  void expect_that_a_job_runs_and_nobody_was_restarted() {
    const Outcome outcome = count("afterwards");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(read_word_counts(directory_ / "afterwards"), count_words({text_}));
    for (const ClusterProcess& one : cluster_.state().processes) {
      EXPECT_TRUE(one.running) << one.name;
      EXPECT_EQ(one.restarts, 0u) << one.name;
    }
  }

  const TemporaryDirectory directory_;
  const std::string text_ = directory_ / "text";
  TestCluster cluster_{TestCluster::Options{.task_managers = 1, .arguments = {}}};
};

TEST_F(DescriptorsTest, ATaskManagerWithoutFailsItsTasksAndGoesOn) {
  {
    const NoDescriptors none(cluster_.process("taskmanager-1").process.pid);
    const Outcome outcome = count("counts");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors, HasSubstr("Too many open files"));
  }
  expect_that_a_job_runs_and_nobody_was_restarted();
}

TEST_F(DescriptorsTest, AJobManagerWithoutAnswersAgainWhenItHasSome) {
  {
    const NoDescriptors none(cluster_.process("jobmanager").process.pid);
    FreshetProcess list(cluster_.command("list", {}));
    EXPECT_TRUE(
        wait_until([&] { return cluster_.count_in_log("jobmanager", "accept_failed") > 0; }, 20s));
    EXPECT_EQ(cluster_.count_in_log("jobmanager", "accept_failed"), 1u);  // Said once.
  }
  EXPECT_TRUE(wait_until(
      [&] { return cluster_.count_in_log("jobmanager", "accept_recovered") == 1; }, 20s));
  expect_that_a_job_runs_and_nobody_was_restarted();
}

}  // namespace
}  // namespace freshet::testing
