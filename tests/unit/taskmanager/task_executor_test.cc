#include "taskmanager/task_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/local_transport.h"
#include "runtime/base/log.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/task/executor_task_runner.h"
#include "runtime/task/replay.h"
#include "tests/unit/taskmanager/deployments.h"
#include "tests/unit/taskmanager/scripted_job_manager.h"

namespace freshet {
namespace {

using taskmanager_test::attempt_of;
using taskmanager_test::JobScript;
using taskmanager_test::kJob;
using taskmanager_test::kModule;
using taskmanager_test::ScriptedJobManager;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// A TaskExecutor and a scripted JobManager in one thread, over the in-process transport and the
/// real data plane.
class TaskExecutorTest : public ::testing::Test {
 protected:
  explicit TaskExecutorTest(const std::string& bind_host = "127.0.0.1") {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{77};
    options.bind = Address{bind_host, 0};
    options.unix_bind = Address::parse("unix:@data").value();
    options.pool_bytes = 1 << 20;
    auto shuffle = ShuffleEnvironment::create(options, transport_);
    EXPECT_TRUE(shuffle.ok()) << shuffle.status().to_string();
    shuffle_ = std::move(shuffle).value();
    manager_.blobs[content_hash(kModule)] = kModule;
    TaskExecutor::Options task_executor;
    task_executor.id = TaskManagerId{77};
    task_executor.slots = 2;
    task_executor.job_manager = manager_.address();
    task_executor.state_directory = "/state";
    task_executor.channel_hash = true;
    task_executor.labels = {{"host", "here"}, {"tm_id", "77"}};
    executor_ = std::make_unique<TaskExecutor>(
        task_executor,
        TaskExecutor::Environment{transport_, main_, tasks_, main_, loader_, files_, clock_,
                                  *random_, *shuffle_, nullptr, &recorder_,
                                  [this](const Status& status) { fatal_.push_back(status); },
                                  &metrics_, [] { return TaskManagerNumbers{{.threads = 7}}; }});
    main_.post("start", [this] { executor_->start(); });
    main_.run_ready();
  }

  ~TaskExecutorTest() override {
    destroy();
    shuffle_->shut_down();
    main_.run_ready();
    EXPECT_EQ(shuffle_->free_bytes(), shuffle_->total_bytes());
    shuffle_.reset();
  }

  void destroy() {
    if (!executor_) return;
    bool stopped = false;
    main_.post("stop", [&] { executor_->stop([&] { stopped = true; }); });
    settle();
    EXPECT_TRUE(stopped);
    main_.post("destroy", [&] { executor_.reset(); });
    main_.run_ready();
  }

  void settle() { main_.advance(2s); }
  void deploy(AttemptNumber attempt = 0, bool check = false) {
    manager_.send(
        taskmanager_test::deployment(TaskManagerId{77}, shuffle_->data_address(), attempt, check));
    settle();
  }
  template <class Fill>
  void tell(Fill fill) {
    proto::Envelope envelope;
    fill(envelope);
    manager_.send(envelope);
    settle();
  }
  void cancel(AttemptNumber attempt = 0) {
    tell([&](proto::Envelope& envelope) {
      for (uint32_t vertex : {0, 1})
        to_proto(attempt_of(vertex, attempt), envelope.mutable_cancel_tasks()->add_attempts());
    });
  }
  void release() {
    tell([](proto::Envelope& envelope) {
      to_proto(kJob, envelope.mutable_release_job()->mutable_job());
    });
  }
  static proto::Envelope clean_up_order() {
    proto::Envelope envelope;
    to_proto(kJob, envelope.mutable_release_job()->mutable_job());
    taskmanager_test::fill_job(envelope.mutable_release_job()->mutable_clean_up());
    return envelope;
  }
  std::string module_path() const { return "/state/modules/" + content_hash(kModule) + ".so"; }

