#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

/// A job that takes seconds on two cores.
std::vector<std::string> slow_count(const std::string& input, const std::string& output) {
  return {test_job("slow_count"),
          "-p",
          "4",
          "--",
          "--work",
          "2000000",
          "--input",
          input,
          "--output",
          output};
}

bool shows(const TestCluster& cluster, const std::string& what) {
  return cluster.list().output.find(what) != std::string::npos;
}

class TaskManagerLossTest : public ::testing::Test {
 protected:
  TaskManagerLossTest() { write_words(directory_ / "words", 1500, 11); }

  void expect_exact_result() {
    EXPECT_EQ(read_word_counts(directory_ / "counts"), count_words({directory_ / "words"}));
  }

  const TemporaryDirectory directory_;
};

TEST_F(TaskManagerLossTest, RestartsTheJobWhenATaskManagerIsKilledAndCountsExactly) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  FreshetProcess run(
      cluster.command("run", slow_count(directory_ / "words", directory_ / "counts")));
  ASSERT_TRUE(wait_until([&] { return shows(cluster, "RUNNING"); }, 20s)) << run.errors();
  const ProcessIdentity victim = cluster.process("taskmanager-1").process;
  cluster.kill("taskmanager-1");
  const TimePoint killed = monotonic_now();
  ASSERT_TRUE(wait_until(
      [&] { return cluster.log("jobmanager").find("task_manager_lost") != std::string::npos; }, 5s))
      << cluster.log("jobmanager");
  EXPECT_LT(monotonic_now() - killed, Duration(1s));
  EXPECT_TRUE(wait_until(
      [&] {
        const ClusterProcess now = cluster.process("taskmanager-1");
        return now.running && now.process != victim && now.restarts == 1;
      },
      10s));
  ASSERT_EQ(run.wait(60s), 0) << run.errors();
  EXPECT_NE(run.errors().find("1 restart"), std::string::npos) << run.errors();
  expect_exact_result();
}

TEST_F(TaskManagerLossTest, LeavesItDeadWhenToldAndReportsTooFewSlotsWithNumbers) {
  TestCluster::Options options;
  options.arguments = {"--no-restart", "-D", "slot.request.timeout=1 s"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  FreshetProcess run(
      cluster.command("run", slow_count(directory_ / "words", directory_ / "counts")));
  ASSERT_TRUE(wait_until([&] { return shows(cluster, "RUNNING"); }, 20s)) << run.errors();
  cluster.kill("taskmanager-2");
  ASSERT_EQ(run.wait(60s), 1) << run.errors();
  EXPECT_NE(run.errors().find("4 slots"), std::string::npos) << run.errors();
  EXPECT_NE(run.errors().find("2"), std::string::npos) << run.errors();
  EXPECT_FALSE(cluster.alive("taskmanager-2"));
  EXPECT_TRUE(cluster.alive("taskmanager-1"));
  EXPECT_FALSE(exists((directory_ / "counts") + "/part-0"));
}

/// Two TaskManagers, of which one dies at a point of the commit; a third takes over its work.
class CommitTest : public TaskManagerLossTest {
 protected:
  void kill_at(const std::string& fault) {
    TestCluster::Options options;
    options.task_managers = 1;
    TestCluster cluster(options);
    ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
    const TemporaryDirectory state;
    FreshetProcess victim({"taskmanager", "--jobmanager", cluster.job_manager().to_string(),
                           "--slots", "2", "--name", "victim", "--state-dir", state.path(),
                           "--allow-faults", "-D", "test.faults=" + fault});
    const auto registered = [&] {
      return cluster.log("jobmanager").find("victim") != std::string::npos;
    };
    ASSERT_TRUE(wait_until(registered, 10s)) << victim.errors() << cluster.log("jobmanager");
    const Outcome outcome = cluster.run({job_module("wordcount"), "-p", "4", "--", "--input",
                                         directory_ / "words", "--output", directory_ / "counts"});
    EXPECT_EQ(victim.wait(10s), 128 + SIGKILL);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    expect_exact_result();
  }
};

TEST_F(CommitTest, FinishesExactlyWhenATaskManagerDiesBeforeItPublishes) {
  kill_at("commit.before_rename:1:kill");
}

TEST_F(CommitTest, FinishesExactlyWhenATaskManagerDiesAfterItsFirstFile) {
  kill_at("commit.after_rename:1:kill");
}

TEST_F(CommitTest, FinishesExactlyWhenATaskManagerDiesBetweenTwoFiles) {
  kill_at("commit.before_rename:2:kill");
}

}  // namespace
}  // namespace freshet::testing
