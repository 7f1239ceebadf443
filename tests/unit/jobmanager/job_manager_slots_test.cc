#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/jobmanager/job_manager_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;

/// Jobs of thousands of tasks, and fewer slots than they need.
class JobManagerSlotsTest : public JobManagerTest {
 protected:
  static constexpr uint32_t kSlots = 100;  // Of each TaskManager.
  static constexpr uint32_t kParallelism = 5000;

  void add_task_managers(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
      task_managers_.push_back(task_manager(task_managers_.size() + 1, kSlots));
    }
  }

  JobId submit_large(Peer& peer) {
    put_module(peer);
    peer.send(submission(two_vertices(kParallelism, kParallelism)));
    const proto::SubmitJobReply reply = peer.take_last().submit_job_reply();
    EXPECT_EQ(reply.status().message(), "");
    return {reply.job().high(), reply.job().low()};
  }

  bool anything_deployed() const {
    for (const auto& one : task_managers_) {
      if (one->received(proto::Envelope::kDeployTasks)) return true;
    }
    return false;
  }

  const JobMaster& job(JobId id) const { return *job_manager_->jobs().find(id)->master; }

  void beat(Duration span) {
    for (Duration passed{}; passed < span; passed += 1s) {
      executor_.advance(1s);
      for (const auto& one : task_managers_) {
        proto::Envelope envelope;
        envelope.mutable_heartbeat()->set_sequence(1);
        if (!one->closed()) one->send(envelope);
      }
    }
  }

  std::vector<std::unique_ptr<Peer>> task_managers_;
};

TEST_F(JobManagerSlotsTest, AJobThatIsMuchLargerThanTheClusterFailsAndKeepsNoSlot) {
  start({"slot.request.timeout=1 s", "restart-strategy.type=fixed-delay",
         "restart-strategy.fixed-delay.attempts=2", "restart-strategy.fixed-delay.delay=0 s"});
  add_task_managers(40);
  auto user = client();
  const JobId id = submit_large(*user);
  EXPECT_EQ(job(id).waiting_for(), "5000 slots, the cluster has 4000");
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 4000u);
  beat(1s);
  EXPECT_EQ(state_of(id), JobState::kFailed);
  EXPECT_EQ(job(id).cause().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(job(id).cause().message(), HasSubstr("needs 5000 slots, the cluster has 4000"));
  EXPECT_EQ(job(id).restarts(), 0u);  // It would be the same next time.
  EXPECT_FALSE(anything_deployed());
}

TEST_F(JobManagerSlotsTest, AJobWhoseSlotsDoNotComeBackFailsOnceForAllItsTasks) {
  start({"slot.request.timeout=20 s", "restart-strategy.type=fixed-delay",
         "restart-strategy.fixed-delay.attempts=2", "restart-strategy.fixed-delay.delay=0 s"});
  add_task_managers(50);
  auto user = client();
  const JobId id = submit_large(*user);
  EXPECT_EQ(state_of(id), JobState::kRunning);
  std::vector<proto::DeployTasks> deployed;
  for (const auto& one : task_managers_) deployed.push_back(deployment(*one));
  for (size_t lost = 40; lost < 50; lost++) task_managers_[lost]->close();
  for (size_t i = 0; i < 40; i++) report(*task_managers_[i], deployed[i], TaskState::kCanceled);
  EXPECT_EQ(job(id).restarts(), 1u);
  EXPECT_EQ(job(id).waiting_for(), "5000 slots, the cluster has 4000");
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 4000u);  // For others meanwhile.
  beat(20s);
  EXPECT_EQ(state_of(id), JobState::kFailed);
  EXPECT_THAT(job(id).cause().message(), HasSubstr("needs 5000 slots, the cluster has 4000"));
  EXPECT_THAT(job(id).cause().message(), HasSubstr("was lost"));
  EXPECT_EQ(job(id).restarts(), 1u);
  EXPECT_FALSE(anything_deployed());
}

/// The producers of a restarted job are elsewhere: nothing of the last deployment is used again.
TEST_F(JobManagerSlotsTest, ARestartedJobIsToldWhereItsProducersAreNow) {
  auto first = task_manager(1, 1);
  auto second = task_manager(2, 1);
  auto user = client();
  submit(*user);
  const auto on_first = deployment(*first);
  EXPECT_EQ(on_first.groups(0).task_managers(1).port(), 4002u);
  second->close();
  auto third = task_manager(3, 1);
  report(*first, on_first, TaskState::kCanceled);
  for (Peer* peer : {first.get(), third.get()}) {
    const auto again = deployment(*peer);
    ASSERT_EQ(again.groups_size(), 1);
    ASSERT_EQ(again.groups(0).task_managers_size(), 2);
    EXPECT_EQ(again.groups(0).task_managers(1).task_manager(), 3u);
    EXPECT_EQ(again.groups(0).task_managers(1).port(), 4003u);
    ASSERT_EQ(again.groups(0).run_attempts_size(), again.groups(0).run_lengths_size());
    for (const uint32_t attempt : again.groups(0).run_attempts()) EXPECT_EQ(attempt, 1u);
  }
}

}  // namespace
}  // namespace freshet
