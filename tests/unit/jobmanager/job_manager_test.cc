#include "jobmanager/job_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobmanager/control_messages.h"
#include "tests/unit/jobmanager/job_manager_fixture.h"

namespace freshet {
namespace {

using testing::HasSubstr;

TEST_F(JobManagerTest, RunsAJobFromSubmissionToItsEnd) {
  auto first = task_manager(1);
  auto second = task_manager(2);
  auto user = client();
  const JobId id = submit(*user);
  const auto on_first = deployment(*first);
  const auto on_second = deployment(*second);
  EXPECT_EQ(on_first.tasks_size(), 2);
  EXPECT_EQ(on_first.job().module_hash(), content_hash(kModule));
  ASSERT_EQ(on_first.groups_size(), 1);
  ASSERT_EQ(on_first.groups(0).task_managers_size(), 2);
  EXPECT_EQ(on_first.groups(0).task_managers(1).port(), 4002u);

  report(*first, on_first, TaskState::kRunning);
  report(*second, on_second, TaskState::kRunning);
  EXPECT_EQ(get(*user, id).job().tasks_running(), 4u);
  report(*first, on_first, TaskState::kEndOfData, "a");
  EXPECT_EQ(state_of(id), JobState::kRunning);
  report(*second, on_second, TaskState::kEndOfData, "b");
  EXPECT_EQ(state_of(id), JobState::kCommitting);
  for (Peer* peer : {first.get(), second.get()}) {
    const proto::Envelope commit = peer->take_last();
    ASSERT_TRUE(commit.has_commit());
    proto::Envelope done;
    fill(done.mutable_commit_done()->mutable_job(), id);
    done.mutable_commit_done()->set_commit_id(commit.commit().commit_id());
    peer->send(done);
  }
  EXPECT_EQ(state_of(id), JobState::kFinished);
  EXPECT_TRUE(first->received(proto::Envelope::kFinishTasks));
  EXPECT_TRUE(first->received(proto::Envelope::kReleaseJob));
  const auto reply = get(*user, id);
  EXPECT_EQ(reply.job().state(), static_cast<uint32_t>(JobState::kFinished));
  EXPECT_GT(reply.job().ended_epoch_ms(), 0);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 2u);
  EXPECT_TRUE(reply.job().tidying());
  released(*first, id);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 3u);
  released(*second, id);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 4u);
  EXPECT_FALSE(get(*user, id).job().tidying());
}

TEST_F(JobManagerTest, DeploysAWaitingJobWhenTheSlotsOfTheLastOneAreReleased) {
  auto worker = task_manager(1);
  auto user = client();
  const JobId ends = submit(*user);
  const auto deployed = deployment(*worker);
  const JobId waits = submit(*user);
  report(*worker, deployed, TaskState::kEndOfData);
  ASSERT_EQ(state_of(ends), JobState::kFinished);
  report(*worker, deployed, TaskState::kFinished);
  EXPECT_EQ(state_of(waits), JobState::kCreated);
  EXPECT_FALSE(worker->received(proto::Envelope::kDeployTasks));
  released(*worker, waits);  // It has not ended: says nothing.
  EXPECT_EQ(state_of(waits), JobState::kCreated);
  released(*worker, ends);
  EXPECT_EQ(state_of(waits), JobState::kRunning);
  EXPECT_TRUE(worker->received(proto::Envelope::kDeployTasks));
}

TEST_F(JobManagerTest, ClosedConnectionOfATaskManagerRestartsItsJobs) {
  auto first = task_manager(1);
  auto second = task_manager(2);
  auto user = client();
  const JobId id = submit(*user);
  const auto on_first = deployment(*first);
  second->close();
  EXPECT_EQ(state_of(id), JobState::kRestarting);
  EXPECT_TRUE(first->received(proto::Envelope::kCancelTasks));
  first->take();
  report(*first, on_first, TaskState::kCanceled);
  EXPECT_EQ(state_of(id), JobState::kRunning);  // The first one has two slots.
  const auto again = deployment(*first);
  EXPECT_EQ(again.tasks(0).attempt().attempt(), 1u);
  EXPECT_TRUE(on_first.check());
  EXPECT_TRUE(again.check());  // The first attempt never ran everywhere.
  EXPECT_EQ(get(*user, id).job().restarts(), 1u);
}

