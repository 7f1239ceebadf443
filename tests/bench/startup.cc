// The time from the command that starts a cluster to the first record of a job, and the memory of
// an idle cluster; beside them what as many bare processes cost.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/bench/process_facts.h"
#include "tests/integration/test_cluster.h"

namespace freshet::bench {
namespace {

using testing::FreshetProcess;
using testing::Outcome;
using testing::TestCluster;

constexpr Duration kPatience = 60s;
constexpr Duration kPoll = 1ms;
constexpr uint32_t kTaskManagers = 2;
constexpr uint32_t kIdleTaskManagers = 4;

struct Options {
  uint32_t repeat = 5;
  uint32_t idle_seconds = 5;
  bool bare = false;  // A process that does nothing.
};

struct FirstRecord {
  double cluster_ms = 0;  // Until the cluster has started.
  double record_ms = 0;   // Until the first record of the job was written.
};

double millis(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Status check_started(const TestCluster& cluster) {
  RETURN_IF_ERROR(check_interrupted());
  if (cluster.ok()) return Status();
  return internal_error("the cluster does not start: " + cluster.started().errors);
}

Status stop(TestCluster& cluster) {
  const Outcome stopped = cluster.stop();
  RETURN_IF_ERROR(check_interrupted());
  if (stopped.exit_code == 0) return Status();
  return internal_error("the cluster does not stop: " + stopped.errors);
}

/// The job's only record is a line of its own in the output of one of them.
bool has_printed(const TestCluster& cluster) {
  for (uint32_t i = 1; i <= kTaskManagers; ++i) {
    const std::string lines = "\n" + cluster.output(fmt::format("taskmanager-{}", i));
    if (lines.find("\n1\n") != std::string::npos) return true;
  }
  return false;
}

Status wait_for_record(const TestCluster& cluster, FreshetProcess& run) {
  const TimePoint deadline = testing::monotonic_now() + kPatience;
  while (!has_printed(cluster)) {
    RETURN_IF_ERROR(check_interrupted());
    const auto exit_code = run.wait(Duration(0));
    if (exit_code && *exit_code != 0)
      return internal_error("the job was not submitted: " + run.errors());
    if (testing::monotonic_now() >= deadline)
      return deadline_exceeded("the job prints nothing; see `freshet list`: " +
                               cluster.list().output);
    testing::pause(kPoll);
  }
  return Status();
}

Result<FirstRecord> measure_first_record() {
  TestCluster::Options options;
  options.task_managers = kTaskManagers;
  options.slots = 1;
  options.name = "bench";
  FirstRecord taken;
  const TimePoint begin = testing::monotonic_now();
  TestCluster cluster(options);
  taken.cluster_ms = millis(testing::monotonic_now() - begin);
  RETURN_IF_ERROR(check_started(cluster));
  if (has_printed(cluster)) return internal_error("a TaskManager prints without a job");
  FreshetProcess run(cluster.command("run", {std::string(FRESHET_BENCH_JOBS) + "/first_record.so",
                                             "-d", "-p", std::to_string(kTaskManagers)}));
  RETURN_IF_ERROR(wait_for_record(cluster, run));
  taken.record_ms = millis(testing::monotonic_now() - begin);
  if (run.wait(kPatience) != 0) return internal_error("the command ends badly: " + run.errors());
  RETURN_IF_ERROR(stop(cluster));
  return taken;
}

/// One after the other, as many as start one after the other before the first record: the command
/// that starts the cluster, its supervisor, JobManager and TaskManagers, the command that runs the
/// job.
Result<double> measure_bare_starts() {
  const TimePoint begin = testing::monotonic_now();
  for (uint32_t i = 0; i < 4 + kTaskManagers; ++i) {
    const Outcome outcome = testing::run_freshet({"--version"});
    RETURN_IF_ERROR(check_interrupted());
    if (outcome.exit_code != 0) return internal_error("`freshet --version`: " + outcome.errors);
  }
  return millis(testing::monotonic_now() - begin);
}

Result<double> measure_idle_cluster(const Options& options) {
  TestCluster::Options cluster_options;
  cluster_options.task_managers = kIdleTaskManagers;
  cluster_options.slots = 1;
  cluster_options.name = "bench";
  TestCluster cluster(cluster_options);
  RETURN_IF_ERROR(check_started(cluster));
  testing::pause(std::chrono::seconds(options.idle_seconds));
  RETURN_IF_ERROR(check_interrupted());
  const ClusterState state = cluster.state();
  if (state.processes.size() != kIdleTaskManagers + 1)
    return internal_error("the cluster is not whole");
  ASSIGN_OR_RETURN(uint64_t bytes, proportional_bytes(state.supervisor.pid));
  for (const ClusterProcess& one : state.processes) {
    ASSIGN_OR_RETURN(const uint64_t more, proportional_bytes(one.process.pid));
    bytes += more;
  }
  RETURN_IF_ERROR(stop(cluster));
  return static_cast<double>(bytes) / 1e6;
}

/// As many processes with the same libraries that do nothing.
Result<double> measure_bare_processes(const std::string& program) {
  std::vector<std::unique_ptr<FreshetProcess>> processes;
  for (uint32_t i = 0; i < kIdleTaskManagers + 2; ++i) {
    processes.push_back(
        std::make_unique<FreshetProcess>(program, std::vector<std::string>{"--bare"}));
  }
  for (const auto& one : processes) {
    const auto started = [&] { return !one->output().empty() || !check_interrupted().ok(); };
    if (!testing::wait_until(started, kPatience))
      return internal_error("a bare process does not start: " + one->errors());
  }
  RETURN_IF_ERROR(check_interrupted());
  uint64_t bytes = 0;
  for (const auto& one : processes) {
    ASSIGN_OR_RETURN(const uint64_t more, proportional_bytes(one->pid()));
    bytes += more;
  }
  return static_cast<double>(bytes) / 1e6;
}

int be_bare() {
  if (!end_with_parent(getppid()).ok()) return 1;
  fmt::print("started\n");
  std::fflush(stdout);
  while (true) poll(nullptr, 0, -1);
}

Status measure(const Options& options, const std::string& program) {
  std::vector<double> clusters, records, starts, idle, bare;
  for (uint32_t i = 0; i < options.repeat; ++i) {
    ASSIGN_OR_RETURN(const double bare_starts, measure_bare_starts());
    ASSIGN_OR_RETURN(const FirstRecord first, measure_first_record());
    ASSIGN_OR_RETURN(const double bare_memory, measure_bare_processes(program));
    ASSIGN_OR_RETURN(const double idle_memory, measure_idle_cluster(options));
    starts.push_back(bare_starts);
    clusters.push_back(first.cluster_ms);
    records.push_back(first.record_ms);
    bare.push_back(bare_memory);
    idle.push_back(idle_memory);
  }
  fmt::print(
      "{{\"bench\": \"startup\", \"first_record_ms\": {:.1f}, \"cluster_start_ms\": {:.1f}, "
      "\"exec_ms\": {:.1f}, \"idle_cluster_pss_mb\": {:.1f}, \"baseline_pss_mb\": {:.1f}}}\n",
      median(records), median(clusters), median(starts), median(idle), median(bare));
  std::fflush(stdout);
  return Status();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the start of a cluster and a job, and the memory of an idle cluster.");
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--idle-seconds", options.idle_seconds, "age of the idle cluster when measured")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_flag("--bare", options.bare)->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.bare) return be_bare();
  end_on_signals();
  const auto program = own_program_path();
  const Status status = program.ok() ? measure(options, *program) : program.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_startup: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
