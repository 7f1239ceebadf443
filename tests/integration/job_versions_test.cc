#include <gtest/gtest.h>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

std::vector<std::string> expected(const std::string& version, const std::string& suffix) {
  std::vector<std::string> lines;
  for (int word = 0; word < 10; word++)
    lines.push_back(version + " w" + std::to_string(word) + " 10" + suffix);
  return lines;
}

std::vector<std::string> tally(const std::string& version, const std::string& output,
                               const std::string& work) {
  return {test_job("tally_" + version), "-p", "2", "--", "--work", work, "--output", output};
}

class JobVersionsTest : public ::testing::Test {
 protected:
  JobVersionsTest() : cluster_(options()) {}
  void SetUp() override { ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  static TestCluster::Options options() {
    TestCluster::Options options;
    options.task_managers = 1;
    options.slots = 4;
    return options;
  }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
};

TEST_F(JobVersionsTest, RunAfterEachOtherInOneTaskManager) {
  for (const std::string round : {"a", "b"}) {
    for (const std::string version : {"v1", "v2"}) {
      const std::string output = directory_ / (version + round);
      const Outcome outcome = cluster_.run(tally(version, output, "0"));
      ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
      EXPECT_EQ(read_lines(output), expected(version, version == "v2" ? " v2" : ""));
    }
  }
  EXPECT_EQ(cluster_.process("taskmanager-1").restarts, 0u);
}

TEST_F(JobVersionsTest, RunBesideEachOtherInOneTaskManager) {
  const std::string work = "20000000";
  FreshetProcess first(cluster_.command("run", tally("v1", directory_ / "v1", work)));
  FreshetProcess second(cluster_.command("run", tally("v2", directory_ / "v2", work)));
  const auto both_run = [&] {
    const std::string list = cluster_.list().output;
    const size_t one = list.find("RUNNING");
    return one != std::string::npos && list.find("RUNNING", one + 1) != std::string::npos;
  };
  EXPECT_TRUE(wait_until(both_run, 20s)) << cluster_.list().output;
  EXPECT_EQ(first.wait(60s), 0) << first.errors();
  EXPECT_EQ(second.wait(60s), 0) << second.errors();
  EXPECT_EQ(read_lines(directory_ / "v1"), expected("v1", ""));
  EXPECT_EQ(read_lines(directory_ / "v2"), expected("v2", " v2"));
  EXPECT_EQ(cluster_.process("taskmanager-1").restarts, 0u);
}

}  // namespace
}  // namespace freshet::testing
