#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <tuple>

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
