#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "network/asio_transport.h"
#include "runtime/app/kernel_file.h"
#include "tests/contract/raw_relay.h"
#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string job_id_of(const std::string& output) {
  const std::string marker = "JobID ";
  const size_t at = output.find(marker);
  return at == std::string::npos ? "" : output.substr(at + marker.size(), 32);
}

TEST(ClusterCommandTest, StartsShowsAndStopsACluster) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const ClusterState state = cluster.state();
  ASSERT_EQ(state.processes.size(), 3u);
  const Outcome status = run_freshet(
      {"cluster", "status", "--name", "test", "--state-dir", cluster.state_directory()});
  EXPECT_EQ(status.exit_code, 0);
  for (const ClusterProcess& one : state.processes) {
    EXPECT_TRUE(one.running) << one.name;
    ASSERT_TRUE(one.address.has_value());
    for (const std::string& output : {cluster.started().output, status.output}) {
      EXPECT_THAT(output, HasSubstr(std::to_string(one.process.pid)));
      EXPECT_THAT(output, HasSubstr(one.address->to_string()));
      EXPECT_THAT(output, HasSubstr(one.name + ".log"));
    }
  }
  const std::string here = " --state-dir " + cluster.state_directory() + "\n";
  EXPECT_THAT(cluster.started().output, HasSubstr("  freshet list --cluster test" + here));
  EXPECT_THAT(cluster.started().output, HasSubstr("  freshet cluster stop --name test" + here));
  EXPECT_EQ(cluster.stop().exit_code, 0);
  const auto processes = make_system_process_host();
  EXPECT_FALSE(processes->alive(state.supervisor));
  for (const ClusterProcess& one : state.processes)
    EXPECT_FALSE(processes->alive(one.process)) << one.name;
  EXPECT_FALSE(exists(cluster.state_directory() + "/test"));
  const Outcome again = cluster.stop();
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.errors, HasSubstr("no cluster is called 'test'"));
}

