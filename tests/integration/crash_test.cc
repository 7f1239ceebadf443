#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <tuple>

#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kExitOfSignal = 128;

std::vector<std::string> fragile(const std::string& how, const TemporaryDirectory& directory) {
  return {"--", "--how", how, "--output", directory / "out"};
}

std::vector<std::string> local(const std::string& how, const TemporaryDirectory& directory) {
  std::vector<std::string> command = {"run", "--local", job_module("fragile")};
  for (const std::string& word : fragile(how, directory)) command.push_back(word);
  return command;
}

class CrashTest : public ::testing::Test {
 protected:
  Outcome run(const std::string& how, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {job_module("fragile"), "-p", "2"};
    for (const std::string& word : fragile(how, directory_)) arguments.push_back(word);
    for (std::string& word : more) arguments.push_back(std::move(word));
    return run_freshet(cluster_.command("run", std::move(arguments)));
  }

  std::string logs() const { return cluster_.log("taskmanager-1") + cluster_.log("taskmanager-2"); }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
};

TEST_F(CrashTest, AnOperatorThatBringsItsTaskManagerDownThreeTimesFailsTheJob) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  const Outcome outcome = run("segfault");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(
      outcome.errors,
      AllOf(HasSubstr("operator 'fragile' in sequence -> fragile -> files ("),
            HasSubstr(") brought down taskmanager-"), HasSubstr(": SIGSEGV at address 0x10 in "),
            HasSubstr("go_wrong("), HasSubstr("fragile.cc:"),
            HasSubstr("(not restarted: it did so 3 times within an hour)"),
            HasSubstr("2 restarts")));
  EXPECT_THAT(logs(), AllOf(HasSubstr("process_crashes job="), HasSubstr("code=fragile"),
                            HasSubstr("crash_frame index=0 in=\"go_wrong("),
                            HasSubstr("freshet::StreamTask::step()")));
}

TEST_F(CrashTest, AJobThatCrashedOnceHasAllItsResultsOnce) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  const Outcome outcome = run("abort", {"--once", directory_ / "once"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("SIGABRT"), HasSubstr("1 restart")));
  std::vector<int64_t> numbers;
  for (const std::string& line : read_lines(directory_ / "out"))
    numbers.push_back(std::stoll(line));
  std::sort(numbers.begin(), numbers.end());
  ASSERT_EQ(numbers.size(), 1'000'000u);
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<int64_t>(i));
}

TEST_F(CrashTest, AStackOverflowIsNamedAsSuch) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  const Outcome outcome = run("overflow", {"--once", directory_ / "once"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("SIGSEGV: stack overflow"));
}

TEST_F(CrashTest, AModuleThatCrashesInAnotherRunStillHasNames) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  for (const char* how : {"segfault", "abort"}) {
    const Outcome outcome = run(how);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr("fragile.cc:"), Not(HasSubstr(" in 0x"))));
  }
}

/// Sends the signal to one thread of a process, as a fault of its code would.
void signal_thread(pid_t process, const std::string& name, int signal) {
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::string found;
    std::ifstream(entry.path() / "comm") >> found;
    if (found != name) continue;
    EXPECT_EQ(syscall(SYS_tgkill, process, std::stoi(entry.path().filename().string()), signal), 0);
    return;
  }
  ADD_FAILURE() << "no thread " << name;
}

TEST(ThreadCrashTest, IsTheCauseWhicheverThreadOfATaskManagerItWas) {
  TestCluster cluster({.task_managers = 1, .slots = 4, .arguments = {}, .name = "threads"});
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const TemporaryDirectory directory;
  GatedJob job(cluster, directory.path());
  uint32_t restarts = 0;
  for (const std::string thread : {"tm-main", "tm-io", "worker-0"}) {
    ASSERT_TRUE(job.wait_until_in_the_middle(restarts++)) << job.errors();
    signal_thread(cluster.process("taskmanager-1").process.pid, thread, SIGABRT);
    EXPECT_TRUE(wait_until(
        [&] {
          return job.errors().find("was lost: it crashed in its thread " + thread +
                                   ": SIGABRT sent by process ") != std::string::npos;
        },
        20s))
        << job.errors();
  }
  ASSERT_TRUE(job.wait_until_in_the_middle(restarts)) << job.errors();
  job.open_gate();
  EXPECT_EQ(job.run().wait(60s), 0) << job.errors();
  job.expect_exact_result();
}

