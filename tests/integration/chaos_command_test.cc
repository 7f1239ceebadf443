#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// `freshet chaos` with all its files in a directory of its own.
class ChaosCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_words(directory_ / "words", 40'000, 1);
    std::filesystem::create_directory(directory_ / "in");
    std::filesystem::create_directory(directory_ / "tmp");
  }

  /// The same words again and again: what takes long, but no disk.
  void give_input(size_t files) {
    for (size_t i = 0; i < files; i++)
      std::filesystem::create_hard_link(directory_ / "words",
                                        directory_ / ("in/" + std::to_string(i)));
  }

  std::vector<std::string> command(const std::vector<std::string>& options,
                                   const std::string& job = "wordcount") const {
    std::vector<std::string> all = {"-C", directory_.path(), "TMPDIR=" + (directory_ / "tmp"),
                                    FRESHET_BINARY, "chaos"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {job_module(job), "-p", "12", "--mode", "batch", "--", "--input",
                           directory_ / "in", "--output", output()});
    return all;
  }

  Outcome run(const std::vector<std::string>& options) const {
    return run_program("/usr/bin/env", command(options), 120s);
  }

  std::string output() const { return directory_ / "counts"; }

  /// Names of what a run left in its temporary directory and beside the output.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "tmp"))
      names.push_back(entry.path());
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(".counts")) names.push_back(name);
    }
    return names;
  }

  const TemporaryDirectory directory_;
};

TEST_F(ChaosCommandTest, ResultsAreExactThoughTaskManagersAreKilled) {
  give_input(40);
  const Outcome outcome = run({"--kill", "taskmanager", "--every", "300ms", "--for", "1s"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("3 of 3 faults fired"));
  EXPECT_THAT(outcome.output, HasSubstr("EXACTLY ONCE: "));
  EXPECT_THAT(outcome.errors, HasSubstr("kill taskmanager-"));
  EXPECT_GT(read_word_counts(output()).size(), 1000u);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(ChaosCommandTest, AJobThatEndsTooEarlyProvesNothing) {
  give_input(1);
  const Outcome outcome = run({"--kill", "taskmanager", "--every", "20s", "--for", "40s"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("0 of 2 faults fired"));
  EXPECT_THAT(outcome.output, HasSubstr("the job had ended"));
}

TEST_F(ChaosCommandTest, AJobManagerThatForgetsItsJobIsNoSuccess) {
  give_input(60);
  const Outcome outcome = run({"--kill", "jobmanager", "--every", "300ms", "--for", "300ms"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("does not know the job"));
  EXPECT_FALSE(exists(output()));
  EXPECT_THAT(outcome.errors, HasSubstr("The logs of all processes are in "));
}

TEST_F(ChaosCommandTest, TheSameSeedGivesTheSamePlan) {
  const auto plan = [&](const std::string& seed) {
    const Outcome outcome =
        run({"--show-plan", "--seed", seed, "--kill", "taskmanager", "--every", "2s"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return outcome.output;
  };
  EXPECT_THAT(plan("1"), HasSubstr("kill taskmanager-"));
  EXPECT_EQ(plan("1"), plan("1"));
  EXPECT_NE(plan("1"), plan("2"));
}

TEST_F(ChaosCommandTest, AnInterruptEndsEverythingThatItStarted) {
  give_input(100);
  std::vector<std::string> all =
      command({"--kill", "taskmanager", "--every", "200ms", "--for", "10min"});
  FreshetProcess chaos("/usr/bin/env", all);
  ASSERT_TRUE(wait_until([&] { return chaos.errors().find("   2  +") != std::string::npos; }, 60s))
      << chaos.errors();
  chaos.send_signal(SIGINT);
  EXPECT_EQ(chaos.wait(30s), 2) << chaos.errors();
  EXPECT_THAT(chaos.output(), HasSubstr("Interrupted."));
  EXPECT_THAT(chaos.output(), HasSubstr("kill taskmanager-"));
  EXPECT_THAT(leftovers(), IsEmpty());
  EXPECT_FALSE(exists(output()));
}

TEST_F(ChaosCommandTest, RefusesWhatIsNotThereAndSaysWhatIs) {
  give_input(1);
  const auto refusal = [&](const std::vector<std::string>& options) {
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    return outcome.errors;
  };
  EXPECT_THAT(refusal({}), HasSubstr("--plan FILE, or --kill KIND"));
  EXPECT_THAT(refusal({"--kill", "disk"}), HasSubstr("no process is called 'disk'"));
  EXPECT_THAT(refusal({"--kill", "taskmanager-9"}), HasSubstr("the cluster has 3 TaskManagers"));
  EXPECT_THAT(refusal({"--kill", "task:9"}), HasSubstr("no vertex '9'; it has:"));
  EXPECT_THAT(refusal({"--kill", "taskmanager", "--strategy", "task"}),
              HasSubstr("no failover strategy is called 'task'; there are region, full"));
  EXPECT_THAT(refusal({"--kill", "taskmanager", "--seed", "x"}), HasSubstr("--seed"));
  write_file(directory_ / "plan", "faults:\n  - mark: no.such\n    do: kill\n");
  EXPECT_THAT(refusal({"--plan", "plan"}), HasSubstr("plan:2: no mark is called 'no.such'"));
  EXPECT_FALSE(exists(output()));
}

TEST_F(ChaosCommandTest, RefusesAnOutputThatIsThereAndAJobThatProvesNothing) {
  give_input(1);
  std::filesystem::create_directory(output());
  const Outcome there = run({"--kill", "taskmanager"});
  EXPECT_EQ(there.exit_code, 1);
  EXPECT_THAT(there.errors, HasSubstr(output() + " is there already"));
  const Outcome printed = run_freshet({"chaos", "--kill", "taskmanager", job_module("wordcount")});
  EXPECT_EQ(printed.exit_code, 1);
  EXPECT_THAT(printed.errors, HasSubstr("print"));
  const Outcome unbounded = run_freshet(
      {"chaos", "--kill", "taskmanager", job_module("socket_wordcount"), "--", "--port", "1"});
  EXPECT_NE(unbounded.exit_code, 0);
  EXPECT_THAT(unbounded.errors, HasSubstr("again"));
}

TEST_F(ChaosCommandTest, ListsWhatCanBeBroken) {
  const Outcome outcome = run_freshet({"chaos", "--list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("kill: PROCESS"));
  EXPECT_THAT(outcome.output, HasSubstr("deploy.before_ack"));
}

}  // namespace
}  // namespace freshet::testing
