#include <gtest/gtest.h>

#include <algorithm>

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

/// Without the name of a gate it waits for nothing.
std::vector<std::string> tally(const std::string& version, const std::string& output,
                               const std::string& gate = "") {
  std::vector<std::string> arguments = {
      test_job("tally_" + version), "-p", "2", "--", "--output", output};
  if (!gate.empty()) arguments.insert(arguments.end(), {"--gate", gate});
  return arguments;
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
      const Outcome outcome = cluster_.run(tally(version, output));
      ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
      EXPECT_EQ(read_lines(output), expected(version, version == "v2" ? " v2" : ""));
    }
  }
  EXPECT_EQ(cluster_.process("taskmanager-1").restarts, 0u);
}

TEST_F(JobVersionsTest, RunBesideEachOtherInOneTaskManager) {
  const std::string gate = directory_ / "gate";
  FreshetProcess first(cluster_.command("run", tally("v1", directory_ / "v1", gate)));
  FreshetProcess second(cluster_.command("run", tally("v2", directory_ / "v2", gate)));
  const auto both_run = [&] {
    const auto jobs = cluster_.jobs();
    return jobs.size() == 2 && std::all_of(jobs.begin(), jobs.end(), [](const JobLine& job) {
             return job.state == "RUNNING" && job.records > 0;
           });
  };
  EXPECT_TRUE(wait_until(both_run, 20s)) << cluster_.list().output;
  write_file(gate, "");
  EXPECT_EQ(first.wait(60s), 0) << first.errors();
  EXPECT_EQ(second.wait(60s), 0) << second.errors();
  EXPECT_EQ(read_lines(directory_ / "v1"), expected("v1", ""));
  EXPECT_EQ(read_lines(directory_ / "v2"), expected("v2", " v2"));
  EXPECT_EQ(cluster_.process("taskmanager-1").restarts, 0u);
}

}  // namespace
}  // namespace freshet::testing
