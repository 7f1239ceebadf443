#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Commands that run in a directory of their own, and what lies there.
class SettingsFileTest : public ::testing::Test {
 protected:
  /// `freshet ARGUMENTS` with `variables` in that directory.
  Outcome run(std::vector<std::string> arguments, std::vector<std::string> variables = {}) const {
    std::vector<std::string> all = {"-u", "FRESHET_CONF", "-C", directory_.path()};
    all.insert(all.end(), variables.begin(), variables.end());
    all.push_back(FRESHET_BINARY);
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_program("/usr/bin/env", all);
  }

  Outcome run_job(std::vector<std::string> options, std::vector<std::string> variables = {}) const {
    options.insert(options.begin(), {"run", "--local"});
    options.insert(options.end(), {job_module("wordcount"), "--", "--discard"});
    return run(options, std::move(variables));
  }

  void write(const std::string& name, const std::string& text) const {
    write_file(directory_ / name, text);
  }

  const TemporaryDirectory directory_;
};

constexpr const char* kTooLarge = "taskmanager.memory.network.size: 1024 gb\n";

TEST_F(SettingsFileTest, OneFileIsReadAndTheCommandLineWins) {
  EXPECT_EQ(run_job({}).exit_code, 0);
  write("freshet.yaml", "bind-hst: a\n");
  write("variable.yaml", "\nbind-hst: a\n");
  write("option.yaml", "\n\nbind-hst: a\n");
  const std::vector<std::string> variable = {"FRESHET_CONF=variable.yaml"};
  const std::string wrong = "bind-hst'; did you mean 'bind-host'?\n";
  const auto expect = [&](const Outcome& outcome, const std::string& where) {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.errors, "freshet: " + where + ": no setting is called '" + wrong);
  };
  expect(run_job({}), "freshet.yaml:1");
  expect(run_job({}, variable), "FRESHET_CONF: variable.yaml:2");
  expect(run_job({"--config", "option.yaml"}, variable), "option.yaml:3");
  EXPECT_EQ(run_job({"--no-config"}, variable).exit_code, 0);
  EXPECT_EQ(run_job({"--no-config", "--config", "option.yaml"}).exit_code, 2);

  write("freshet.yaml", kTooLarge);
  EXPECT_THAT(run_job({}).errors, HasSubstr("taskmanager.memory.network.size"));
  EXPECT_EQ(run_job({"-D", "taskmanager.memory.network.size=64 mb"}).exit_code, 0);
}

TEST_F(SettingsFileTest, AFileThatCannotBeReadIsWrongUsage) {
  for (const std::string command : {"list", "jobmanager", "taskmanager"}) {
    const Outcome outcome = run({command, "--config", "none.yaml"});
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.errors, HasSubstr("none.yaml"));
  }
  EXPECT_EQ(run({"cluster", "start", "--config", "/"}).exit_code, 2);
  EXPECT_EQ(run({"list"}, {"FRESHET_CONF=none.yaml"}).exit_code, 2);
}

TEST_F(SettingsFileTest, AFileThatOthersCouldWriteIsReadOnlyWhenItIsNamed) {
  write("freshet.yaml", "heartbeat.interval: 2 s\n");
  ASSERT_EQ(run_program("/bin/chmod", {"o+w", directory_ / "freshet.yaml"}).exit_code, 0);
  const Outcome outcome = run_job({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("other users can write to freshet.yaml"),
                                    HasSubstr("--config"), HasSubstr("--no-config")));
  EXPECT_EQ(run_job({"--config", "freshet.yaml"}).exit_code, 0);
}

TEST_F(SettingsFileTest, WhatACommandDoesNotReadIsCheckedButLeftOut) {
  write("freshet.yaml", "taskmanager.numberOfTaskSlots: 3\nbind-host: 127.0.0.9\n");
  EXPECT_EQ(run_job({}).exit_code, 0);
  EXPECT_EQ(run_job({"-D", "taskmanager.numberOfTaskSlots=3"}).exit_code, 2);
}

TEST_F(SettingsFileTest, ReachesEveryProcessOfAClusterAndNoOtherFileDoes) {
  write("cluster.yaml",
        "taskmanager.numberOfTaskSlots: 3\nsecurity.secret: morning-rain\n"
        "source.file.split-size: 1 mb\ntaskmanager.network.unix-sockets: false\n"
        "heartbeat.interval: 300 ms\nheartbeat.timeout: 8 s\n");
  TestCluster::Options options;
  options.task_managers = 1;
  options.slots = 0;
  options.arguments = {"--config", directory_ / "cluster.yaml", "-D", "heartbeat.interval=200 ms"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  EXPECT_THAT(cluster.started().output, HasSubstr("1 TaskManager with 3 slots each"));
  for (const std::string name : {"jobmanager", "taskmanager-1"}) {
    const std::string pid = std::to_string(cluster.process(name).process.pid);
    const std::string line = run_program("/bin/cat", {"/proc/" + pid + "/cmdline"}).output;
    EXPECT_THAT(line,
                AllOf(HasSubstr("heartbeat.interval=200 ms"), HasSubstr("heartbeat.timeout=8 s"),
                      HasSubstr("--no-config"), Not(HasSubstr("morning-rain"))));
  }
  EXPECT_EQ(cluster.list().exit_code, 1);  // Without the secret.
  const Outcome list =
      run_freshet(cluster.command("list", {"--config", directory_ / "cluster.yaml"}));
  EXPECT_EQ(list.exit_code, 0) << list.errors;
}

TEST_F(SettingsFileTest, ConfigShowsEverySettingAndWhereItIsFrom) {
  const Outcome all = run({"config"});
  EXPECT_EQ(all.exit_code, 0) << all.errors;
  EXPECT_EQ(all.errors, "");
  for (const std::string key : {"KEY ", "\nbind-host ", "\ntest.faults ", "\nheartbeat.interval "})
    EXPECT_THAT(all.output, HasSubstr(key));
  write("freshet.yaml", "heartbeat:\n  interval: 2 s\nsource.file.split-size: 1 mb\n");
  const Outcome some = run({"config", "--json", "-D", "heartbeat.timeout=9 s", "heartbeat.timeout",
                            "heartbeat.interval", "security.secret"},
                           {"FRESHET_SECRET=morning-rain"});
  EXPECT_EQ(some.exit_code, 0) << some.errors;
  EXPECT_THAT(some.output,
              AllOf(HasSubstr("\"key\": \"heartbeat.timeout\""), HasSubstr("\"value\": \"9 s\""),
                    HasSubstr("\"origin\": \"-D\""), HasSubstr("\"value\": \"2 s\""),
                    HasSubstr("\"origin\": \"freshet.yaml:2\""),
                    HasSubstr("\"origin\": \"FRESHET_SECRET\""), Not(HasSubstr("morning-rain"))));
  EXPECT_THAT(run({"config", "--no-config", "heartbeat.interval"}).output,
              HasSubstr("heartbeat.interval  1 s    1 s      default\n"));
}

TEST_F(SettingsFileTest, ConfigRefusesWhatEveryCommandWould) {
  const Outcome unknown = run({"config", "heartbeat.intervall"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.output, "");
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean 'heartbeat.interval'?"));
  write("freshet.yaml", "heartbeat.interval: soon\n");
  const Outcome wrong = run({"config"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("freshet.yaml:1: heartbeat.interval: "));
  EXPECT_EQ(run({"config", "--no-config"}).exit_code, 0);
  EXPECT_THAT(run({"config", "--help"}).output, HasSubstr("freshet config --config cluster.yaml"));
}

}  // namespace
}  // namespace freshet::testing
