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
using ::testing::Not;

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

/// The runtime itself is at fault, and every time: a restart would make one good.
TEST_F(ChaosCommandTest, RecordsThatAreLostOrDoubledAreNamed) {
  for (const auto& [how, what] : {std::pair("lose", "lost"), std::pair("double", "doubled")}) {
    const Outcome outcome = run_freshet({"chaos",
                                         "-D",
                                         std::string("test.records=") + how + ":every=20000",
                                         "--kill",
                                         "task",
                                         "--every",
                                         "300ms",
                                         "--for",
                                         "300ms",
                                         "--report",
                                         directory_ / "report.html",
                                         job_module("chaos_count"),
                                         "-p",
                                         "2",
                                         "--",
                                         "--records",
                                         "50000",
                                         "--rate",
                                         "25000",
                                         "--output",
                                         directory_ / (std::string("records-") + how)},
                                        120s);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("WRONG: "));
    EXPECT_THAT(outcome.output, HasSubstr(std::string("  ") + what + ": "));
  }
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

TEST_F(ChaosCommandTest, PrefersTheCheckerOfTheJob) {
  const auto checked = [&](const std::string& how, const std::string& patience = "1 min") {
    return run_freshet({"chaos",
                        "--kill",
                        "taskmanager",
                        "--every",
                        "300ms",
                        "--for",
                        "300ms",
                        "--patience",
                        patience,
                        "--report",
                        directory_ / "report.html",
                        test_job("checked"),
                        "-p",
                        "2",
                        "--",
                        "--rate",
                        "3000",
                        "--records",
                        "3000",
                        "--checker",
                        how,
                        "--output",
                        directory_ / how});
  };
  const Outcome right = checked("right");
  EXPECT_EQ(right.exit_code, 0) << right.output << right.errors;
  EXPECT_THAT(right.output,
              HasSubstr("EXACTLY ONCE: 3000 records, judged by the checker of the job"));
  EXPECT_THAT(right.errors, Not(HasSubstr("undisturbed")));
  const Outcome strict = checked("strict");
  EXPECT_EQ(strict.exit_code, 1) << strict.output << strict.errors;
  EXPECT_THAT(strict.output, HasSubstr("what nobody made"));
  for (const auto& [how, why] :
       {std::pair("throw", "the checker of the job threw: it has no model"),
        std::pair("crash", "the checker of the job crashed"),
        std::pair("blind", "it did not look at the sink 'numbers'")}) {
    const Outcome outcome = checked(how);
    EXPECT_EQ(outcome.exit_code, 2) << how << outcome.output << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr(why));
  }
  const Outcome hanging = checked("hang", "15 s");
  EXPECT_EQ(hanging.exit_code, 2) << hanging.output << hanging.errors;
  EXPECT_THAT(hanging.output, HasSubstr("did not return within 15 s"));
}

TEST_F(ChaosCommandTest, ListsWhatCanBeBroken) {
  const Outcome outcome = run_freshet({"chaos", "--list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("kill: PROCESS"));
  EXPECT_THAT(outcome.output, HasSubstr("deploy.before_ack"));
}

}  // namespace
}  // namespace freshet::testing
