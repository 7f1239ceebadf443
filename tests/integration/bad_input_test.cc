#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "network/asio_transport.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What a user does wrong, on a cluster that goes on living.
class BadInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new TestCluster(); }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void SetUp() override {
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
    write_file(text_, "one two two\n");
  }
  void TearDown() override {
    // Nothing is left: all processes as before, and no job that still runs.
    for (const char* name : {"jobmanager", "taskmanager-1", "taskmanager-2"}) {
      EXPECT_TRUE(cluster_->alive(name)) << name;
      EXPECT_EQ(cluster_->process(name).restarts, 0u) << name;
    }
    EXPECT_TRUE(wait_until(
        [] { return cluster_->list().output.find("RUNNING") == std::string::npos; }, 10s))
        << cluster_->list().output;
  }

  /// Runs the job; checks that it fails with these words, in a cluster and in one process.
  void expect_failure(const std::vector<std::string>& arguments,
                      const std::vector<std::string>& words, int exit_code = 1) {
    for (const bool local : {false, true}) {
      std::vector<std::string> with_place = arguments;
      if (local) with_place.insert(with_place.begin(), {"run", "--local"});
      const Outcome outcome = local ? run_freshet(with_place) : cluster_->run(arguments);
      EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors;
      for (const std::string& word : words)
        EXPECT_THAT(outcome.errors, HasSubstr(word)) << (local ? "local" : "cluster");
    }
  }

  /// Neither the directory, nor what a job keeps beside it under a hidden name.
  void expect_no_result() const {
    const std::string hidden = directory_ / ".counts.";
    const auto entries = make_local_file_system()->list(directory_.path());
    ASSERT_TRUE(entries.ok()) << entries.status().to_string();
    for (const FileInfo& entry : *entries) {
      EXPECT_NE(entry.path, output_) << "is left";
      EXPECT_FALSE(entry.path.starts_with(hidden)) << entry.path << " is left";
    }
  }

  std::vector<std::string> count(const std::string& input) const {
    return {job_module("wordcount"), "-p", "2", "--", "--input", input, "--output", output_};
  }
  std::vector<std::string> failing(const std::string& where) const {
    return {"-D",
            "restart-strategy.type=none",
            test_job("failing"),
            "-p",
            "2",
            "--",
            "--where",
            where,
            "--output",
            output_};
  }

  static TestCluster* cluster_;
  const TemporaryDirectory directory_;
  const std::string text_ = directory_ / "text";
  const std::string output_ = directory_ / "counts";
};

TestCluster* BadInputTest::cluster_ = nullptr;

TEST_F(BadInputTest, NamesAnInputThatDoesNotExist) {
  expect_failure(count(directory_ / "nothing"), {directory_ / "nothing"});
  expect_no_result();
}

TEST_F(BadInputTest, NamesAnInputThatCannotBeRead) {
  if (geteuid() == 0) {
    // Root may read everything: a link that points to itself cannot be read by anybody.
    ASSERT_EQ(symlink((directory_ / "loop").c_str(), (directory_ / "loop").c_str()), 0);
    expect_failure(count(directory_ / "loop"), {directory_ / "loop"});
  } else {
    ASSERT_EQ(run_program("/bin/chmod", {"000", text_}).exit_code, 0);
    expect_failure(count(text_), {text_});
  }
  expect_no_result();
}

TEST_F(BadInputTest, RefusesAnOutputDirectoryThatExistsAndLeavesItAlone) {
  write_file(directory_ / "keep", "mine");
  const Outcome made = run_program(
      "/bin/sh", {"-c", "mkdir " + output_ + " && cp " + (directory_ / "keep") + " " + output_});
  ASSERT_EQ(made.exit_code, 0);
  expect_failure(count(text_), {output_, "exists"});
  std::vector<std::string> wide = count(text_);
  *(std::find(wide.begin(), wide.end(), "-p") + 1) = "4";  // Most sinks are where nobody checks.
  const Outcome outcome = cluster_->run(wide);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("exists already"));
  EXPECT_THAT(outcome.errors, Not(HasSubstr("restart")));
  EXPECT_EQ(read_file(output_ + "/keep"), "mine");
  EXPECT_EQ(read_lines(output_), std::vector<std::string>{"mine"});
}

