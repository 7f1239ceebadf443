#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

std::vector<std::string> short_heartbeats() {
  return {"-D", "heartbeat.interval=100 ms", "-D", "heartbeat.timeout=5 s"};
}

TEST(TaskManagerLossTest, RestartsTheJobWhenATaskManagerIsKilledAndCountsExactly) {
  const TemporaryDirectory directory;
  TestCluster::Options options;
  options.arguments = short_heartbeats();
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  GatedJob job(cluster, directory.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  const ProcessIdentity victim = cluster.process("taskmanager-1").process;
  cluster.kill("taskmanager-1");
  const TimePoint killed = monotonic_now();
  ASSERT_TRUE(
      wait_until([&] { return cluster.count_in_log("jobmanager", "task_manager_lost") > 0; }, 5s))
      << cluster.log("jobmanager");
  EXPECT_LT(monotonic_now() - killed, Duration(1s));
  EXPECT_TRUE(wait_until(
      [&] {
        const ClusterProcess now = cluster.process("taskmanager-1");
        return now.running && now.process != victim && now.restarts == 1;
      },
      10s));
  ASSERT_TRUE(job.wait_until_in_the_middle(1)) << job.errors();
  job.open_gate();
  ASSERT_EQ(job.run().wait(60s), 0) << job.errors();
  EXPECT_NE(job.errors().find("1 restart"), std::string::npos) << job.errors();
  job.expect_exact_result();
}

TEST(TaskManagerLossTest, LeavesItDeadWhenToldAndReportsTooFewSlotsWithNumbers) {
  const TemporaryDirectory directory;
  TestCluster::Options options;
  options.arguments = short_heartbeats();
  options.arguments.insert(options.arguments.end(),
                           {"--no-restart", "-D", "slot.request.timeout=1 s"});
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  GatedJob job(cluster, directory.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  cluster.kill("taskmanager-2");
  ASSERT_EQ(job.run().wait(60s), 1) << job.errors();
  EXPECT_NE(job.errors().find("4 slots"), std::string::npos) << job.errors();
  EXPECT_NE(job.errors().find("the cluster has 2"), std::string::npos) << job.errors();
  EXPECT_FALSE(cluster.alive("taskmanager-2"));
  EXPECT_TRUE(cluster.alive("taskmanager-1"));
  job.expect_nothing_visible();
}

TEST(TaskManagerLossTest, TheNextTaskManagerRemovesWhatAFailedJobLeft) {
  const TemporaryDirectory directory;
  TestCluster::Options options;
  options.task_managers = 1;
  options.slots = 4;
  options.arguments = {"--no-restart"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  GatedJob job(cluster, directory.path(), {"-D", "restart-strategy.type=none"});
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  cluster.kill("taskmanager-1");
  ASSERT_EQ(job.run().wait(60s), 1) << job.errors();
  EXPECT_TRUE(exists(job.output()));
  const TemporaryDirectory state;
  FreshetProcess next({"taskmanager", "--jobmanager", cluster.job_manager().to_string(), "--slots",
                       "4", "--state-dir", state.path()});
  EXPECT_TRUE(wait_until([&] { return !exists(job.output()); }, 20s)) << next.errors();
  write_words(directory / "words", 100, 5);
  const Outcome again = cluster.run({job_module("wordcount"), "-p", "4", "--", "--input",
                                     directory / "words", "--output", job.output()});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
}

/// Two TaskManagers, of which one dies at a point of the commit; a third takes over its work.
class CommitTest : public ::testing::Test {
 protected:
  CommitTest() { write_words(directory_ / "words", 500, 11); }

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
    EXPECT_EQ(read_word_counts(directory_ / "counts"), count_words({directory_ / "words"}));
  }

  const TemporaryDirectory directory_;
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