  ManualClock clock_;
  ManualExecutor main_{clock_};
  LocalTransport transport_{main_};
  MemoryFileSystem files_;
  ExecutorTaskRunner tasks_{main_};
  std::unique_ptr<Random> random_ = make_seeded_random(5);
  std::shared_ptr<JobScript> script_ = std::make_shared<JobScript>();
  taskmanager_test::ScriptLoader loader_{script_};
  MemoryTaskRecorder recorder_;
  MetricRegistry metrics_;
  ScriptedJobManager manager_{transport_, main_, Address{"127.0.0.1", 0}};
  std::unique_ptr<ShuffleEnvironment> shuffle_;
  std::vector<Status> fatal_;
  std::unique_ptr<TaskExecutor> executor_;
};

TEST_F(TaskExecutorTest, RegistersAndSendsHeartbeats) {
  EXPECT_EQ(manager_.registrations, 1);
  EXPECT_TRUE(executor_->registered());
  main_.advance(3500ms);
  EXPECT_EQ(manager_.heartbeats, 3);
}

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

TEST_F(TaskExecutorTest, AnnouncesBothAddressesOfItsData) {
  EXPECT_EQ(manager_.registration.data_host(), "127.0.0.1");
  EXPECT_EQ(manager_.registration.data_port(), shuffle_->data_address().port);
  EXPECT_EQ(manager_.registration.unix_address(), "unix:@data");
}

/// Its data port is bound to all addresses of the machine.
class WildcardTaskExecutorTest : public TaskExecutorTest {
 protected:
  WildcardTaskExecutorTest() : TaskExecutorTest("0.0.0.0") {}
};

TEST_F(WildcardTaskExecutorTest, AnnouncesTheAddressOfItsControlConnection) {
  EXPECT_EQ(manager_.registration.data_host(), "127.0.0.1");
  EXPECT_EQ(manager_.registration.data_port(), shuffle_->data_address().port);
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

TEST_F(TaskExecutorTest, EndsItsTasksAndRegistersAnewWhenTheJobManagerIsLost) {
  script_->endless = true;
  deploy();
  EXPECT_EQ(executor_->hosted_tasks(), 2u);
  const size_t said = manager_.received.size();
  manager_.drop();
  settle();
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
  EXPECT_EQ(manager_.registrations, 2);
  EXPECT_TRUE(executor_->registered());
  EXPECT_EQ(manager_.received.size(),
            said);  // Nothing of the old registration is said in the new one.
}

TEST_F(TaskExecutorTest, CleansUpTheJobsOfAJobManagerThatIsGoneBeforeItOffersSlotsAgain) {
  std::vector<std::string> log;
  script_->log = &log;
  script_->endless = true;
  deploy();
  manager_.on_registration = [&] { log.push_back("registered"); };
  manager_.epoch++;
  manager_.drop();
  settle();
  EXPECT_THAT(log, ElementsAre("clean up", "registered"));
}

TEST_F(TaskExecutorTest, LeavesTheJobsOfAJobManagerThatItOnlyLostSightOfAlone) {
  std::vector<std::string> log;
  script_->log = &log;
  script_->endless = true;
  deploy();
  manager_.drop();
  settle();
  manager_.epoch++;
  manager_.drop();
  settle();
  EXPECT_EQ(manager_.registrations, 3);
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(TaskExecutorTest, TakesAJobManagerThatDoesNotAnswerForLost) {
  manager_.answer_heartbeats = false;
  main_.advance(12s);
  EXPECT_GE(manager_.registrations, 2);
}

TEST_F(TaskExecutorTest, GoesOnTryingLaterEachTime) {
  manager_.welcome = failed_precondition("security.secret differs");
  manager_.drop();
  main_.advance(60s);
  EXPECT_EQ(manager_.registrations, 1);
  manager_.welcome = Status();
  main_.advance(6s);
  EXPECT_EQ(manager_.registrations, 2);
}

TEST_F(TaskExecutorTest, TellsAJobManagerOfAnotherVersionFromItsOwnAndTriesItRarely) {
  for (const bool it_refuses : {false, true}) {
    SCOPED_TRACE(it_refuses);
    std::vector<std::string> lines;
    log_to_sink(
        [](void* to, LogLevel, std::string_view line) {
          static_cast<std::vector<std::string>*>(to)->emplace_back(line);
        },
        &lines);
    const int before = manager_.registrations;
    manager_.version = PeerVersion{"9.8.7", 42};
    if (it_refuses) manager_.welcome = failed_precondition("go away");
    manager_.drop();
    const int greetings = manager_.greetings;
    main_.advance(100s);
    EXPECT_EQ(manager_.greetings, greetings + 4);  // At once and then every 30 s.
    EXPECT_EQ(manager_.registrations, before);
    EXPECT_THAT(lines,
                Contains(HasSubstr("has version 9.8.7 (protocol 42), this TaskManager has")));
    manager_.version.reset();
    manager_.welcome = Status();
    main_.advance(31s);
    EXPECT_EQ(manager_.registrations, before + 1);
    log_to_sink(nullptr, nullptr);
  }
}

TEST_F(TaskExecutorTest, FetchesNoModuleFromAJobManagerOfAnotherVersion) {
  manager_.version = PeerVersion{"9.8.7", 42};
  deploy();
  const proto::TaskStateChanged* failed = manager_.last(TaskState::kFailed);
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->cause().message(), HasSubstr("has version 9.8.7 (protocol 42)"));
  EXPECT_EQ(manager_.blobs_sent, 0);
  manager_.version.reset();
}

TEST_F(TaskExecutorTest, ClosesTheConnectionAfterABadMessage) {
  for (const std::string& bytes : {std::string("\xff\xff\xff garbage"), std::string()}) {
    const int before = manager_.registrations;
    manager_.send_bytes(bytes);
    settle();
    EXPECT_EQ(manager_.registrations, before + 1);
  }
  proto::Envelope envelope =
      taskmanager_test::deployment(TaskManagerId{77}, shuffle_->data_address());
  envelope.mutable_deploy_tasks()->mutable_tasks(0)->mutable_attempt()->set_subtask(4000);
  const int before = manager_.registrations;
  manager_.send(envelope);
  settle();
  EXPECT_EQ(manager_.registrations, before + 1);
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

TEST_F(TaskExecutorTest, SaysThatItCrashesAndNothingElseAfterThat) {
  deploy();
  CrashReport crash;
  crash.reason = "SIGSEGV at address 0x0";
  crash.job = kJob;
  crash.attempt = attempt_of(1);
  crash.code_name = "sum \xff";  // Whatever it is, the message arrives.
  crash.frames = {"count()", "main"};
  crash.culprit = "count()";
  bool told = false;
  main_.post("crash", [&] { executor_->report_crash(crash, [&] { told = true; }); });
  main_.run_ready();
  EXPECT_TRUE(told);
  EXPECT_FALSE(manager_.connected());
  ASSERT_TRUE(manager_.received.back().has_task_manager_crashes());
  const proto::TaskManagerCrashes& message = manager_.received.back().task_manager_crashes();
  EXPECT_EQ(message.reason(), crash.reason);
  EXPECT_EQ(message.code_name(), crash.code_name);
  EXPECT_EQ(message.attempt().vertex(), 1u);
  EXPECT_EQ(message.frames_size(), 2);
  EXPECT_EQ(message.culprit(), "count()");
  settle();
  EXPECT_EQ(manager_.registrations, 1);
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