TEST_F(BadInputTest, NamesAnOutputDirectoryThatCannotBeMade) {
  std::vector<std::string> arguments = count(text_);
  arguments.back() = text_ + "/counts";
  expect_failure(arguments, {"output '" + text_ + "/counts' cannot be made", "is no directory"});
}

TEST_F(BadInputTest, RefusesFilesThatAreNoJobModules) {
  for (const std::string& file : {text_, std::string(FRESHET_BINARY)}) {
    expect_failure({file, "--", "--output", output_}, {file});
  }
  expect_failure({directory_ / "nothing.so"}, {directory_ / "nothing.so"});
  expect_no_result();
}

TEST_F(BadInputTest, RefusesAModuleOfAnotherAbi) {
  expect_failure({test_job("other_abi"), "--", "--where", "nowhere", "--output", output_},
                 {"other_abi.so", "another ABI"});
  expect_no_result();
}

TEST_F(BadInputTest, RefusesABuilderThatBuildsDifferentlyTheSecondTime) {
  expect_failure(failing("build-differently"), {"second time"});
  EXPECT_THAT(cluster_->list().output, Not(HasSubstr("failing")));
  expect_no_result();
}

TEST_F(BadInputTest, ShowsWhatABuilderThrows) {
  expect_failure(failing("build"), {"this job cannot be built"});
  expect_no_result();
}

TEST_F(BadInputTest, ShowsWhereABuilderCrashesAndThatOneDoesNotReturn) {
  expect_failure(failing("build-crash"),
                 {"the function of the job in ", "failing.so crashed: SIGSEGV at address 0x10",
                  "failing.cc:", "    at "});
  std::vector<std::string> hanging = failing("build-hang");
  hanging.insert(hanging.begin(), {"--build-timeout", "200 ms"});
  expect_failure(hanging, {"failing.so did not return within 200 ms (--build-timeout)"});
  EXPECT_THAT(cluster_->list().output, Not(HasSubstr("failing")));
  expect_no_result();
}

TEST_F(BadInputTest, ShowsWhatAnOperatorThrowsAndWhere) {
  expect_failure(failing("map"), {"there is no number 500", "careful map", "FAILED"});
  EXPECT_THAT(cluster_->run(failing("map")).errors,
              Not(HasSubstr("careful map: operator 'careful map'")));
  expect_no_result();
  expect_failure(failing("open"), {"this operator cannot be opened", "careful process"});
  expect_no_result();
}