TEST(ClusterCommandTest, KeepsItsSecretOffCommandLines) {
  TestCluster::Options options;
  options.task_managers = 1;
  options.arguments = {"-D", "security.secret=morning-rain"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const ClusterState state = cluster.state();
  const auto files = make_local_file_system();
  std::vector<pid_t> processes = {state.supervisor.pid};
  for (const ClusterProcess& one : state.processes) processes.push_back(one.process.pid);
  for (const pid_t pid : processes) {
    const std::string line = read_kernel_file(*files, "/proc/" + std::to_string(pid) + "/cmdline");
    EXPECT_THAT(line, HasSubstr("freshet"));
    EXPECT_THAT(line, Not(HasSubstr("morning-rain")));
  }
  EXPECT_THAT(cluster.list().errors, HasSubstr("security.secret differs"));
  const Outcome with_secret =
      run_freshet(cluster.command("list", {"-D", "security.secret=morning-rain"}));
  EXPECT_EQ(with_secret.exit_code, 0) << with_secret.errors;
}

TEST(ClusterCommandTest, SaysItsSecretToNobody) {
  TestCluster::Options options;
  options.task_managers = 1;
  options.arguments = {"-D", "security.secret=morning-rain"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  for (const std::string secret : {"morning-rain", "evening-rain"}) {
    RawRelay relay(cluster.job_manager());
    FreshetProcess list(
        {"list", "--jobmanager", relay.address().to_string(), "-D", "security.secret=" + secret});
    relay.accept();
    while (relay.pass_on()) {
    }
    EXPECT_EQ(list.wait(60s), secret == "morning-rain" ? 0 : 1) << list.errors();
    EXPECT_THAT(relay.said(), HasSubstr("HSRF"));
    EXPECT_THAT(relay.said(), Not(HasSubstr("morning")));
    EXPECT_THAT(list.errors() + list.output(), Not(HasSubstr("morning")));
  }
}

TEST(ClusterCommandTest, RunsJobsWhereASecretIsDemanded) {
  const TemporaryDirectory directory;
  TestCluster::Options options;
  options.arguments = {"-D", "security.secret=morning-rain"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const auto files = license_files();
  std::vector<std::string> arguments = {"-D",
                                        "security.secret=morning-rain",
                                        job_module("wordcount"),
                                        "-p",
                                        "4",
                                        "--",
                                        "--output",
                                        directory / "counts",
                                        "--input"};
  arguments.insert(arguments.end(), files.begin(), files.end());
  const Outcome outcome = cluster.run(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_word_counts(directory / "counts"), count_words(files));
}

TEST(ClusterCommandTest, TakesNoJobsWhenItIsToldNotTo) {
  TestCluster::Options options;
  options.task_managers = 1;
  options.arguments = {"-D", "jobmanager.submit.enable=false"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome refused = cluster.run({job_module("wordcount"), "--", "--input", "/dev/null"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.errors, HasSubstr("takes no jobs: jobmanager.submit.enable is false"));
  EXPECT_EQ(cluster.list().exit_code, 0);
}

TEST(ClusterCommandTest, SaysWhatDidNotComeUpInTimeAndLeavesNothingRunning) {
  TestCluster::Options options;
  options.task_managers = 1;
  // The JobManager stops for good when the TaskManager registers.
  options.arguments = {"--timeout", "500 ms", "--allow-faults", "-D",
                       "test.faults=register.before_reply:1:stop"};
  TestCluster cluster(options);
  EXPECT_EQ(cluster.started().exit_code, 1);
  const std::string kept = cluster.state_directory() + "/.failed-test";
  EXPECT_THAT(cluster.started().errors, HasSubstr("did not come up within 500 ms"));
  EXPECT_THAT(cluster.started().errors, HasSubstr("(log: jobmanager.log)"));
  EXPECT_THAT(cluster.started().errors, HasSubstr(kept));
  EXPECT_TRUE(exists(kept + "/jobmanager.log"));
  EXPECT_FALSE(exists(cluster.state_directory() + "/test"));
  const auto state = parse_cluster_state(read_file(kept + "/state"));
  ASSERT_TRUE(state.ok());
  const auto processes = make_system_process_host();
  EXPECT_FALSE(processes->alive(state->supervisor));
  EXPECT_EQ(state->processes.size(), 2u);
  for (const ClusterProcess& one : state->processes)
    EXPECT_FALSE(processes->alive(one.process)) << one.name;
}

TEST(ClusterCommandTest, KeepsItsFilesToItsUser) {
  TestCluster::Options options;
  options.task_managers = 1;
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const std::string path = cluster.state_directory() + "/test";
  for (const std::string& directory : {path, path + "/jobmanager", path + "/taskmanager-1"}) {
    const Outcome mode = run_program("/usr/bin/stat", {"-c", "%a", directory});
    EXPECT_EQ(mode.output, "700\n") << directory << mode.errors;
  }
  ASSERT_EQ(run_program("/bin/chmod", {"770", path}).exit_code, 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"cluster", "status", "--name", "test"},
        {"cluster", "stop", "--name", "test"},
        {"list", "--cluster", "test"}}) {
    std::vector<std::string> with_place = arguments;
    with_place.insert(with_place.end(), {"--state-dir", cluster.state_directory()});
    const Outcome outcome = run_freshet(with_place);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors, HasSubstr("chmod go-w " + path));
  }
  ASSERT_EQ(run_program("/bin/chmod", {"700", path}).exit_code, 0);
  EXPECT_EQ(cluster.list().exit_code, 0);
}

TEST(RunCommandTest, KeepsTheFilesOfALocalJobToItsUser) {
  const TemporaryDirectory directory;
  std::vector<std::string> arguments = {"TMPDIR=" + directory.path(), FRESHET_BINARY, "run",
                                        "--local"};
  for (const std::string& one : gated_count(directory / "gate", directory / "counts"))
    arguments.push_back(one);
  FreshetProcess run("/usr/bin/env", arguments);
  ASSERT_TRUE(wait_until([&] { return run.errors().find("RUNNING") != std::string::npos; }, 20s))
      << run.errors();
  const std::string state = directory / ("freshet-local-" + std::to_string(run.pid()));
  const Outcome mode = run_program("/usr/bin/stat", {"-c", "%a", state});
  EXPECT_EQ(mode.output, "700\n") << mode.errors;
  write_file(directory / "gate", "");
  EXPECT_EQ(run.wait(20s), 0) << run.errors();
  EXPECT_FALSE(exists(state));
}

TEST(ClusterCommandTest, RefusesANameThatIsInUse) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome second =
      run_freshet({"cluster", "start", "--name", "test", "--state-dir", cluster.state_directory()});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.errors, HasSubstr("'test' is running already"));
  EXPECT_TRUE(cluster.alive("jobmanager"));
}

