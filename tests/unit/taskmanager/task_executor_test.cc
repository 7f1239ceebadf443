#include "taskmanager/task_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/provoked_failure.h"
#include "tests/unit/taskmanager/task_executor_fixture.h"

namespace freshet {
namespace {

using taskmanager_test::attempt_of;
using taskmanager_test::kJob;
using taskmanager_test::kModule;
using taskmanager_test::TaskExecutorTest;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(TaskExecutorTest, TellsWhatItsTasksDoWithHeartbeatsAndToTheRegistry) {
  EXPECT_TRUE(metrics_.read(clock_.now()).empty());
  deploy();
  settle();
  const proto::Heartbeat& heartbeat = manager_.heartbeat;
  EXPECT_EQ(heartbeat.status().threads(), 7u);
  ASSERT_EQ(heartbeat.progress_size(), 2);
  EXPECT_GT(heartbeat.progress(0).source_records() + heartbeat.progress(1).records_in(), 0u);
  for (const proto::TaskProgress& task : heartbeat.progress()) {
    // Steps take no time here.
    EXPECT_NEAR(task.gauges().idle_per_second(), 1000, 1);
    EXPECT_EQ(task.gauges().busy_per_second(), 0);
  }
  EXPECT_GT(heartbeat.progress(1).gauges().records_in_per_second(), 0);

  const std::vector<MetricGroupReading> groups = metrics_.read(clock_.now());
  std::vector<MetricScope> scopes;
  for (const MetricGroupReading& group : groups) scopes.push_back(group.scope);
  EXPECT_THAT(scopes, ElementsAre(MetricScope::kTask, MetricScope::kOperator, MetricScope::kTask,
                                  MetricScope::kOperator));
  for (const MetricGroupReading& group : groups) {
    EXPECT_EQ(group.labels[1], std::pair(std::string("tm_id"), std::string("77")));
    EXPECT_EQ(group.labels[2], std::pair(std::string("job_id"), kJob.to_string()));
  }
  const MetricReading& records_in = groups[2].metrics.front();
  EXPECT_EQ(records_in.name, "numRecordsIn");
  EXPECT_EQ(records_in.value, static_cast<double>(heartbeat.progress(1).records_in()));
  cancel();
  EXPECT_TRUE(metrics_.read(clock_.now()).empty());
}

TEST_F(TaskExecutorTest, RunsAJobFromDeploymentToItsRelease) {
  std::vector<uint64_t> received;
  std::vector<std::string> log;
  script_->received = &received;
  script_->log = &log;
  script_->committables = {"result"};
  deploy();
  EXPECT_EQ(received.size(), 100u);
  EXPECT_EQ(manager_.states().size(), 6u);
  EXPECT_THAT(manager_.states(), Contains("0/0#0 END_OF_DATA"));
  const proto::TaskStateChanged* end = manager_.last(TaskState::kEndOfData);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(from_proto(end->attempt()), attempt_of(1));
  ASSERT_EQ(end->committables_size(), 1);
  EXPECT_EQ(end->stored_size(), 0);
  EXPECT_EQ(end->progress().records_in(), 100u);
  EXPECT_EQ(executor_->free_slots(), 1u);

  tell([&](proto::Envelope& envelope) {
    envelope.mutable_commit()->set_commit_id(9);
    taskmanager_test::fill_job(envelope.mutable_commit()->mutable_job());
    *envelope.mutable_commit()->add_committables() = end->committables(0);
  });
  ASSERT_TRUE(manager_.received.back().has_commit_done());
  EXPECT_EQ(manager_.received.back().commit_done().commit_id(), 9u);
  EXPECT_EQ(manager_.received.back().commit_done().status().code(), 0u);

  tell([](proto::Envelope& envelope) {
    for (uint32_t vertex : {0, 1})
      to_proto(attempt_of(vertex), envelope.mutable_finish_tasks()->add_attempts());
  });
  EXPECT_THAT(manager_.states(), Contains("1/0#0 FINISHED"));
  EXPECT_EQ(executor_->free_slots(), 2u);
  EXPECT_TRUE(files_.files().contains(module_path()));

  release();
  EXPECT_TRUE(manager_.received.back().has_job_released());
  EXPECT_THAT(log, ElementsAre("commit result", "clean up"));
  EXPECT_THAT(files_.files(), ElementsAre(Pair(module_path(), _)));  // The code stays loaded.
  destroy();
  EXPECT_THAT(files_.files(), IsEmpty());
}

TEST_F(TaskExecutorTest, TellsTheHashOfWhatATaskStoredAtTheEndOfItsData) {
  std::vector<uint64_t> hashes;
  for (const uint64_t records : {100u, 100u, 101u}) {
    script_->records = records;
    const auto attempt = static_cast<AttemptNumber>(hashes.size());
    proto::Envelope producer =
        taskmanager_test::deployment(TaskManagerId{77}, shuffle_->data_address(), attempt);
    proto::DeployTasks* deploy = producer.mutable_deploy_tasks();
    deploy->mutable_tasks()->RemoveLast();
    JobGraph graph = taskmanager_test::job_graph();
    graph.edges[0].exchange = Exchange::kBlocking;
    to_proto(graph, deploy->mutable_job()->mutable_graph());
    manager_.send(producer);
    settle();
    const proto::TaskStateChanged* end = manager_.last(TaskState::kEndOfData);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(from_proto(end->attempt()), attempt_of(0, attempt));
    ASSERT_EQ(end->stored_size(), 1);
    EXPECT_EQ(end->stored(0).dataset(), 0u);
    hashes.push_back(end->stored(0).hash());
    tell([&](proto::Envelope& envelope) {
      to_proto(attempt_of(0, attempt), envelope.mutable_finish_tasks()->add_attempts());
    });
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[1], hashes[2]);
  release();
}

TEST_F(TaskExecutorTest, TasksToldToFinishAreNotCanceledByTheRelease) {
  deploy();
  proto::Envelope finish;
  for (uint32_t vertex : {0, 1})
    to_proto(attempt_of(vertex), finish.mutable_finish_tasks()->add_attempts());
  manager_.send(finish);
  release();
  EXPECT_THAT(manager_.states(), Contains("0/0#0 FINISHED"));
  EXPECT_THAT(manager_.states(), Contains("1/0#0 FINISHED"));
  EXPECT_TRUE(manager_.received.back().has_job_released());
  EXPECT_EQ(executor_->free_slots(), 2u);
}

TEST_F(TaskExecutorTest, ReleaseCancelsTasksThatWereNotToldToFinish) {
  script_->endless = true;
  deploy();
  release();
  EXPECT_THAT(manager_.states(), Contains("1/0#0 CANCELED"));
  EXPECT_TRUE(manager_.received.back().has_job_released());
}

TEST_F(TaskExecutorTest, EveryTaskDoesTheSameWhenExecutedAgain) {
  deploy();
  cancel();
  ASSERT_EQ(recorder_.recordings().size(), 2u);
  const auto built = (*loader_.load("again"))->build({});
  for (const auto& [attempt, recording] : recorder_.recordings()) {
    const Status status =
        verify_recording(*recording, taskmanager_test::job_graph(), *built, files_);
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_GT(recording->decisions.decisions(), 1u);
  }
}

TEST_F(TaskExecutorTest, WakesASourceWhenItsTimeHasCome) {
  std::vector<uint64_t> received;
  script_->received = &received;
  script_->records = 1000;
  script_->pause = 10'000;
  deploy();
  EXPECT_THAT(received, ElementsAre(0));
  main_.advance(10s);
  EXPECT_THAT(received, ElementsAre(0, 1));
  main_.advance(100s);
  EXPECT_EQ(received.size(), 12u);
  cancel();
  main_.advance(100s);  // A timer that nobody waits for any more.
  EXPECT_EQ(received.size(), 12u);
  for (const auto& [attempt, recording] : recorder_.recordings()) {
    const auto built = (*loader_.load("again"))->build({});
    EXPECT_TRUE(verify_recording(*recording, taskmanager_test::job_graph(), *built, files_).ok());
  }
}

TEST_F(TaskExecutorTest, CancelsAndRunsTheNextAttemptWithTheSameModule) {
  script_->endless = true;
  deploy();
  EXPECT_THAT(manager_.states(), Contains("1/0#0 RUNNING"));
  cancel();
  EXPECT_EQ(manager_.states().back().substr(6), "CANCELED");
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
  deploy(1);
  EXPECT_THAT(manager_.states(), Contains("0/0#1 RUNNING"));
  EXPECT_EQ(manager_.blobs_sent, 1);
  EXPECT_EQ(loader_.loaded.size(), 1u);
}

TEST_F(TaskExecutorTest, ReportsTheOperatorThatThrew) {
  script_->on_record = [] { throw std::runtime_error("no"); };
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->operator_name(), "sink");
  EXPECT_EQ(from_proto(failed->cause()).code(), StatusCode::kUserError);
}

TEST_F(TaskExecutorTest, SaysWhateverAnOperatorThrew) {
  const std::string thrown = "no number: \xff\xfe" + std::string(70 << 20, 'x');
  script_->on_record = [&] { throw std::runtime_error(thrown); };
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->cause().message(), HasSubstr("no number: \xff\xfexxx"));
  EXPECT_LE(failed->cause().message().size(), 64u << 10);
  EXPECT_EQ(manager_.registrations, 1);
}