TEST_F(BadInputTest, RestartsAJobThatFailsOnceAndGivesTheExactResult) {
  const Outcome outcome =
      cluster_->run({test_job("failing"), "-p", "2", "--", "--where", "map-once", "--once",
                     directory_ / "once", "--output", output_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("1 restart"));
  EXPECT_EQ(read_lines(output_).size(), 1000u);
}

TEST_F(BadInputTest, RefusesAnOptionThatTheJobDoesNotKnow) {
  expect_failure({job_module("wordcount"), "--", "--inputs", text_}, {"--inputs"}, 2);
}

TEST_F(BadInputTest, RefusesAJobWithoutAnOptionThatItNeeds) {
  expect_failure({test_job("failing"), "--", "--where", "nowhere"}, {"option --output is missing"},
                 2);
}

TEST_F(BadInputTest, ListsAllOptionsOfTheJobWhateverIsWrongFirst) {
  const std::vector<std::string> all = {"--input", "--output", "--discard", "--updates"};
  expect_failure({job_module("wordcount"), "--", "--discard=false"}, all, 2);
  expect_failure({job_module("wordcount"), "--", "--output", ""}, all, 2);
}

TEST_F(BadInputTest, ShowsTheOptionsOfAJobThatIsAskedForHelp) {
  const Outcome outcome = cluster_->run({job_module("wordcount"), "--", "--help"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  EXPECT_THAT(outcome.output, HasSubstr("job 'wordcount': the job's options:\n  --discard  "));
  EXPECT_THAT(outcome.output, HasSubstr("'DIR/**' reads those below"));
}

TEST_F(BadInputTest, RefusesTwoSinksForOneDirectory) {
  expect_failure({test_job("failing"), "--", "--where", "two-sinks", "--output", output_},
                 {"operators 'second sink' and 'files' both want output '" + output_ + "'"}, 2);
  EXPECT_FALSE(exists(output_));
}

TEST_F(BadInputTest, RefusesInputOfTheKernelThatHasNoSize) {
  expect_failure(count("/proc/self/status"), {"'/proc/self/status' has content but no size"});
  EXPECT_FALSE(exists(output_));
}

TEST_F(BadInputTest, RefusesAClusterForAJobThatRunsInOneProcess) {
  for (const char* option : {"--cluster", "--jobmanager", "--state-dir"}) {
    const Outcome outcome =
        run_freshet({"run", "--local", option, "127.0.0.1:1", job_module("wordcount")});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("without a cluster"));
  }
}

TEST_F(BadInputTest, SaysWhenNobodyTakesItsOutput) {
  const std::string list = std::string(FRESHET_BINARY) + " list --state-dir " +
                           cluster_->state_directory() + " --cluster " + cluster_->name();
  const std::string binary = FRESHET_BINARY;
  for (const std::string& command : {list, binary + " --help", binary + " --version"}) {
    for (const char* where : {" >/dev/full", " >&-"}) {
      const Outcome outcome = run_program("/bin/sh", {"-c", command + where});
      EXPECT_EQ(outcome.exit_code, 1) << command << where;
      EXPECT_THAT(outcome.errors, HasSubstr("freshet: standard output cannot be written"))
          << command << where;
    }
    EXPECT_EQ(run_program("/bin/sh", {"-c", command + " 2>&-"}).exit_code, 0);
  }
  EXPECT_EQ(run_program("/bin/sh", {"-c", binary + " nonsense 2>&-"}).exit_code, 1);
}

TEST_F(BadInputTest, FailsAtOnceWhenNobodyReadsWhatAJobPrints) {
  const std::string run = std::string(FRESHET_BINARY) + " run --local " + job_module("wordcount");
  for (const char* where : {" >/dev/full", " >&-", " | true"}) {
    const std::string pipe = "set -o pipefail; " + run + where;
    const Outcome outcome = run_program("/bin/bash", {"-c", pipe});
    EXPECT_EQ(outcome.exit_code, 1) << where << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("standard output cannot be written")) << where;
    EXPECT_THAT(outcome.errors, Not(HasSubstr("restart"))) << where;
  }
}

TEST_F(BadInputTest, RefusesAnUnknownOptionOfItsOwnAsWrongUsage) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "--fast", job_module("wordcount")},
        {"--what"},
        {"cluster", "start", "--many"},
        {}}) {
    const Outcome outcome = run_freshet(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("--help"));
  }
}

TEST_F(BadInputTest, NamesWhatItDidNotExpect) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"frobnicate"}, "there is no command 'frobnicate'"},
      {{"cluster", "begin"}, "there is no command 'begin'; there are start, stop, status, "},
      {{"clutser", "start"}, "there is no command 'clutser'; did you mean 'cluster'?"},
      {{"--json", "list"}, "not expected: --json; options of 'list' go behind 'list'"},
      {{"-v"}, "not expected: -v; a command is missing; there are run, info, "},
      {{"cluster"}, "a command is missing; there are start, stop, status, "},
      {{"run", "--paralelism=3", "x.so"}, "--paralelism=3; did you mean '--parallelism'?"},
      {{"run", job_module("wordcount"), "--fast"}, "not expected: --fast\n"},
      {{"run", job_module("wordcount"), "--input", text_}, "not expected: --input " + text_ + "\n"},
      {{"run", job_module("wordcount"), "--input", text_}, "freshet run MODULE -- ARGS"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = run_freshet(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
  }
}

