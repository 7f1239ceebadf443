#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTaskManagers[] = {"taskmanager-1", "taskmanager-2"};

/// A client that waits for its job while the JobManager is killed.
class JobManagerLossTest : public ::testing::Test {
 protected:
  void start(std::vector<std::string> arguments) {
    TestCluster::Options options;
    options.arguments = std::move(arguments);
    options.arguments.insert(options.arguments.end(), {"-D", "heartbeat.interval=100 ms"});
    cluster_ = std::make_unique<TestCluster>(options);
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
  }

  /// What is so whether or not the JobManager comes back.
  void kill_in_the_middle() {
    GatedJob job(*cluster_, directory_.path());
    ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
    const std::string address = cluster_->job_manager().to_string();
    cluster_->kill("jobmanager");
    EXPECT_EQ(job.run().wait(20s), 1) << job.errors();
    const std::string errors = job.run().errors();
    EXPECT_THAT(errors, HasSubstr("the connection to the JobManager at " + address + " was lost"));
    EXPECT_THAT(errors, HasSubstr("run the job again"));
    for (const std::string name : kTaskManagers) {
      EXPECT_TRUE(wait_until([&] { return all_tasks_ended(name); }, 10s)) << cluster_->log(name);
      EXPECT_THAT(cluster_->log(name), HasSubstr("job_manager_lost"));
    }
    job.expect_nothing_visible();
    EXPECT_FALSE(exists(job.output())) << run_program("/usr/bin/find", {job.output()}).output;
  }

  bool all_tasks_ended(const std::string& name) const {
    const size_t begun = cluster_->count_in_log(name, "to=RUNNING");
    return begun > 0 && cluster_->count_in_log(name, "to=CANCELED") == begun;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<TestCluster> cluster_;
};

TEST_F(JobManagerLossTest, EndsClientAndTasksAndRunsTheNextJobWhenItIsBack) {
  start({});
  kill_in_the_middle();
  for (const std::string name : kTaskManagers) {
    EXPECT_TRUE(wait_until([&] { return cluster_->count_in_log(name, " registered ") == 2; }, 20s))
        << cluster_->log(name);
    EXPECT_EQ(cluster_->process(name).restarts, 0u) << name;
  }
  // Needs all slots: those of the lost job are free again.
  const TemporaryDirectory other;
  GatedJob next(*cluster_, other.path());
  next.open_gate();
  EXPECT_EQ(next.run().wait(30s), 0) << next.errors();
  next.expect_exact_result();
}

TEST_F(JobManagerLossTest, LeavesTaskManagersThatTryAgainWhileItIsDead) {
  start({"--no-restart"});
  kill_in_the_middle();
  for (const std::string name : kTaskManagers) {
    EXPECT_TRUE(
        wait_until([&] { return cluster_->count_in_log(name, "job_manager_lost") >= 3; }, 20s))
        << cluster_->log(name);
    EXPECT_TRUE(cluster_->alive(name));
  }
}

}  // namespace
}  // namespace freshet::testing