/// Code of a job that does wrong where no operator runs.
class IllBehavedCodeTest : public ::testing::Test {
 protected:
  IllBehavedCodeTest()
      : cluster_(TestCluster::Options{.arguments = {"-D", "task.cancellation.timeout=1 s", "-D",
                                                    "task.watchdog.timeout=200 ms"}}) {}
  void SetUp() override { ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  std::vector<std::string> command(const std::string& how, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {test_job("ill_behaved")};
    for (std::string& word : more) arguments.push_back(std::move(word));
    for (const char* word : {"--", "--how"}) arguments.emplace_back(word);
    arguments.push_back(how);
    return cluster_.command("run", std::move(arguments));
  }
  uint32_t restarts() {
    return cluster_.process("taskmanager-1").restarts + cluster_.process("taskmanager-2").restarts;
  }
  std::string logs() const { return cluster_.log("taskmanager-1") + cluster_.log("taskmanager-2"); }

  TestCluster cluster_;
};

TEST_F(IllBehavedCodeTest, ADestructorThatCrashesIsItsOperators) {
  const Outcome outcome = run_freshet(command("destructor"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(
      outcome.errors,
      AllOf(HasSubstr("operator 'ill-behaved' in "), HasSubstr(" brought down taskmanager-"),
            HasSubstr("(not restarted: it did so 3 times within an hour)")));
}

TEST_F(IllBehavedCodeTest, WhatAJobHoldsIsDestroyedInItsName) {
  const Outcome outcome = run_freshet(command("job-destructor"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  ASSERT_TRUE(wait_until([&] { return restarts() > 0; }, 20s));
  EXPECT_THAT(logs(), AllOf(HasSubstr("process_crashes job=" + cluster_.jobs().front().id),
                            HasSubstr("code=destructors")));
}

TEST_F(IllBehavedCodeTest, ACallOfExitIsItsOperators) {
  const Outcome outcome = run_freshet(command("exit"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(
      outcome.errors,
      AllOf(HasSubstr("operator 'ill-behaved' in "), HasSubstr(" brought down taskmanager-"),
            HasSubstr("SIGABRT: exit() was called in "),
            HasSubstr("(not restarted: it did so 3 times within an hour)")));
}

TEST_F(IllBehavedCodeTest, AProcessThatEndsWithoutAWordIsExplainedByWhoStartedIt) {
  for (const auto& [how, words] :
       {std::pair("_exit", "exit code 3"), std::pair("kill", "signal 9 (Killed)")}) {
    const Outcome outcome = run_freshet(command(how, {"-D", "restart-strategy.type=none"}));
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors,
                AllOf(HasSubstr("taskmanager-"), HasSubstr(" was lost: its process ended: "),
                      HasSubstr(words)));
  }
}

TEST_F(IllBehavedCodeTest, ATaskManagerWhoseDescriptorsWereClosedSaysSoAndEnds) {
  const Outcome outcome = run_freshet(command("close", {"-D", "restart-strategy.type=none"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr(" was lost: it crashed in its thread tm-main: SIGABRT: "),
                    HasSubstr("code of a job closed file descriptors of this process")));
  ASSERT_TRUE(wait_until([&] { return restarts() == 1; }, 20s));
  const Outcome next = run_freshet(command("nothing", {"-p", "4"}));
  EXPECT_EQ(next.exit_code, 0) << next.errors;
}

TEST_F(IllBehavedCodeTest, AThreadOfItsOwnIsItsJobs) {
  const Outcome outcome = run_freshet(command("thread"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("'a thread of its own' brought down taskmanager-"),
                    HasSubstr("SIGSEGV at address 0x10 in crash()"),
                    HasSubstr("(not restarted: it did so 3 times within an hour)")));
}

TEST_F(IllBehavedCodeTest, ABuilderThatDoesNotReturnKeepsNoSlotOfAJobThatIsCancelled) {
  ASSERT_EQ(run_freshet(command("build-hang", {"-d", "-p", "4"})).exit_code, 0);
  ASSERT_TRUE(
      wait_until([&] { return logs().find("job_code_lasts_long") != std::string::npos; }, 20s))
      << logs();
  EXPECT_THAT(logs(), HasSubstr("code=builder"));
  const std::string id = cluster_.jobs().front().id;
  ASSERT_EQ(run_freshet(cluster_.command("cancel", {id})).exit_code, 0);
  const Outcome next = run_freshet(command("nothing", {"-p", "4"}));
  EXPECT_EQ(next.exit_code, 0) << next.errors;
  EXPECT_THAT(logs(), HasSubstr("its code did not return within 1 s (task.cancellation.timeout): "
                                "'builder'"));
}

/// `freshet fail` on a job that waits in the middle of its input.
class ProvokedFailureTest : public ::testing::Test {
 protected:
  ProvokedFailureTest()
      : cluster_(TestCluster::Options{.arguments = {"-D", "task.cancellation.timeout=1 s", "-D",
                                                    "task.watchdog.timeout=200 ms"}}) {}

  void SetUp() override {
    ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
    job_ = std::make_unique<GatedJob>(cluster_, directory_.path());
    ASSERT_TRUE(job_->wait_until_in_the_middle()) << job_->errors();
  }

  Outcome fail(const std::string& task, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {cluster_.jobs().front().id, task};
    for (std::string& word : more) arguments.push_back(std::move(word));
    return run_freshet(cluster_.command("fail", std::move(arguments)));
  }

  void expect_exact_result_after_a_restart(uint32_t restarts = 1) {
    ASSERT_TRUE(job_->wait_until_in_the_middle(restarts)) << job_->errors();
    job_->open_gate();
    ASSERT_EQ(job_->run().wait(60s), 0) << job_->errors();
    job_->expect_exact_result();
  }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
  std::unique_ptr<GatedJob> job_;
};

TEST_F(ProvokedFailureTest, AnExceptionRestartsTheJob) {
  const Outcome outcome = fail("1/1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("Told to fail by exception: "), HasSubstr("(2/"),
                                    HasSubstr("on taskmanager-"), HasSubstr(", attempt 0.")));
  expect_exact_result_after_a_restart();
  EXPECT_THAT(job_->errors(), HasSubstr("exception: asked for by 'freshet fail'"));
  EXPECT_TRUE(cluster_.process("taskmanager-1").restarts == 0 &&
              cluster_.process("taskmanager-2").restarts == 0);
}

TEST_F(ProvokedFailureTest, CrashesDoNotCountAgainstTheOperator) {
  for (uint32_t restarts = 1; restarts <= 4; ++restarts) {
    const Outcome outcome = fail("1/0", {"--how", "crash", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("\"failure\": \"crash\""));
    ASSERT_TRUE(job_->wait_until_in_the_middle(restarts)) << job_->errors();
  }
  expect_exact_result_after_a_restart(4);
  EXPECT_THAT(job_->errors(),
              AllOf(HasSubstr("SIGSEGV (asked for by 'freshet fail')"), HasSubstr("4 restarts")));
}

TEST_F(ProvokedFailureTest, AHangEndsItsTaskManagerWhenTheJobIsCancelled) {
  ASSERT_EQ(fail("1/0", {"--how", "hang"}).exit_code, 0);
  const std::string id = cluster_.jobs().front().id;
  ASSERT_EQ(run_freshet(cluster_.command("cancel", {id})).exit_code, 0);
  EXPECT_EQ(job_->run().wait(60s), 1) << job_->errors();
  EXPECT_EQ(cluster_.jobs().front().state, "CANCELED");
  EXPECT_TRUE(wait_until(
      [&] {
        return cluster_.process("taskmanager-1").restarts +
                   cluster_.process("taskmanager-2").restarts ==
               1;
      },
      10s));
}

TEST_F(ProvokedFailureTest, TheWatchdogNamesTheOperatorThatDoesNotReturn) {
  // A blocking task, as the source is one, may wait as long as it likes.
  ASSERT_EQ(fail("2/0", {"--how", "hang"}).exit_code, 0);
  const auto logs = [&] { return cluster_.log("taskmanager-1") + cluster_.log("taskmanager-2"); };
  ASSERT_TRUE(wait_until([&] { return logs().find("step_lasts_long") != std::string::npos; }, 20s))
      << logs();
  const std::string all = logs();
  const size_t at = all.find("step_lasts_long");
  EXPECT_THAT(all.substr(at, all.find('\n', at) - at),
              AllOf(HasSubstr("job=" + cluster_.jobs().front().id), HasSubstr("attempt=2/0#0"),
                    HasSubstr("task=\"subtask 1 of "), HasSubstr("operator=map"),
                    HasSubstr(" duration=\"")));
  EXPECT_EQ(cluster_.jobs().front().state, "RUNNING");  // It may come back.
  const std::string id = cluster_.jobs().front().id;
  ASSERT_EQ(run_freshet(cluster_.command("cancel", {id})).exit_code, 0);
  EXPECT_EQ(job_->run().wait(60s), 1) << job_->errors();
  EXPECT_TRUE(wait_until(
      [&] { return logs().find("of its cancellation: operator 'map'") != std::string::npos; }, 10s))
      << logs();
}

TEST_F(ProvokedFailureTest, RefusesWhatIsNotThere) {
  const auto refused = [&](const std::string& task, std::vector<std::string> more = {}) {
    const Outcome outcome = fail(task, std::move(more));
    EXPECT_NE(outcome.exit_code, 0);
    return outcome.errors;
  };
  EXPECT_THAT(refused("9/0"),
              AllOf(HasSubstr("no vertex '9' in job"), HasSubstr("there are 1 'gated")));
  EXPECT_THAT(refused("1/7"), HasSubstr("no subtask 7 of vertex '"));
  EXPECT_THAT(refused("1"), HasSubstr("'1' is no VERTEX/SUBTASK"));
  EXPECT_THAT(refused("1/x"), HasSubstr("SUBTASK of VERTEX/SUBTASK"));
  EXPECT_THAT(refused("1/0", {"--how", "fire"}), HasSubstr("it is exception, hang or crash"));
  const Outcome unknown = run_freshet(cluster_.command("fail", {std::string(32, '1'), "1/0"}));
  EXPECT_THAT(unknown.errors, HasSubstr("no job has the id"));
  job_->open_gate();
  EXPECT_EQ(job_->run().wait(60s), 0) << job_->errors();
  EXPECT_THAT(refused("1/0"), HasSubstr("has ended already"));
}

TEST(LocalCrashTest, SaysWhoseCodeBringsTheProcessDownAndLeavesNothing) {
  for (const auto& [how, signal, reason] :
       {std::tuple("segfault", SIGSEGV, "SIGSEGV at address 0x10 in go_wrong("),
        std::tuple("abort", SIGABRT, "SIGABRT in go_wrong(")}) {
    const TemporaryDirectory directory;
    const Outcome outcome = run_freshet(local(how, directory));
    EXPECT_EQ(outcome.exit_code, kExitOfSignal + signal) << outcome.errors;
    EXPECT_THAT(outcome.errors,
                AllOf(HasSubstr("operator 'fragile' of the job brings this process down: "),
                      HasSubstr(reason), HasSubstr("    at freshet::StreamTask::step()")));
  }
}

}  // namespace
}  // namespace freshet::testing