TEST_F(BadInputTest, GivesHelpThatIsAskedForAsACommand) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{}, {"run"}, {"cluster"}, {"cluster", "logs"}}) {
    std::vector<std::string> asked = command;
    asked.insert(asked.begin(), "help");
    std::vector<std::string> option = command;
    option.push_back("--help");
    const Outcome help = run_freshet(asked);
    EXPECT_EQ(help.exit_code, 0) << help.errors;
    EXPECT_THAT(help.output, HasSubstr("Usage: freshet"));
    EXPECT_EQ(help.output, run_freshet(option).output);
  }
  EXPECT_THAT(run_freshet({"help", "cluster", "log"}).errors,
              HasSubstr("there is no command 'log'; did you mean 'logs'?"));
  EXPECT_EQ(run_freshet({"help", "nothing"}).exit_code, 2);
}

TEST_F(BadInputTest, RefusesNumbersAndSettingsThatMakeNoSense) {
  for (const std::string number : {"0", "-1", "32769", "many", "4x"}) {
    const Outcome outcome = run_freshet({"run", "-p", number, "--local", job_module("wordcount")});
    EXPECT_EQ(outcome.exit_code, 2) << number;
    EXPECT_THAT(outcome.errors, HasSubstr("from 1 to 32768"));
  }
  const Outcome unknown = run_freshet(
      {"run", "--local", "-D", "execution.bufer-timeout.interval=1", job_module("wordcount")});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean 'execution.buffer-timeout.interval'"));
  const Outcome foreign = run_freshet({"run", "--local", "-D", "foo=bar", job_module("wordcount")});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.errors, HasSubstr("no setting is called 'foo'"));
  EXPECT_THAT(foreign.errors, Not(HasSubstr("did you mean")));
  const Outcome mode = run_freshet({"run", "--local", "--mode", "fast", job_module("wordcount")});
  EXPECT_EQ(mode.exit_code, 2);
  EXPECT_THAT(mode.errors, HasSubstr("fast"));
}

TEST_F(BadInputTest, RefusesSettingsWhereNobodyWouldReadThem) {
  for (const std::string setting :
       {"taskmanager.worker-threads=2", "heartbeat.interval=2 s", "bind-host=127.0.0.1"}) {
    const Outcome outcome = cluster_->run({"-D", setting, job_module("wordcount")});
    EXPECT_EQ(outcome.exit_code, 2) << setting;
    EXPECT_THAT(outcome.errors, HasSubstr(setting.substr(0, setting.find('='))));
    EXPECT_THAT(outcome.errors, HasSubstr("freshet cluster start"));
  }
  const Outcome local = run_freshet(
      {"run", "--local", "-D", "taskmanager.numberOfTaskSlots=4", job_module("wordcount")});
  EXPECT_EQ(local.exit_code, 2);
  EXPECT_THAT(local.errors, HasSubstr("taskmanager.numberOfTaskSlots has no effect"));
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"jobmanager"}, {"taskmanager"}, {"cluster", "start"}}) {
    arguments.insert(arguments.end(), {"--state-dir", directory_ / "state", "-D"});
    for (const auto& [setting, words] :
         {std::pair("source.file.split-size=1 mb", "'freshet run'"),
          std::pair("restart-strategy.type=foo", "'foo' is not none, fixed-delay")}) {
      auto with_setting = arguments;
      with_setting.push_back(setting);
      const Outcome outcome = run_freshet(with_setting);
      EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
      EXPECT_THAT(outcome.errors, HasSubstr(words));
    }
  }
  EXPECT_FALSE(exists(directory_ / "state"));
}

TEST_F(BadInputTest, RefusesSettingsThatMakeNoSenseTogetherBeforeAnythingStarts) {
  const std::string state = directory_ / "state";
  for (const auto& [setting, words] :
       {std::pair(
            "heartbeat.timeout=1 s",
            "heartbeat.timeout: '1 s' must be longer than heartbeat.interval, which is '1 s'"),
        std::pair("restart-strategy.exponential-delay.initial-backoff=5 min",
                  "'5 min' is longer than restart-strategy.exponential-delay.max-backoff")}) {
    for (std::vector<std::string> arguments :
         {std::vector<std::string>{"jobmanager", "--state-dir", state},
          {"cluster", "start", "--name", "other", "--state-dir", state},
          {"run", "--local", job_module("wordcount")}}) {
      arguments.insert(arguments.end(), {"-D", setting});
      const Outcome outcome = run_freshet(arguments);
      EXPECT_EQ(outcome.exit_code, 2) << arguments.front() << outcome.errors;
      EXPECT_THAT(outcome.errors, HasSubstr(words));
      EXPECT_THAT(outcome.errors, Not(HasSubstr("did not start")));
    }
  }
  EXPECT_FALSE(exists(state));
}