TEST(ClusterCommandTest, TakesSettingsAsTheDefaultsOfItsOptions) {
  Address free;
  {
    const auto transport = make_asio_transport({});
    const auto listener = transport->listen({"127.0.0.2", 0}, [](std::shared_ptr<Connection>) {});
    ASSERT_TRUE(listener.ok()) << listener.status().to_string();
    free = (*listener)->address();
  }
  TestCluster::Options options;
  options.task_managers = 1;
  options.slots = 0;
  options.arguments = {"-D", "taskmanager.numberOfTaskSlots=4",
                       "-D", "bind-host=127.0.0.2",
                       "-D", "jobmanager.rpc.port=" + std::to_string(free.port)};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  EXPECT_THAT(cluster.started().output, HasSubstr("1 TaskManager with 4 slots each"));
  EXPECT_EQ(cluster.job_manager(), free);
  EXPECT_EQ(cluster.process("taskmanager-1").address->host, "127.0.0.2");
  const Outcome outcome = cluster.run({job_module("wordcount"), "-p", "4", "--", "--discard"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
}

TEST(ClusterCommandTest, TakesOptionsBeforeSettings) {
  TestCluster::Options options;
  options.task_managers = 1;
  options.slots = 3;
  options.arguments = {"-D", "taskmanager.numberOfTaskSlots=4"};
  TestCluster cluster(options);
  EXPECT_EQ(cluster.started().exit_code, 0) << cluster.started().errors;
  EXPECT_THAT(cluster.started().output, HasSubstr("with 3 slots each"));
}

TEST(ProcessCommandTest, RemovesItsStateAtTheEndUnlessItWasNamed) {
  const TemporaryDirectory directory;
  const std::string home = "XDG_STATE_HOME=" + directory.path();
  const std::string foreground = directory / "freshet/.foreground";
  const auto run = [&](std::vector<std::string> arguments, int signal) {
    arguments.insert(arguments.begin(), {home, FRESHET_BINARY});
    FreshetProcess process("/usr/bin/env", arguments);
    EXPECT_TRUE(wait_until([&] { return process.output().find(" at ") != std::string::npos; }, 20s))
        << process.errors();
    const std::string own = foreground + "/" + arguments[2] + "-" + std::to_string(process.pid());
    EXPECT_TRUE(exists(own)) << own;
    process.send_signal(signal);
    EXPECT_TRUE(process.wait(20s).has_value());
    return own;
  };
  const std::vector<std::string> task_manager = {"taskmanager", "--name", "one"};
  EXPECT_FALSE(exists(run({"jobmanager", "--port", "0"}, SIGTERM)));
  EXPECT_FALSE(exists(run(task_manager, SIGTERM)));
  const std::string left = run(task_manager, SIGKILL);
  EXPECT_TRUE(exists(left));
  EXPECT_FALSE(exists(run(task_manager, SIGINT)));
  EXPECT_FALSE(exists(left));
}

TEST(RunCommandTest, PaintsItsProgressOnATerminal) {
  const TemporaryDirectory directory;
  std::string text;  // Enough for a job that is asked several times how far it is.
  for (int i = 0; i < 2'000'000; i++) text += "one two two\n";
  write_file(directory / "text", text);
  const std::string command = std::string(FRESHET_BINARY) + " run --local " +
                              job_module("wordcount") + " -- --discard --input " +
                              (directory / "text");
  const Outcome outcome = run_program("/usr/bin/script", {"-qec", command, "/dev/null"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("\r\033[Kwordcount "));
  EXPECT_THAT(outcome.output, HasSubstr("\r\033[KJob wordcount FINISHED after "));
}

TEST(ClusterCommandTest, RunsTwoClustersBesideEachOther) {
  const TemporaryDirectory directory;
  write_file(directory / "text", "one two two\n");
  TestCluster first;
  TestCluster::Options options;
  options.name = "other";
  options.task_managers = 1;
  TestCluster second(options);
  ASSERT_TRUE(first.ok() && second.ok()) << first.started().errors << second.started().errors;
  EXPECT_NE(first.job_manager(), second.job_manager());
  for (TestCluster* cluster : {&first, &second}) {
    const std::string output = directory / cluster->name();
    const Outcome outcome = cluster->run({job_module("wordcount"), "-p", "2", "--", "--input",
                                          directory / "text", "--output", output});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(read_word_counts(output), (WordCounts{{"one", 1}, {"two", 2}}));
  }
  EXPECT_EQ(first.stop().exit_code, 0);
  EXPECT_TRUE(second.alive("jobmanager"));
  EXPECT_TRUE(second.alive("taskmanager-1"));
}

TEST(ClusterCommandTest, LeavesNothingWhenTheSupervisorIsKilled) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const ClusterState state = cluster.state();
  const auto processes = make_system_process_host();
  processes->send_signal(state.supervisor, ProcessSignal::kKill);
  for (const ClusterProcess& one : state.processes) {
    EXPECT_TRUE(wait_until([&] { return !processes->alive(one.process); }, 5s)) << one.name;
  }
  const Outcome status = run_freshet(
      {"cluster", "status", "--name", "test", "--state-dir", cluster.state_directory()});
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_THAT(status.output, HasSubstr("dead"));
  // The name can be used again.
  const Outcome again =
      run_freshet({"cluster", "start", "--name", "test", "--state-dir", cluster.state_directory()});
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_TRUE(cluster.alive("jobmanager"));
}

TEST(ClusterCommandTest, EndsWhenItsDirectoryIsRemoved) {
  TestCluster cluster({.arguments = {"-D", "rest.port=0"}});
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const ClusterState state = cluster.state();
  std::filesystem::remove_all(cluster.state_directory() + "/" + cluster.name());
  const auto processes = make_system_process_host();
  EXPECT_TRUE(wait_until(
      [&] {
        return !processes->alive(state.supervisor) &&
               std::ranges::none_of(state.processes, [&](const ClusterProcess& one) {
                 return processes->alive(one.process);
               });
      },
      20s));
}

TEST(ClusterCommandTest, RestartsTheJobManagerOnItsPortAndTaskManagersReturn) {
  const TemporaryDirectory directory;
  write_file(directory / "text", "one two two\n");
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Address before = cluster.job_manager();
  cluster.kill("jobmanager");
  ASSERT_TRUE(wait_until(
      [&] { return cluster.process("jobmanager").restarts == 1 && cluster.alive("jobmanager"); },
      10s));
  EXPECT_EQ(cluster.job_manager(), before);
  ASSERT_TRUE(wait_until([&] { return cluster.list().exit_code == 0; }, 10s))
      << cluster.list().errors;
  const Outcome outcome = cluster.run({job_module("wordcount"), "-p", "4", "--", "--input",
                                       directory / "text", "--output", directory / "counts"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_word_counts(directory / "counts"), (WordCounts{{"one", 1}, {"two", 2}}));
}

TEST(RunCommandTest, CancelsOnInterruptAndLeavesNoResult) {
  const TemporaryDirectory directory;
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  GatedJob job(cluster, directory.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  job.run().send_signal(SIGINT);
  EXPECT_EQ(job.run().wait(20s), 1) << job.errors();
  EXPECT_THAT(job.errors(), HasSubstr("CANCELED"));
  EXPECT_THAT(cluster.list().output, HasSubstr("CANCELED"));
  EXPECT_FALSE(exists(job.output()));
}

TEST(RunCommandTest, ReturnsAfterSubmissionWhenDetachedAndCancelEndsTheJob) {
  const TemporaryDirectory directory;
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  std::vector<std::string> arguments = gated_count(directory / "gate", directory / "counts");
  arguments.insert(arguments.begin(), "-d");
  const Outcome run = cluster.run(arguments);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const std::string id = job_id_of(run.output);
  EXPECT_THAT(id, ::testing::MatchesRegex("[0-9a-f]{32}"));
  ASSERT_TRUE(
      wait_until([&] { return cluster.list().output.find("RUNNING") != std::string::npos; }, 20s));
  EXPECT_THAT(cluster.list().output, HasSubstr(id));
  EXPECT_EQ(run_freshet(cluster.command("cancel", {id})).exit_code, 0);
  EXPECT_TRUE(
      wait_until([&] { return cluster.list().output.find("CANCELED") != std::string::npos; }, 20s));
  const Outcome unknown = run_freshet(cluster.command("cancel", {std::string(32, 'f')}));
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_THAT(unknown.errors, HasSubstr(std::string(32, 'f')));
}

TEST(RunCommandTest, CancelsALocalJobOnInterrupt) {
  const TemporaryDirectory directory;
  std::vector<std::string> arguments = gated_count(directory / "gate", directory / "counts");
  arguments.insert(arguments.begin(), {"run", "--local"});
  FreshetProcess run(arguments);
  ASSERT_TRUE(wait_until([&] { return run.errors().find("RUNNING") != std::string::npos; }, 20s))
      << run.errors();
  run.send_signal(SIGINT);
  EXPECT_EQ(run.wait(20s), 1) << run.errors();
  EXPECT_FALSE(exists(directory / "counts"));
}

/// A local job with a map function that does not return; what it leaves is under `directory`.
class StuckLocalJob {
 public:
  StuckLocalJob(const TemporaryDirectory& directory, const std::string& cancellation_timeout)
      : stuck_(directory / "stuck"),
        run_("/usr/bin/env",
             {"TMPDIR=" + directory.path(), FRESHET_BINARY, "run", "--local", "-D",
              "task.cancellation.timeout=" + cancellation_timeout, test_job("failing"), "--",
              "--where", "map-stuck", "--once", stuck_, "--output", directory / "numbers"}),
        state_(directory / ("freshet-local-" + std::to_string(run_.pid()))) {}

  bool wait_until_stuck() {
    return wait_until([&] { return exists(stuck_); }, 20s);
  }
  bool wait_for_line(const std::string& line) {
    return wait_until([&] { return run_.errors().find(line) != std::string::npos; }, 20s);
  }
  FreshetProcess& run() { return run_; }
  const std::string& state() const { return state_; }

 private:
  const std::string stuck_;
  FreshetProcess run_;
  const std::string state_;
};

TEST(RunCommandTest, LeavesALocalJobThatDoesNotReturnOnTheSecondInterrupt) {
  const TemporaryDirectory directory;
  StuckLocalJob job(directory, "1 h");
  ASSERT_TRUE(job.wait_until_stuck()) << job.run().errors();
  EXPECT_TRUE(exists(job.state()));
  job.run().send_signal(SIGINT);
  ASSERT_TRUE(job.wait_for_line("interrupt again to leave at once")) << job.run().errors();
  job.run().send_signal(SIGINT);
  EXPECT_EQ(job.run().wait(20s), 1) << job.run().errors();
  EXPECT_THAT(job.run().errors(), HasSubstr("\nLeft; job "));
  EXPECT_FALSE(exists(job.state()));
}

TEST(RunCommandTest, NamesTheTaskThatKeepsALocalJobFromEnding) {
  const TemporaryDirectory directory;
  StuckLocalJob job(directory, "100 ms");
  ASSERT_TRUE(job.wait_until_stuck()) << job.run().errors();
  job.run().send_signal(SIGINT);
  EXPECT_EQ(job.run().wait(20s), 1) << job.run().errors();
  EXPECT_THAT(job.run().errors(), HasSubstr("freshet: subtask 1 of 1 of '"));
  EXPECT_THAT(job.run().errors(), HasSubstr("careful map"));
  EXPECT_THAT(job.run().errors(),
              HasSubstr("did not end within 100 ms (task.cancellation.timeout)"));
  EXPECT_THAT(job.run().errors(), HasSubstr("\nJob failing did not end"));
  EXPECT_THAT(job.run().errors(), Not(HasSubstr("cancellation_timeout")));
  EXPECT_FALSE(exists(job.state()));
}

TEST(CompletionCommandTest, CompletesInABash) {
  const Outcome outcome = run_program(
      "/bin/bash",
      {"-c", "PATH=\"$(dirname " FRESHET_BINARY "):$PATH\"; eval \"$(freshet completion bash)\"; "
             "COMP_WORDS=(freshet cluster st); COMP_CWORD=2; _freshet; echo ${COMPREPLY[@]}; "
             "COMP_WORDS=(freshet run x.so --loc); COMP_CWORD=3; _freshet; echo ${COMPREPLY[@]}"});
  EXPECT_EQ(outcome.output, "start status stop\n--local\n") << outcome.errors;
  EXPECT_THAT(run_freshet({"completion", "fish"}).errors, HasSubstr("there are bash and zsh"));
}

TEST(RunCommandTest, ShowsHelpAndVersion) {
  const Outcome version = run_freshet({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, HasSubstr("freshet 0."));
  const Outcome help = run_freshet({"run", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
  EXPECT_THAT(run_freshet({"--help"}).output, Not(HasSubstr("supervisor ")));
}

}  // namespace
}  // namespace freshet::testing