TEST_F(TaskExecutorTest, FailsATaskThatLeavesMoreToBePublishedThanAMessageHolds) {
  script_->committables = {std::string(20 << 20, 'a'), std::string(20 << 20, 'b')};
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(from_proto(failed->attempt()), attempt_of(1));
  EXPECT_EQ(from_proto(failed->cause()).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(failed->cause().message(),
              HasSubstr("leaves 41943040 bytes to be published; at most 33554432"));
  EXPECT_EQ(manager_.registrations, 1);
  EXPECT_FALSE(executor_->hosted_tasks() == 2);
}

TEST_F(TaskExecutorTest, RefusesABuilderThatBuildsDifferently) {
  script_->built_differently = 1;
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(from_proto(failed->cause()).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(failed->cause().message(), HasSubstr("fingerprint"));
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
}

TEST_F(TaskExecutorTest, ChecksASinkWhenItsDeploymentSaysSo) {
  script_->check = already_exists("/out exists");
  script_->endless = true;
  const std::string refused = invalid_argument("operator 'sink': /out exists").to_string();
  for (const AttemptNumber attempt : {0u, 1u}) {
    deploy(attempt, true);
    EXPECT_THAT(manager_.states(),
                Contains("1/0#" + std::to_string(attempt) + " FAILED: " + refused));
    cancel(attempt);
  }
  deploy(2, false);
  EXPECT_THAT(manager_.states(), Contains("1/0#2 RUNNING"));
}

TEST_F(TaskExecutorTest, ChecksAgainWhatMayHelpWhenTriedAgain) {
  script_->check = resource_exhausted("/out: no space left on device");
  script_->endless = true;
  deploy(0, true);
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(from_proto(failed->cause()),
            resource_exhausted("operator 'sink': /out: no space left on device"));
  cancel();
  script_->check = Status();
  deploy(1, true);
  EXPECT_THAT(manager_.states(), Contains("1/0#1 RUNNING"));
}

TEST_F(TaskExecutorTest, BuildsAJobOnce) {
  script_->endless = true;
  deploy();
  cancel();
  deploy(1);
  EXPECT_THAT(manager_.states(), Contains("1/0#1 RUNNING"));
  EXPECT_EQ(script_->builds, 1u);
}

TEST_F(TaskExecutorTest, FailsTasksWhoseModuleIsNotThere) {
  manager_.blobs.clear();
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->cause().message(), HasSubstr("no such blob"));
}

TEST_F(TaskExecutorTest, FailsAllTasksWhenThereIsTooLittleMemoryForThemTogether) {
  std::vector<std::shared_ptr<ResultPartition>> others;
  for (uint32_t producer = 0; producer < 32; producer++) {
    ResultPartition::Options options;
    options.job = kJob;
    options.dataset = DatasetId{9};
    options.producer = producer;
    options.subpartitions = 1000;
    others.push_back(*shuffle_->create_partition(options));
  }
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->cause().message(),
              HasSubstr("memory for buffers: 2097152 bytes are needed, and there are 1048576"));
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
  for (const auto& other : others) other->release();
  deploy(1);
  EXPECT_NE(manager_.last(TaskState::kEndOfData), nullptr);
}