TEST_F(BadInputTest, LeavesNothingOfAProcessInTheForegroundThatWasRefused) {
  const std::string home = "XDG_STATE_HOME=" + directory_.path();
  for (const std::vector<std::string>& refused : {std::vector<std::string>{"--host", "0.0.0.0"},
                                                  {"-D", "restart-strategy.type=foo"},
                                                  {"-D", "test.faults=deploy.before_ack:1:kill"}}) {
    for (const std::string kind : {"jobmanager", "taskmanager"}) {
      std::vector<std::string> arguments = {home, FRESHET_BINARY, kind, "--port", "0"};
      arguments.insert(arguments.end(), refused.begin(), refused.end());
      EXPECT_NE(run_program("/usr/bin/env", arguments).exit_code, 0);
    }
  }
  EXPECT_FALSE(exists(directory_ / "freshet"));
}

TEST_F(BadInputTest, RefusesASegmentPoolThatTheMachineCannotHold) {
  const std::string state = directory_ / "state";
  const std::vector<std::string> too_much = {"-D", "taskmanager.memory.network.size=1024 gb"};
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"taskmanager", "--state-dir", state},
        {"cluster", "start", "--state-dir", state, "--taskmanagers", "2"},
        {"run", "--local", job_module("wordcount")}}) {
    arguments.insert(arguments.end(), too_much.begin(), too_much.end());
    const Outcome outcome = run_freshet(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    for (const char* words :
         {"taskmanager.memory.network.size: '1024 gb' (1099511627776 bytes)", "it may use (",
          "set it to a part of what is left beside everything else, such as '128 mb'"})
      EXPECT_THAT(outcome.errors, HasSubstr(words));
  }
  const Outcome local = run_freshet(
      {"run", "--local", "-D", "taskmanager.memory.network.size=1 kb", job_module("wordcount")});
  EXPECT_THAT(local.errors, HasSubstr("'1 kb' is not a size from 1 mb to 1024 gb"));
  EXPECT_FALSE(exists(state));
}

TEST_F(BadInputTest, RefusesWrongUsageOfEveryCommandWithTheSameCode) {
  const std::string state = directory_ / "state";
  const std::vector<std::vector<std::string>> commands = {
      {"run", "--local", job_module("wordcount")},
      {"taskmanager", "--state-dir", state},
      {"cluster", "start", "--state-dir", state}};
  for (const auto& [setting, words] :
       {std::pair("taskmanager.network.memory.gate-budget=1 gb", "'1 gb' is more than"),
        std::pair("taskmanager.memory.network.size=900 gb", "MemTotal"),
        std::pair("test.faults=deploy.before_ack:1:kill", "--allow-faults"),
        std::pair("test.records=lose:1", "--allow-faults"),
        std::pair("heartbeat.interval=-1ms", "'-1ms' is not a duration")}) {
    for (std::vector<std::string> arguments : commands) {
      arguments.insert(arguments.end(), {"-D", setting});
      const Outcome outcome = run_freshet(arguments);
      EXPECT_EQ(outcome.exit_code, 2) << arguments[0] << setting << outcome.errors;
      EXPECT_THAT(outcome.errors, HasSubstr(words)) << arguments[0];
    }
  }
  for (const std::string value : {"25h", "-1ms"}) {
    const std::string setting = "execution.buffer-timeout.interval=" + value;
    const Outcome outcome = cluster_->run({"-D", setting, job_module("wordcount")});
    EXPECT_EQ(outcome.exit_code, 2) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("execution.buffer-timeout.interval"));
    EXPECT_THAT(outcome.errors, HasSubstr(value));
    EXPECT_THAT(outcome.errors, Not(HasSubstr(" min ")));
  }
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "--jobmanager", "nowhere", job_module("wordcount")},
        {"list", "--jobmanager", "nowhere"},
        {"run", "--cluster", "a/b", job_module("wordcount")},
        {"list", "--cluster", "a/b"},
        {"taskmanager", "--jobmanager", "nowhere"}}) {
    const Outcome outcome = run_freshet(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments[0] << arguments[1] << outcome.errors;
  }
  EXPECT_FALSE(exists(state));
}

