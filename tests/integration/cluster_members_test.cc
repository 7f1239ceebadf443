#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/gated_job.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ClusterMembersTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  std::vector<std::string> command(const std::string& what, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"cluster",       what,          "--name",
                                      cluster_.name(), "--state-dir", cluster_.state_directory()};
    for (std::string& word : more) words.push_back(std::move(word));
    return words;
  }

  Outcome cluster(const std::string& what, std::vector<std::string> more = {}) {
    return run_freshet(command(what, std::move(more)));
  }

  TestCluster cluster_{{.task_managers = 1, .arguments = {"-D", "rest.port=0"}}};
};

TEST_F(ClusterMembersTest, AJobGetsTheSlotsThatWereAdded) {
  const TemporaryDirectory directory;
  GatedJob job(cluster_, directory.path());  // Needs 4 slots; there are 2.
  const Outcome added = cluster("add");
  EXPECT_EQ(added.exit_code, 0) << added.errors;
  EXPECT_EQ(added.output, "Cluster 'test' has taskmanager-2 now.\n");
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  EXPECT_EQ(cluster("add", {"--count", "2"}).output,
            "Cluster 'test' has taskmanager-3 now.\nCluster 'test' has taskmanager-4 now.\n");
  job.open_gate();
  ASSERT_EQ(job.run().wait(60s), 0) << job.errors();
  job.expect_exact_result();
  EXPECT_EQ(cluster_.state().processes.size(), 5u);
}

TEST(ClusterMembersOfASecretTest, NobodyIsAddedByWhoDoesNotKnowIt) {
  TestCluster cluster(
      {.task_managers = 1, .arguments = {"-D", "rest.port=0", "-D", "security.secret=rain"}});
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  std::vector<std::string> add = {"cluster",      "add",         "--name",
                                  cluster.name(), "--state-dir", cluster.state_directory()};
  const Outcome refused = run_freshet(add);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("nothing was added: security.secret differs"));
  EXPECT_EQ(cluster.state().processes.size(), 2u);
  add.insert(add.end(), {"-D", "security.secret=rain"});
  EXPECT_EQ(run_freshet(add).output, "Cluster 'test' has taskmanager-2 now.\n");
}

TEST_F(ClusterMembersTest, TwoWhoAddAtOnceGetOneEach) {
  FreshetProcess first(command("add"));
  FreshetProcess second(command("add"));
  EXPECT_EQ(first.wait(30s), 0) << first.errors();
  EXPECT_EQ(second.wait(30s), 0) << second.errors();
  EXPECT_NE(first.output(), second.output());
  EXPECT_EQ(cluster_.state().processes.size(), 4u);
}