TEST_F(TaskExecutorTest, FailsTasksWhoseModuleIsDamaged) {
  manager_.blobs[content_hash(kModule)] = "other bytes";
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(from_proto(failed->cause()).code(), StatusCode::kDataLoss);
  EXPECT_THAT(loader_.loaded, IsEmpty());
}

TEST_F(TaskExecutorTest, CancelsATaskThatWaitsForItsModule) {
  manager_.send(taskmanager_test::deployment(TaskManagerId{77}, shuffle_->data_address()));
  proto::Envelope envelope;
  for (uint32_t vertex : {0, 1})
    to_proto(attempt_of(vertex), envelope.mutable_cancel_tasks()->add_attempts());
  manager_.send(envelope);
  settle();
  EXPECT_THAT(manager_.states(), ElementsAre("0/0#0 CANCELING", "0/0#0 CANCELED", "1/0#0 CANCELING",
                                             "1/0#0 CANCELED"));
}

TEST_F(TaskExecutorTest, ReportsACommitThatFails) {
  script_->commit = resource_exhausted("/out/part-0: no space");
  tell([&](proto::Envelope& envelope) {
    envelope.mutable_commit()->set_commit_id(3);
    taskmanager_test::fill_job(envelope.mutable_commit()->mutable_job());
    auto* committable = envelope.mutable_commit()->add_committables();
    committable->set_operator_id(taskmanager_test::logical_graph().operators[1].id.value);
  });
  ASSERT_TRUE(manager_.received.back().has_commit_done());
  EXPECT_THAT(manager_.received.back().commit_done().status().message(), HasSubstr("no space"));
}