TEST_F(BadInputTest, RunsWithTheMemoryForBuffersThatARefusalAskedFor) {
  const auto run_with = [&](const std::string& size) {
    return run_freshet({"run", "--local", "-D", "taskmanager.memory.network.size=" + size,
                        job_module("wordcount"), "-p", "60", "--", "--input", text_, "--output",
                        output_});
  };
  const Outcome refused = run_with("1 mb");
  EXPECT_NE(refused.exit_code, 0);
  const std::string before = "memory for buffers: ";
  const size_t at = refused.errors.find(before);
  ASSERT_NE(at, std::string::npos) << refused.errors;
  const uint64_t needed = std::stoull(refused.errors.substr(at + before.size()));
  EXPECT_GT(needed, 1u << 20);
  const Outcome enough = run_with(std::to_string(needed));
  EXPECT_EQ(enough.exit_code, 0) << enough.errors;
}

TEST_F(BadInputTest, RefusesFaultsUnlessTheyAreAllowed) {
  const std::string fault = "test.faults=deploy.before_ack:1:kill";
  const Outcome local = run_freshet({"run", "--local", "-D", fault, job_module("wordcount")});
  EXPECT_NE(local.exit_code, 0);
  EXPECT_THAT(local.errors, HasSubstr("--allow-faults"));
  const Outcome process =
      run_freshet({"jobmanager", "--port", "0", "-D", fault, "--state-dir", directory_.path()});
  EXPECT_NE(process.exit_code, 0);
  EXPECT_THAT(process.errors, HasSubstr("--allow-faults"));
}

TEST_F(BadInputTest, NamesTheKnownFaultMarksWhenOneIsUnknown) {
  const std::vector<std::string> faults = {"--allow-faults", "-D",
                                           "test.faults=deploy.after_lunch:1:kill", "--state-dir",
                                           directory_.path()};
  for (std::vector<std::string> arguments : {std::vector<std::string>{"jobmanager", "--port", "0"},
                                             {"taskmanager"},
                                             {"cluster", "start"}}) {
    arguments.insert(arguments.end(), faults.begin(), faults.end());
    const Outcome outcome = run_freshet(arguments);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.errors, HasSubstr("no fault mark is called 'deploy.after_lunch'"));
    EXPECT_THAT(outcome.errors, HasSubstr("deploy.before_ack"));
  }
  EXPECT_FALSE(exists(directory_ / "default"));
}

TEST_F(BadInputTest, ReportsFaultsThatWereAskedForAndNeverFired) {
  const std::string fault = "test.faults=cancel.before_ack:1:kill";
  std::vector<std::string> arguments = count(text_);
  arguments.insert(arguments.begin(), {"run", "--local", "--allow-faults", "-D", fault});
  const Outcome local = run_freshet(arguments);
  EXPECT_EQ(local.exit_code, 0) << local.errors;
  EXPECT_THAT(local.errors, HasSubstr("fault_never_fired mark=cancel.before_ack"));

  FreshetProcess process({"taskmanager", "--jobmanager", cluster_->job_manager().to_string(),
                          "--allow-faults", "-D", fault, "--state-dir", directory_ / "state"});
  ASSERT_TRUE(
      wait_until([&] { return process.errors().find(" registered ") != std::string::npos; }, 20s))
      << process.errors();
  process.send_signal(SIGTERM);
  EXPECT_EQ(process.wait(20s), 0);
  EXPECT_THAT(process.errors(), HasSubstr("fault_never_fired mark=cancel.before_ack"));
}

