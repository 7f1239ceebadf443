#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kFreshet = FRESHET_BINARY;

Outcome bash(const std::string& command) { return run_program("/bin/bash", {"-c", command}, 30s); }
std::string run_local() { return kFreshet + " run --local " + job_module("wordcount"); }

TEST(SurroundingsTest, PipesAreNoModulesAndNoSources) {
  const TemporaryDirectory directory;
  for (const std::string name : {"module.so", "source.cc"}) {
    ASSERT_EQ(mkfifo((directory / name).c_str(), 0600), 0);
    for (const std::string command : {"run ", "run --local ", "info ", "build "}) {
      if (command == "build " && name == "module.so") continue;
      const Outcome outcome = bash("FRESHET_STATE_DIR=" + directory.path() + " " + kFreshet + " " +
                                   command + (directory / name));
      EXPECT_EQ(outcome.exit_code, 1) << command << name;
      EXPECT_THAT(outcome.errors, HasSubstr((directory / name) + ": is no regular file"));
    }
  }
}

TEST(SurroundingsTest, ATemporaryDirectoryMustBeThere) {
  const TemporaryDirectory directory;
  const std::string missing = directory / "missing";
  write_file(directory / "file", "");
  for (const std::string& place : {missing, directory / "file"}) {
    const Outcome outcome = bash("TMPDIR=" + place + " " + run_local());
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors, HasSubstr("TMPDIR is '" + place + "', which is no directory"));
  }
  EXPECT_FALSE(exists(missing));
  EXPECT_EQ(bash("TMPDIR= " + run_local()).exit_code, 0);
}

TEST(SurroundingsTest, TemporaryDirectoriesOfAClusterMustBeUsable) {
  const TemporaryDirectory directory;
  const std::string missing = directory / "missing";
  // Nobody, not even root, makes files in the last one.
  for (const std::string& place :
       {missing, directory.path() + "," + missing, std::string("/proc")}) {
    TestCluster::Options options;
    options.arguments = {"-D", "io.tmp.dirs=" + place};
    const TestCluster cluster(options);
    EXPECT_EQ(cluster.started().exit_code, 1);
    EXPECT_THAT(cluster.started().errors,
                HasSubstr("io.tmp.dirs: " + place.substr(place.rfind(',') + 1)));
    const Outcome local = run_freshet({"run", "--local", "-D", "io.tmp.dirs=" + place,
                                       job_module("wordcount"), "--mode", "batch"});
    EXPECT_EQ(local.exit_code, 1);
    EXPECT_THAT(local.errors, HasSubstr("io.tmp.dirs: " + place.substr(place.rfind(',') + 1)));
  }
  EXPECT_FALSE(exists(missing));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(SurroundingsTest, LocaleAndTimeZoneChangeNothing) {
  const std::string plain = bash(run_local() + " | LC_ALL=C sort").output;
  for (const std::string odd : {"LC_ALL=xx_YY.nothing TZ=Nowhere/Else", "LC_ALL=de_DE.UTF-8",
                                "LC_ALL=tr_TR.UTF-8 TZ=:/etc/passwd", "-i"}) {
    const Outcome outcome = bash("env " + odd + " " + run_local() + " | LC_ALL=C sort");
    EXPECT_EQ(outcome.exit_code, 0) << odd << outcome.errors;
    EXPECT_EQ(outcome.output, plain) << odd;
  }
}

TEST(SurroundingsTest, WithoutAHomeAPlaceMustBeNamed) {
  const Outcome outcome =
      bash("env -u HOME -u XDG_STATE_HOME -u FRESHET_STATE_DIR " + kFreshet + " list");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              HasSubstr("no place for the files of clusters: set HOME or FRESHET_STATE_DIR, or "
                        "give --state-dir"));
}

TEST(SurroundingsTest, AFileThatMayNotGrowIsAnError) {
  const Outcome outcome = bash("ulimit -f 1; " + run_local());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr(": File too large"));
}

TEST(SurroundingsTest, FewDescriptorsAreEnoughForOneProcess) {
  const Outcome outcome = bash("ulimit -n 24; " + run_local());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
}

