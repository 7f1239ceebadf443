#include "runtime/app/child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace freshet {
namespace {

using ::testing::HasSubstr;

TEST(ChildProgramTest, GivesArgumentsAsTheyAre) {
  const auto outcome =
      run_child("/bin/echo", {"$HOME", "a  b", "; ls", "'"}, ChildOutput::kCaptured);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->success);
  EXPECT_EQ(outcome->output, "$HOME a  b ; ls '\n");
}

TEST(ChildProgramTest, SaysHowItEnded) {
  const auto failed = run_child("/bin/sh", {"-c", "exit 3"}, ChildOutput::kCaptured);
  ASSERT_TRUE(failed.ok());
  EXPECT_FALSE(failed->success);
  EXPECT_EQ(failed->how, "exit code 3");
  const auto killed = run_child("/bin/sh", {"-c", "kill -9 $$"}, ChildOutput::kCaptured);
  ASSERT_TRUE(killed.ok());
  EXPECT_FALSE(killed->success);
  EXPECT_EQ(killed->how, "signal 9 (Killed)");
}

TEST(ChildProgramTest, KillsOneWhoseTimeIsOver) {
  const auto overdue =
      run_child("/bin/sleep", {"1000"}, ChildOutput::kCaptured, {.patience = 20ms});
  ASSERT_TRUE(overdue.ok());
  EXPECT_TRUE(overdue->overdue);
  EXPECT_TRUE(overdue->by_signal);
  const auto in_time =
      run_child("/bin/echo", {"in time"}, ChildOutput::kCaptured, {.patience = 1min});
  ASSERT_TRUE(in_time.ok());
  EXPECT_FALSE(in_time->overdue);
  EXPECT_FALSE(in_time->by_signal);
  EXPECT_EQ(in_time->output, "in time\n");
}

TEST(ChildProgramTest, KeepsTheBeginningOfMuchOutput) {
  const auto outcome =
      run_child("/usr/bin/head", {"-c", "1000000", "/dev/zero"}, ChildOutput::kCaptured);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->success);
  EXPECT_EQ(outcome->output.size(), size_t{64} << 10);
}

TEST(ChildProgramTest, ReadsMuchOutputWhileItWaits) {
  const auto outcome =
      run_child("/usr/bin/head", {"-c", "1000000", "/dev/zero"}, ChildOutput::kCaptured,
                {.patience = 1min, .output_bytes_max = 900'000});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->success);
  EXPECT_EQ(outcome->output.size(), 900'000u);
}

TEST(ChildProgramTest, KillsOneThatWritesForEver) {
  const auto outcome = run_child("/bin/sh", {"-c", "while :; do echo more; done"},
                                 ChildOutput::kCaptured, {.patience = 50ms});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->overdue);
}

TEST(ChildProgramTest, KillsOneThatIsGivenUp) {
  const std::atomic<bool> give_up = true;
  for (const ChildOutput output : {ChildOutput::kCaptured, ChildOutput::kToErrors}) {
    const auto outcome = run_child("/bin/sleep", {"1000"}, output, {.give_up = &give_up});
    ASSERT_TRUE(outcome.ok());
    EXPECT_TRUE(outcome->overdue);
    EXPECT_EQ(outcome->how, "signal 9 (Killed)");
  }
}

TEST(ChildProgramTest, GivesTheEnvironmentThatIsAskedFor) {
  const auto outcome =
      run_child("/bin/sh", {"-c", "echo $FRESHET_SECRET $HOME"}, ChildOutput::kCaptured,
                {.environment = {{"FRESHET_SECRET", "rain"}, {"HOME", "/moon"}}});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->output, "rain /moon\n");
}

TEST(ChildProgramTest, NamesAProgramThatIsNotThere) {
  const auto outcome = run_child("/nowhere/program", {}, ChildOutput::kToErrors);
  EXPECT_THAT(outcome.status().message(), HasSubstr("/nowhere/program"));
}

TEST(ChildProgramTest, FindsProgramsInPathOnlyWhereFoldersAreAbsolute) {
  EXPECT_EQ(*find_program("sh", "/nowhere::/bin:/usr/bin"), "/bin/sh");
  EXPECT_EQ(*find_program("/bin/sh", ""), "/bin/sh");
  EXPECT_EQ(find_program("sh", "").status().message(), "sh is not in PATH");
  EXPECT_FALSE(find_program("sh", "bin:.:../../bin").ok());
  EXPECT_FALSE(find_program("", "/bin").ok());
  EXPECT_EQ(find_program("/bin", "/").status().message(), "/bin is no program");
  EXPECT_FALSE(find_program("/etc/passwd", "").ok());
}

}  // namespace
}  // namespace freshet