TEST_F(BadInputTest, RefusesABindBeyondLoopbackWithoutASecret) {
  for (const std::string kind : {"jobmanager", "taskmanager"}) {
    const Outcome outcome =
        run_freshet({kind, "--host", "0.0.0.0", "--port", "0", "--state-dir", directory_.path()});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.errors, HasSubstr("security.secret"));
  }
}

TEST_F(BadInputTest, NamesAPortThatIsInUse) {
  const std::string port = std::to_string(cluster_->job_manager().port);
  const Outcome process =
      run_freshet({"jobmanager", "--port", port, "--state-dir", directory_.path()});
  EXPECT_EQ(process.exit_code, 1);
  EXPECT_THAT(process.errors, HasSubstr(port));
  EXPECT_THAT(process.errors, HasSubstr("in use"));
  EXPECT_THAT(process.errors, HasSubstr("--port"));

  TestCluster::Options options;
  options.name = "second";
  options.arguments = {"--port", port};
  TestCluster second(options);
  EXPECT_EQ(second.started().exit_code, 1);
  EXPECT_THAT(second.started().errors, HasSubstr("in use"));
  EXPECT_TRUE(second.state().processes.empty());
}

TEST_F(BadInputTest, NamesTheSettingOfADataPortThatIsInUseAndStartsNoCluster) {
  const Address taken = cluster_->process("taskmanager-1").address.value();
  const std::string port = std::to_string(taken.port);
  TestCluster::Options options;
  options.name = "second";
  options.task_managers = 1;
  options.arguments = {"--timeout", "10 min", "-D", "taskmanager.data.port=" + port};
  TestCluster second(options);  // Does not wait until the time is over.
  EXPECT_EQ(second.started().exit_code, 1);
  EXPECT_THAT(second.started().errors, HasSubstr(taken.to_string() + ": the port is in use"));
  EXPECT_THAT(second.started().errors, HasSubstr("-D taskmanager.data.port=PORT"));
  EXPECT_THAT(second.started().errors, HasSubstr("taskmanager-1 did not start: exit code 1"));
  EXPECT_TRUE(second.state().processes.empty());
}

TEST_F(BadInputTest, RefusesDataPortsThatTaskManagersOfOneMachineCannotShare) {
  const auto start = [](const std::string& setting) {
    TestCluster::Options options;
    options.name = "second";
    options.arguments = {"-D", setting};
    return TestCluster(options).started();
  };
  for (const std::string setting :
       {"taskmanager.data.port=4711", "taskmanager.data.bind-port=4711"}) {
    const Outcome refused = start(setting);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.errors, HasSubstr("2 TaskManagers on one machine"));
  }
  EXPECT_EQ(start("taskmanager.data.bind-port=34000-34999").exit_code, 0);
}

TEST_F(BadInputTest, SaysWhereNoJobManagerIsAndWhatToDo) {
  const auto transport = make_asio_transport({});
  Address free;
  {
    auto listener = transport->listen({"127.0.0.1", 0}, [](std::shared_ptr<Connection>) {});
    ASSERT_TRUE(listener.ok());
    free = (*listener)->address();
  }
  const Outcome outcome =
      run_freshet({"run", "--jobmanager", free.to_string(), job_module("wordcount")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("JobManager cannot be reached at " + free.to_string()));
  EXPECT_THAT(outcome.errors, HasSubstr("freshet cluster start"));
  const Outcome name =
      run_freshet({"list", "--cluster", "nobody", "--state-dir", directory_.path()});
  EXPECT_EQ(name.exit_code, 1);
  EXPECT_THAT(name.errors, HasSubstr("nobody"));
}

TEST_F(BadInputTest, SaysHowManySlotsAreMissing) {
  const Outcome outcome =
      cluster_->run({"-D", "slot.request.timeout=500 ms", job_module("wordcount"), "-p", "7", "--",
                     "--input", text_, "--output", output_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("7 slots"));
  EXPECT_THAT(outcome.errors, HasSubstr("the cluster has 4"));
  expect_no_result();
}

}  // namespace
}  // namespace freshet::testing