TEST_F(TaskExecutorTest, HasATaskFailAsItIsTold) {
  deploy();
  const auto provoke = [&](const AttemptId& attempt, uint32_t failure) {
    tell([&](proto::Envelope& envelope) {
      to_proto(attempt, envelope.mutable_provoke_failure()->mutable_attempt());
      envelope.mutable_provoke_failure()->set_failure(failure);
    });
  };
  AttemptId gone = attempt_of(1);
  gone.attempt = 7;
  provoke(gone, 1);  // Nothing happens.
  EXPECT_EQ(manager_.last(TaskState::kFailed), nullptr);
  provoke(attempt_of(1), static_cast<uint32_t>(ProvokedFailure::kException));
  ASSERT_NE(manager_.last(TaskState::kFailed), nullptr);
  EXPECT_THAT(manager_.last(TaskState::kFailed)->cause().message(),
              HasSubstr("asked for by 'freshet fail'"));
  provoke(attempt_of(0), 256 + 1);
  EXPECT_EQ(manager_.registrations, 2);  // That closed the connection.
}

TEST_F(TaskExecutorTest, AnswersTheReleaseOfAJobThatItNeverHad) {
  release();
  EXPECT_TRUE(manager_.received.back().has_job_released());
  EXPECT_FALSE(manager_.received.back().job_released().cleaned_up());
}

TEST_F(TaskExecutorTest, CleansUpAJobThatItNeverHadWhenItIsToldTo) {
  std::vector<std::string> log;
  script_->log = &log;
  manager_.send(clean_up_order());
  settle();
  EXPECT_THAT(log, ElementsAre("clean up"));
  ASSERT_TRUE(manager_.received.back().has_job_released());
  EXPECT_TRUE(manager_.received.back().job_released().cleaned_up());
  EXPECT_THAT(files_.files(), ElementsAre(Pair(module_path(), _)));
}

TEST_F(TaskExecutorTest, CleansUpAllOfAJobThatItIsReleasingAlready) {
  std::vector<std::string> log;
  script_->log = &log;
  deploy();
  cancel();
  proto::Envelope envelope;
  to_proto(kJob, envelope.mutable_release_job()->mutable_job());
  manager_.send(envelope);
  manager_.send(clean_up_order());
  settle();
  ASSERT_TRUE(manager_.received.back().has_job_released());
  EXPECT_TRUE(manager_.received.back().job_released().cleaned_up());
  EXPECT_FALSE(log.empty());
  EXPECT_THAT(files_.files(), ElementsAre(Pair(module_path(), _)));
}

TEST_F(TaskExecutorTest, AnswersAnOrderToCleanUpThatItCannotCarryOut) {
  manager_.blobs.clear();
  manager_.send(clean_up_order());
  settle();
  ASSERT_TRUE(manager_.received.back().has_job_released());
  EXPECT_TRUE(manager_.received.back().job_released().cleaned_up());
}

TEST_F(TaskExecutorTest, ClosesTheConnectionForACleanUpOfAnotherJob) {
  proto::Envelope envelope = clean_up_order();
  envelope.mutable_release_job()->mutable_job()->set_low(1);
  manager_.send(envelope);
  settle();
  EXPECT_EQ(manager_.registrations, 2);
}

}  // namespace
}  // namespace freshet