TEST(SurroundingsTest, ALackOfMemoryIsSaid) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more";
#endif
  const Outcome few = bash("ulimit -v 60000; " + run_local());
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_THAT(few.errors, HasSubstr("see 'ulimit -a'"));
  // Wherever it is that memory ends: never without a word.
  for (const std::string kilobytes : {"100000", "200000", "300000", "400000"}) {
    const Outcome outcome = bash("ulimit -v " + kilobytes + "; " + run_local());
    if (outcome.exit_code == 0) continue;
    EXPECT_THAT(outcome.errors,
                AnyOf(HasSubstr("'ulimit -a'"), HasSubstr("Cannot allocate memory"),
                      HasSubstr("an exception that nobody catches: "), HasSubstr("bad_alloc")))
        << kilobytes;
  }
}

/// Files with odd names and contents, and what is no file.
class OddFilesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  Outcome count(const std::string& input, const std::string& output) const {
    return cluster_.run({"-D", "restart-strategy.type=none", job_module("wordcount"), "-p", "2",
                         "--", "--input", input, "--output", output});
  }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
};

TEST_F(OddFilesTest, AnyNameWillDo) {
  for (const std::string name : {"with blank", "new\nline", "\xc3\xbcn\xc3\xaf", "quote'\"$x",
                                 "not utf-8 \xff\xfe", "-dash"}) {
    const std::string input = directory_ / name;
    const std::string output = directory_ / name + " out";
    write_file(input, "one two two\n");
    const Outcome outcome = count(input, output);
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.errors;
    EXPECT_EQ(read_word_counts(output), count_words({input})) << name;
  }
}

TEST_F(OddFilesTest, AnyBytesAreText) {
  const std::string texts[] = {"",
                               "\n\n\n",
                               "caf\xe9 \xff\xfe x",
                               std::string("zero \0 zero", 11),
                               "\xef\xbb\xbfwith a mark\r\n",
                               std::string(100'000, 'x')};
  for (const std::string& text : texts) {
    write_file(directory_ / "text", text);
    const Outcome outcome = count(directory_ / "text", directory_ / "out");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    ASSERT_TRUE(make_local_file_system()->remove_all(directory_ / "out").ok());
  }
}

TEST_F(OddFilesTest, WhatIsNoFileIsNamed) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkdir((directory_ / "empty").c_str(), 0700), 0);
  const std::string pattern = directory_ / "*.nothing";
  for (const auto& [input, words] :
       {std::pair(directory_ / "pipe", " is a pipe or a device; only regular files can be read"),
        std::pair(std::string("/dev/zero"), " is a pipe or a device"),
        std::pair(directory_ / "empty", " is a directory without files; give files,"),
        std::pair(pattern, " matches no file; give files,")}) {
    const Outcome outcome = count(input, directory_ / "out");
    EXPECT_EQ(outcome.exit_code, 1) << input;
    EXPECT_THAT(outcome.errors, HasSubstr("'" + input + "'" + words));
  }
}

TEST_F(OddFilesTest, ARestPortIsNoControlPort) {
  const std::string rest = "127.0.0.1:" + std::to_string(cluster_.rest_port());
  const Outcome outcome = run_freshet({"list", "--jobmanager", rest});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("the JobManager at " + rest + " gave no answer"));
}

TEST_F(OddFilesTest, AStartThatIsInterruptedLeavesNothing) {
  FreshetProcess start({"cluster", "start", "--name", "second", "--state-dir", directory_.path()});
  ASSERT_TRUE(wait_until([&] { return exists(directory_ / "second/supervisor.log"); }, 20s));
  start.send_signal(SIGINT);
  const auto code = start.wait(30s);
  ASSERT_TRUE(code.has_value());
  if (*code == 0) {  // It was there already.
    EXPECT_EQ(run_freshet({"cluster", "stop", "--name", "second", "--state-dir", directory_.path()})
                  .exit_code,
              0);
  } else {
    EXPECT_THAT(start.errors(), HasSubstr("interrupted"));
  }
  EXPECT_FALSE(exists(directory_ / "second"));
}

}  // namespace
}  // namespace freshet::testing
