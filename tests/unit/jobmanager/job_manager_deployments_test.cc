#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/jobmanager/job_manager_fixture.h"

namespace freshet {
namespace {

/// What TaskManagers are told of a batch job, whose consumers are deployed one after the other.
class JobManagerDeploymentsTest : public JobManagerTest {
 protected:
  static constexpr uint32_t kProducers = 8;

  JobId submit_batch(Peer& user) {
    JobGraph graph = two_vertices(kProducers, 4);
    graph.mode = RuntimeMode::kBatch;
    graph.edges[0].exchange = Exchange::kBlocking;
    put_module(user);
    user.send(submission(std::move(graph)));
    const proto::SubmitJobReply reply = user.take_last().submit_job_reply();
    EXPECT_EQ(reply.status().message(), "");
    return {reply.job().high(), reply.job().low()};
  }

  static void run_to_end(Peer& peer, const proto::DeployTasks& tasks) {
    for (const TaskState state : {TaskState::kInitializing, TaskState::kRunning,
                                  TaskState::kEndOfData, TaskState::kFinished})
      report(peer, tasks, state);
  }

  static std::vector<proto::DeployTasks> deployments(Peer& peer) {
    std::vector<proto::DeployTasks> all;
    for (const auto& envelope : peer.take()) {
      if (envelope.has_deploy_tasks()) all.push_back(envelope.deploy_tasks());
    }
    return all;
  }

  proto::BlobChunk fetch(const std::string& hash) {
    auto peer = connect();
    peer->hello(proto::Hello::BLOB_CLIENT);
    proto::Envelope envelope;
    envelope.mutable_get_blob()->set_hash(hash);
    peer->send(envelope);
    return peer->take_last().blob_chunk();
  }
};

TEST_F(JobManagerDeploymentsTest, TellATaskManagerOnceWhatItsTasksShare) {
  auto only = task_manager(1, kProducers);
  auto user = client();
  submit_batch(*user);
  const auto producers = deployment(*only);
  EXPECT_TRUE(producers.has_job());
  ASSERT_EQ(producers.tasks_size(), static_cast<int>(kProducers));
  run_to_end(*only, producers);
  const auto consumers = deployment(*only);
  EXPECT_FALSE(consumers.has_job());
  EXPECT_EQ(consumers.known_job().low(), producers.job().job().low());
  ASSERT_EQ(consumers.groups_size(), 1);
  const std::string hash = consumers.groups(0).hash();
  EXPECT_NE(consumers.groups(0).run_lengths_size(), 0);
  EXPECT_EQ(fetch(hash).status().code(), 0u);

  // A consumer fails: what it reads is where it was.
  proto::DeployTasks one = consumers;
  one.mutable_tasks()->DeleteSubrange(1, one.tasks_size() - 1);
  report(*only, one, TaskState::kFailed);
  const auto again = deployment(*only);
  ASSERT_EQ(again.tasks_size(), 1);
  ASSERT_EQ(again.groups_size(), 1);
  EXPECT_EQ(again.groups(0).hash(), hash);
  EXPECT_EQ(again.groups(0).run_lengths_size(), 0);
}

TEST_F(JobManagerDeploymentsTest, LeaveLargeGroupsToBeFetchedAsLongAsTheyAreRight) {
  start({"blob.offload.minsize=1 b"});
  auto first = task_manager(1, kProducers);
  auto user = client();
  const JobId id = submit_batch(*user);
  run_to_end(*first, deployment(*first));
  const auto consumers = deployment(*first);
  ASSERT_EQ(consumers.groups_size(), 1);
  EXPECT_EQ(consumers.groups(0).run_lengths_size(), 0);
  const std::string hash = consumers.groups(0).hash();
  const std::string data = fetch(hash).data();
  EXPECT_EQ(content_hash(data), hash);
  proto::GateGroup group;
  ASSERT_TRUE(group.ParseFromString(data));
  EXPECT_EQ(group.task_managers(0).port(), 4001u);

  // Producers and consumers run again elsewhere.
  auto second = task_manager(2, kProducers);
  first->close();
  run_to_end(*second, deployment(*second));
  const auto all = deployments(*second);  // One for each consumer, as slots came free.
  ASSERT_EQ(all.size(), 4u);
  const proto::DeployTasks& moved = all.front();
  ASSERT_EQ(moved.groups_size(), 1);
  EXPECT_NE(moved.groups(0).hash(), hash);
  EXPECT_EQ(fetch(hash).status().code(), static_cast<uint32_t>(StatusCode::kNotFound));
  ASSERT_TRUE(group.ParseFromString(fetch(moved.groups(0).hash()).data()));
  EXPECT_EQ(group.task_managers(0).port(), 4002u);

  for (const proto::DeployTasks& one : all) run_to_end(*second, one);
  EXPECT_EQ(state_of(id), JobState::kFinished);
  EXPECT_EQ(fetch(moved.groups(0).hash()).status().code(),
            static_cast<uint32_t>(StatusCode::kNotFound));
}

}  // namespace
}  // namespace freshet