TEST_F(JobManagerTest, ATaskManagerThatCrashesIsLostWithWhatItSaidOfThat) {
  auto first = task_manager(1);
  auto peer = client();
  const JobId job = submit(*peer);
  proto::Envelope envelope;
  proto::TaskManagerCrashes* crash = envelope.mutable_task_manager_crashes();
  crash->set_reason("SIGSEGV at address 0x0");
  control_messages::write(job, crash->mutable_job());
  crash->set_code_name(std::string(1 << 20, 'x') + "\xff");
  for (int i = 0; i < 1000; ++i) crash->add_frames(std::string(1 << 12, 'f'));
  first->send(envelope);
  EXPECT_TRUE(first->closed());
  const JobFailure& failure = job_manager_->jobs().find(job)->master->history().failures().front();
  EXPECT_THAT(failure.cause.message(), HasSubstr("brought down tm ("));
  EXPECT_THAT(failure.cause.message(), HasSubstr("SIGSEGV at address 0x0"));
  EXPECT_LT(failure.cause.message().size(), 5000u);
  EXPECT_LT(failure.details.size(), 50u << 10);
  EXPECT_GT(failure.details.size(), 40u << 10);
}

TEST_F(JobManagerTest, HearsOfACrashOnAnotherConnectionOfTheTaskManager) {
  auto first = task_manager(1);
  auto peer = client();
  const JobId job = submit(*peer);
  auto last_words = connect();
  last_words->hello(proto::Hello::TASK_MANAGER);
  proto::Envelope envelope;
  envelope.mutable_task_manager_crashes()->set_reason("SIGABRT: CHECK failed");
  envelope.mutable_task_manager_crashes()->set_thread("tm-main");
  envelope.mutable_task_manager_crashes()->set_task_manager(99);  // Nobody.
  last_words->send(envelope);
  EXPECT_TRUE(last_words->closed());
  EXPECT_FALSE(first->closed());
  last_words = connect();
  last_words->hello(proto::Hello::TASK_MANAGER);
  envelope.mutable_task_manager_crashes()->set_task_manager(1);
  last_words->send(envelope);
  EXPECT_TRUE(last_words->closed());
  EXPECT_TRUE(first->closed());
  const JobFailure& failure = job_manager_->jobs().find(job)->master->history().failures().front();
  EXPECT_THAT(failure.cause.message(),
              HasSubstr("was lost: it crashed in its thread tm-main: SIGABRT: CHECK failed"));
}

TEST_F(JobManagerTest, WaitsAMomentForWhoeverCanSayWhyATaskManagerIsGone) {
  start({"restart-strategy.type=none"}, 500ms);
  const auto cause_of = [&](const JobId& job) {
    return job_manager_->jobs().find(job)->master->history().failures().front().cause.message();
  };
  const auto process_ended = [&](const std::string& host) {
    proto::Envelope envelope;
    envelope.mutable_process_ended()->set_host_id(host);
    envelope.mutable_process_ended()->set_pid(0);  // As registered.
    envelope.mutable_process_ended()->set_how("exit code 3");
    auto supervisor = client();
    supervisor->send(envelope);
    return supervisor->take_last().process_ended_reply().was_here();
  };
  auto user = client();
  auto first = task_manager(1);
  const JobId ended = submit(*user);
  first->close();
  EXPECT_EQ(state_of(ended), JobState::kRunning);
  EXPECT_FALSE(process_ended("another host"));
  EXPECT_EQ(state_of(ended), JobState::kRunning);
  EXPECT_TRUE(process_ended("host"));
  EXPECT_EQ(state_of(ended), JobState::kFailed);
  EXPECT_THAT(cause_of(ended), HasSubstr("was lost: its process ended: exit code 3"));
  EXPECT_FALSE(process_ended("host"));

  start({"restart-strategy.type=none"}, 500ms);
  user = client();
  auto second = task_manager(2);
  const JobId unexplained = submit(*user);
  second->close();
  executor_.advance(499ms);
  EXPECT_EQ(state_of(unexplained), JobState::kRunning);
  executor_.advance(1ms);
  EXPECT_EQ(state_of(unexplained), JobState::kFailed);
  EXPECT_THAT(cause_of(unexplained), HasSubstr("was lost: the connection was closed"));
}

TEST_F(JobManagerTest, TheNextTaskManagerCleansUpWhatTheLastOneLeftBeforeItGetsAJob) {
  start({"restart-strategy.type=none"});
  auto lost = task_manager(1);
  auto user = client();
  const JobId id = submit(*user);
  lost->close();
  EXPECT_EQ(state_of(id), JobState::kFailed);
  EXPECT_FALSE(get(*user, id).job().tidying());  // Nobody can do it now.
  const JobId waits = submit(*user);
  auto next = greeted_task_manager(2);
  EXPECT_EQ(clean_ups(*next), std::vector<JobId>{id});
  EXPECT_TRUE(get(*user, id).job().tidying());
  released(*next, id);  // Of the release before, which says nothing of the clean-up.
  EXPECT_EQ(state_of(waits), JobState::kCreated);
  released(*next, id, true);
  EXPECT_FALSE(get(*user, id).job().tidying());
  EXPECT_EQ(state_of(waits), JobState::kRunning);
  auto third = greeted_task_manager(3);
  EXPECT_TRUE(clean_ups(*third).empty());
}

