#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/log.h"
#include "taskmanager/task_executor.h"
#include "tests/unit/taskmanager/task_executor_fixture.h"

namespace freshet {
namespace {

using taskmanager_test::attempt_of;
using taskmanager_test::kJob;
using taskmanager_test::TaskExecutorTest;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(TaskExecutorTest, RegistersAndSendsHeartbeats) {
  EXPECT_EQ(manager_.registrations, 1);
  EXPECT_TRUE(executor_->registered());
  main_.advance(3500ms);
  EXPECT_EQ(manager_.heartbeats, 3);
}

TEST_F(TaskExecutorTest, AnnouncesBothAddressesOfItsData) {
  EXPECT_EQ(manager_.registration.data_host(), "127.0.0.1");
  EXPECT_EQ(manager_.registration.data_port(), shuffle_->data_address().port);
  EXPECT_EQ(manager_.registration.unix_address(), "unix:@data");
}

/// Others reach its data through another port than the one that it has bound.
class ProxiedTaskExecutorTest : public TaskExecutorTest {
 protected:
  ProxiedTaskExecutorTest() : TaskExecutorTest("127.0.0.1", 4711) {}
};

TEST_F(ProxiedTaskExecutorTest, AnnouncesThePortThatOthersReachAndNoWayPastIt) {
  EXPECT_EQ(manager_.registration.data_host(), "127.0.0.1");
  EXPECT_EQ(manager_.registration.data_port(), 4711u);
  EXPECT_EQ(manager_.registration.unix_address(), "");
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

TEST_F(TaskExecutorTest, SaysThatItCrashesAndNothingElseAfterThat) {
  deploy();
  CrashReport crash;
  crash.reason = "SIGSEGV at address 0x0";
  crash.job = kJob;
  crash.attempt = attempt_of(1);
  crash.position = 1;
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
  EXPECT_EQ(message.position(), 1u);
  settle();
  EXPECT_EQ(manager_.registrations, 1);
}

/// A thread that users started has no name of a job, but its code is that of a module.
TEST_F(TaskExecutorTest, AttributesACrashToTheJobOfTheModule) {
  deploy();
  CrashReport crash;
  crash.reason = "SIGSEGV at address 0x0";
  crash.culprit_object = module_path();
  main_.post("crash", [&] { executor_->report_crash(crash, [] {}); });
  main_.run_ready();
  const proto::TaskManagerCrashes& message = manager_.received.back().task_manager_crashes();
  EXPECT_EQ(from_proto(message.job()), kJob);
  EXPECT_FALSE(message.has_attempt());
  EXPECT_EQ(message.code_name(), "a thread of its own");
}

TEST_F(TaskExecutorTest, AttributesNoCrashOfOtherCode) {
  deploy();
  CrashReport crash;
  crash.culprit_object = "/state/modules/other.so";
  main_.post("crash", [&] { executor_->report_crash(crash, [] {}); });
  main_.run_ready();
  EXPECT_FALSE(manager_.received.back().task_manager_crashes().has_job());
}

/// Sent on a connection that was given up; it must not take the place of a later one.
TEST_F(TaskExecutorTest, NumbersItsRegistrations) {
  EXPECT_EQ(manager_.registration.number(), 1u);
  manager_.answer_registrations = false;
  manager_.drop();
  main_.advance(16s);
  EXPECT_EQ(manager_.registrations, 4);
  EXPECT_EQ(manager_.registration.number(), 4u);
  EXPECT_FALSE(executor_->registered());
  manager_.answer_registrations = true;
  main_.advance(11s);
  EXPECT_TRUE(executor_->registered());
  EXPECT_EQ(manager_.registration.number(), 5u);
}

TEST_F(TaskExecutorTest, WhatIsDoubledOrOfAnOlderAttemptChangesNothing) {
  script_->endless = true;
  deploy();
  cancel();
  cancel();
  deploy(1);
  cancel(0);
  EXPECT_EQ(executor_->hosted_tasks(), 2u);
  tell([](proto::Envelope& envelope) {
    for (uint32_t vertex : {0, 1})
      to_proto(attempt_of(vertex, 0), envelope.mutable_finish_tasks()->add_attempts());
  });
  EXPECT_EQ(manager_.states().back(), "1/0#1 RUNNING");
  release();
  release();
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
  EXPECT_EQ(executor_->free_slots(), 2u);
  EXPECT_EQ(manager_.registrations, 1);
  EXPECT_EQ(std::count_if(manager_.received.begin(), manager_.received.end(),
                          [](const proto::Envelope& one) { return one.has_job_released(); }),
            2);
}

TEST_F(TaskExecutorTest, AnAttemptThatIsDeployedTwiceRunsOnce) {
  script_->endless = true;
  deploy();
  const size_t states = manager_.states().size();
  deploy();
  EXPECT_EQ(manager_.registrations, 1);
  EXPECT_EQ(executor_->hosted_tasks(), 2u);
  EXPECT_EQ(manager_.states().size(), states);
}

TEST_F(TaskExecutorTest, ADeploymentThatComesLateStartsNothing) {
  script_->endless = true;
  deploy();
  cancel();
  const size_t states = manager_.states().size();
  deploy();
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
  EXPECT_EQ(manager_.states().size(), states);
  deploy(1);
  deploy(0);
  EXPECT_EQ(executor_->hosted_tasks(), 2u);
  EXPECT_EQ(manager_.states().back(), "1/0#1 RUNNING");
  release();
  deploy(1);
  tell([](proto::Envelope& envelope) {
    to_proto(kJob, envelope.mutable_deploy_tasks()->mutable_known_job());
  });
  EXPECT_EQ(executor_->hosted_tasks(), 0u);
  EXPECT_EQ(manager_.registrations, 1);
}

/// A request to publish that comes when the job is released was answered before.
TEST_F(TaskExecutorTest, ARequestToPublishThatComesLatePublishesNothing) {
  script_->endless = true;
  deploy();
  release();
  const size_t received = manager_.received.size();
  tell([](proto::Envelope& envelope) {
    envelope.mutable_commit()->set_commit_id(9);
    taskmanager_test::fill_job(envelope.mutable_commit()->mutable_job());
  });
  EXPECT_TRUE(std::none_of(manager_.received.begin() + static_cast<ptrdiff_t>(received),
                           manager_.received.end(),
                           [](const proto::Envelope& one) { return one.has_commit_done(); }));
  EXPECT_EQ(manager_.registrations, 1);
}

TEST_F(TaskExecutorTest, TheNextSessionIsToldItsAttemptsAnew) {
  script_->endless = true;
  deploy(3);
  manager_.drop();
  settle();
  EXPECT_EQ(manager_.registrations, 2);
  deploy(0);
  EXPECT_EQ(executor_->hosted_tasks(), 2u);
}

}  // namespace
}  // namespace freshet