TEST_F(ClusterMembersTest, KillsOneProcessThatIsStartedAgain) {
  const ProcessIdentity victim = cluster_.process("taskmanager-1").process;
  const Outcome killed = cluster("kill", {"taskmanager-1"});
  EXPECT_EQ(killed.exit_code, 0) << killed.errors;
  EXPECT_THAT(killed.output,
              HasSubstr("Killed taskmanager-1 (process " + std::to_string(victim.pid) + ")"));
  EXPECT_TRUE(wait_until(
      [&] {
        const ClusterProcess now = cluster_.process("taskmanager-1");
        return now.running && now.process != victim && now.restarts == 1;
      },
      10s));
  const Outcome unknown = cluster("kill", {"taskmanager-7"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("has no process 'taskmanager-7'; there are jobmanager, "
                                        "taskmanager-1"));
}

TEST_F(ClusterMembersTest, ShowsAndFollowsLogs) {
  FreshetProcess follow(command("logs", {"-f", "-n", "0"}));
  FreshetProcess follow_one(command("logs", {"-f", "-n", "1000", "jobmanager"}));
  ASSERT_TRUE(wait_until(
      [&] { return follow_one.output().find("task_manager_registered") != std::string::npos; },
      10s));
  ASSERT_EQ(cluster("add").exit_code, 0);
  EXPECT_TRUE(wait_until(
      [&] {
        return follow.output().find("supervisor     I ") != std::string::npos &&
               follow.output().find("task_manager_added name=taskmanager-2") != std::string::npos &&
               follow_one.output().find("name=taskmanager-2") != std::string::npos;
      },
      10s))
      << follow.output();
  follow.send_signal(SIGINT);
  EXPECT_EQ(follow.wait(10s), 0);
  const Outcome last = cluster("logs", {"-n", "1", "taskmanager-1"});
  EXPECT_THAT(last.output, HasSubstr("registered job_manager="));
  EXPECT_EQ(std::count(last.output.begin(), last.output.end(), '\n'), 1);
  EXPECT_THAT(cluster("logs", {"--output", "taskmanager-1"}).output, HasSubstr("TaskManager at"));
  EXPECT_THAT(cluster("logs", {"nobody"}).errors,
              HasSubstr("no process 'nobody' in the cluster; there are supervisor, jobmanager"));
  ASSERT_EQ(cluster_.stop().exit_code, 0);
  EXPECT_EQ(follow_one.wait(10s), 0);  // The cluster is gone.
}

TEST_F(ClusterMembersTest, SaysWhatAClusterIsAsJson) {
  const Outcome status = cluster("status", {"--json"});
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_THAT(status.output,
              AllOf(HasSubstr("\"name\": \"test\""), HasSubstr("\"name\": \"taskmanager-1\""),
                    HasSubstr("\"running\": true"), HasSubstr("\"restarts\": 0")));
  EXPECT_THAT(status.errors, IsEmpty());
}

TEST_F(ClusterMembersTest, IsNamedAsInOtherCommandsToo) {
  const Outcome status = run_freshet({"cluster", "status", "--cluster", cluster_.name(),
                                      "--state-dir", cluster_.state_directory()});
  EXPECT_EQ(status.exit_code, 0) << status.errors;
  EXPECT_EQ(status.output, cluster("status").output);
}

TEST_F(ClusterMembersTest, CompletesTheNamesOfWhatRuns) {
  const TemporaryDirectory directory;
  ASSERT_EQ(cluster("add").exit_code, 0);
  GatedJob job(cluster_, directory.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  const auto complete = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"complete-word", "--"});
    return run_freshet(words).output;
  };
  const std::string& place = cluster_.state_directory();
  EXPECT_EQ(complete({"list", "--state-dir", place, "--cluster", ""}), cluster_.name() + "\n");
  EXPECT_EQ(complete({"cancel", "--state-dir", place, "--cluster", cluster_.name(), ""}),
            cluster_.jobs().front().id + "\n");
  EXPECT_EQ(complete({"cluster", "kill", "--state-dir", place, "--name", cluster_.name(), ""}),
            "jobmanager\ntaskmanager-1\ntaskmanager-2\n");
  EXPECT_EQ(complete({"cancel", "--cluster", "none", ""}), "");
  const std::vector<std::string> fail = {
      "fail", "--state-dir", place, "--cluster", cluster_.name(), cluster_.jobs().front().id, ""};
  EXPECT_THAT(complete(fail), AllOf(HasSubstr("1/0\n"), HasSubstr("2/3\n")));
  cluster_.signal("jobmanager", SIGSTOP);  // Nobody waits at a prompt for who does not answer.
  const TimePoint asked = monotonic_now();
  EXPECT_EQ(complete(fail), "");
  EXPECT_LT(monotonic_now() - asked, 5s);
  cluster_.signal("jobmanager", SIGCONT);
  job.open_gate();
  EXPECT_EQ(job.run().wait(60s), 0) << job.errors();
}

TEST(NoClusterTest, SaysThatThereIsNone) {
  const TemporaryDirectory directory;
  for (const auto& [what, more] : {std::pair("add", ""), std::pair("kill", "taskmanager-1"),
                                   std::pair("logs", ""), std::pair("status", "--json")}) {
    std::vector<std::string> words = {"cluster", what,          "--name",
                                      "gone",    "--state-dir", directory.path()};
    if (*more != 0) words.push_back(more);
    const Outcome outcome = run_freshet(words);
    EXPECT_EQ(outcome.exit_code, 1) << what;
    EXPECT_THAT(outcome.errors, HasSubstr("gone")) << what;
  }
}

}  // namespace
}  // namespace freshet::testing