TEST_F(JobManagerTest, AnotherTaskManagerCleansUpWhenTheOneThatWasToldToGoesToo) {
  auto first = task_manager(1);
  auto second = task_manager(2);
  auto user = client();
  const JobId id = submit(*user);
  const auto on_first = deployment(*first);
  const auto on_second = deployment(*second);
  report(*first, on_first, TaskState::kEndOfData);
  report(*second, on_second, TaskState::kEndOfData);
  ASSERT_EQ(state_of(id), JobState::kFinished);
  released(*first, id);
  EXPECT_TRUE(clean_ups(*first).empty());
  second->close();
  EXPECT_EQ(clean_ups(*first), std::vector<JobId>{id});
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 0u);
  first->close();
  auto third = greeted_task_manager(3);
  EXPECT_EQ(clean_ups(*third), std::vector<JobId>{id});
  released(*third, id, true);
  EXPECT_EQ(job_manager_->jobs().resources().free_count(), 2u);
}

TEST_F(JobManagerTest, JobWithoutSlotsSaysWhatItNeedsAndFails) {
  auto user = client();
  const JobId id = submit(*user);
  EXPECT_EQ(get(*user, id).job().waiting_for(), "2 slots, the cluster has 0");
  executor_.advance(10s);
  const auto reply = get(*user, id);
  EXPECT_EQ(reply.job().state(), static_cast<uint32_t>(JobState::kFailed));
  EXPECT_THAT(reply.job().cause().message(), HasSubstr("needs 2 slots, the cluster has 0"));
}

TEST_F(JobManagerTest, CancelsAJobAndListsIt) {
  auto user = client();
  const JobId id = submit(*user);
  proto::Envelope envelope;
  fill(envelope.mutable_cancel_job()->mutable_job(), id);
  user->send(envelope);
  EXPECT_EQ(user->take_last().cancel_job_reply().status().code(), 0u);
  user->send(envelope);
  EXPECT_THAT(user->take_last().cancel_job_reply().status().message(), HasSubstr("ended already"));
  proto::Envelope list;
  list.mutable_list_jobs();
  user->send(list);
  const auto jobs = user->take_last().list_jobs_reply();
  ASSERT_EQ(jobs.jobs_size(), 1);
  EXPECT_EQ(jobs.jobs(0).state(), static_cast<uint32_t>(JobState::kCanceled));
}

TEST_F(JobManagerTest, AWallClockThatJumpsChangesNoTimeoutAndNoDuration) {
  constexpr EpochMillis kDay = 24 * 60 * 60 * 1000;
  for (const EpochMillis jump : {-kDay, kDay}) {
    auto user = client();
    const JobId id = submit(*user);
    executor_.advance(4s);
    wall_.jump(jump);
    executor_.advance(5s);
    EXPECT_EQ(get(*user, id).job().waiting_for(), "2 slots, the cluster has 0");
    executor_.advance(2s);  // The slot timeout is 10 s.
    const auto job = get(*user, id).job();
    EXPECT_EQ(job.state(), static_cast<uint32_t>(JobState::kFailed));
    EXPECT_EQ(job.ended_epoch_ms() - job.submitted_epoch_ms(), 10'000);
  }
}

TEST_F(JobManagerTest, RefusesWrongRequestsOfClientsAndKeepsThem) {
  auto user = client();
  EXPECT_EQ(get(*user, JobId{1, 2}).status().code(), static_cast<uint32_t>(StatusCode::kNotFound));
  user->send(submission());  // Without its module.
  EXPECT_THAT(user->take_last().submit_job_reply().status().message(), HasSubstr("no module"));
  put_module(*user);
  proto::Envelope broken = submission();
  broken.mutable_submit_job()->mutable_graph()->mutable_edges(0)->set_consumer(9);
  user->send(broken);
  EXPECT_NE(user->take_last().submit_job_reply().status().code(), 0u);
  proto::Envelope settings = submission();
  (*settings.mutable_submit_job()
        ->mutable_build()
        ->mutable_configuration())["restart-strategy.type"] = "sometimes";
  user->send(settings);
  EXPECT_THAT(user->take_last().submit_job_reply().status().message(), HasSubstr("sometimes"));
  proto::Envelope huge = submission();
  huge.mutable_submit_job()->mutable_graph()->mutable_vertices(0)->set_parallelism(1u << 31);
  user->send(huge);
  EXPECT_NE(user->take_last().submit_job_reply().status().code(), 0u);
  EXPECT_FALSE(user->closed());
  EXPECT_TRUE(job_manager_->jobs().jobs().empty());
}

TEST_F(JobManagerTest, RefusesAJobThatNoDeploymentCouldCarry) {
  auto user = client();
  put_module(*user);
  proto::Envelope large = submission();
  BuildOptions build;
  build.arguments = {std::string(JobDispatcher::kInformationBytesMax, 'x')};
  to_proto(build, large.mutable_submit_job()->mutable_build());
  user->send(large);
  const proto::SubmitJobReply reply = user->take_last().submit_job_reply();
  EXPECT_EQ(reply.status().code(), static_cast<uint32_t>(StatusCode::kInvalidArgument));
  EXPECT_THAT(reply.status().message(), HasSubstr("at most 16777216 are allowed"));
  EXPECT_FALSE(user->closed());
  EXPECT_TRUE(job_manager_->jobs().jobs().empty());
}

TEST_F(JobManagerTest, SaysThatAnAnswerIsTooLargeInsteadOfSendingIt) {
  constexpr uint32_t kJobs = 1000;
  start({"restart-strategy.type=fixed-delay", "restart-strategy.fixed-delay.delay=1 h"});
  auto worker = task_manager(1, 2 * kJobs);
  auto user = client();
  put_module(*user);
  for (uint32_t i = 0; i < kJobs; i++) {
    proto::Envelope job = submission();
    job.mutable_submit_job()->set_name(std::string(4096, 'n'));
    user->send(job);
    EXPECT_EQ(user->take_last().submit_job_reply().status().message(), "");
    proto::Envelope failed;
    proto::TaskStateChanged* state = failed.mutable_task_state_changed();
    *state->mutable_attempt() = deployment(*worker).tasks(0).attempt();
    state->set_state(static_cast<uint32_t>(TaskState::kFailed));
    state->mutable_cause()->set_code(static_cast<uint32_t>(StatusCode::kInternal));
    state->mutable_cause()->set_message(std::string(64 << 10, 'x'));
    worker->send(failed);
  }
  proto::Envelope list;
  list.set_request_id(7);
  list.mutable_list_jobs();
  user->send(list);
  const proto::Envelope answer = user->take_last();
  EXPECT_EQ(answer.request_id(), 7u);
  EXPECT_THAT(answer.error_reply().status().message(), HasSubstr("at most 67108864 can be sent"));
  EXPECT_FALSE(user->closed());
}

TEST_F(JobManagerTest, ShowsTheCluster) {
  auto worker = task_manager(7, 3);
  auto user = client();
  proto::Envelope envelope;
  envelope.mutable_get_cluster();
  user->send(envelope);
  const auto cluster = user->take_last().get_cluster_reply();
  ASSERT_EQ(cluster.task_managers_size(), 1);
  EXPECT_EQ(cluster.task_managers(0).slots_free(), 3u);
  EXPECT_EQ(cluster.task_managers(0).data_address(), "127.0.0.1:4007");
}

TEST_F(JobManagerTest, TakesNoJobWhenSubmissionIsOff) {
  start({"jobmanager.submit.enable=false"});
  const auto user = client();
  proto::Envelope blob;
  blob.set_request_id(7);
  blob.mutable_put_blob()->set_hash("0123");
  user->send(blob);
  const proto::Envelope no_module = user->take_last();
  EXPECT_EQ(no_module.request_id(), 7u);
  EXPECT_THAT(no_module.error_reply().status().message(),
              HasSubstr("takes no jobs: jobmanager.submit.enable is false"));
  user->send(submission());
  EXPECT_THAT(user->take_last().submit_job_reply().status().message(),
              HasSubstr("takes no jobs: jobmanager.submit.enable is false"));
  proto::Envelope list;
  list.mutable_list_jobs();
  user->send(list);
  EXPECT_EQ(user->take_last().list_jobs_reply().jobs_size(), 0);
}

TEST_F(JobManagerTest, GivesABlobInChunks) {
  auto peer = connect();
  peer->hello(proto::Hello::BLOB_CLIENT);
  put_module(*peer);
  proto::Envelope envelope;
  envelope.set_request_id(5);
  envelope.mutable_get_blob()->set_hash(content_hash(kModule));
  peer->send(envelope);
  const proto::Envelope chunk = peer->take_last();
  EXPECT_EQ(chunk.request_id(), 5u);
  EXPECT_EQ(chunk.blob_chunk().data(), kModule);
  EXPECT_TRUE(chunk.blob_chunk().last());
  envelope.mutable_get_blob()->set_hash("../secret");
  peer->send(envelope);
  EXPECT_EQ(peer->take_last().blob_chunk().status().code(),
            static_cast<uint32_t>(StatusCode::kNotFound));
}

TEST_F(JobManagerTest, RefusesSettingsThatMakeNoSense) {
  JobManager::Options options;
  options.bind = Address{"127.0.0.1", 0};
  ASSERT_TRUE(options.configuration.set("heartbeat.timeout", "1 ms").ok());
  JobManager broken(options, transport_, executor_, executor_, clock_, *random_, files_, *faults_);
  EXPECT_EQ(broken.start().status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace freshet
