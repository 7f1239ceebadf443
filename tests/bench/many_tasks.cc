// A job of hundreds of subtasks with an all-to-all edge between them, in one TaskManager and spread
// over several: what its tasks and channels cost, and how fast it is beside the same job with two
// subtasks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <sstream>

#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/bench/process_facts.h"
#include "tests/integration/test_cluster.h"

namespace freshet::bench {
namespace {

using testing::FreshetProcess;
using testing::Outcome;
using testing::TestCluster;

constexpr Duration kRunTime = 3600s;
constexpr Duration kSample = 20ms;
constexpr uint32_t kBaselineParallelism = 2;

struct Options {
  uint32_t parallelism = 500;
  std::vector<uint32_t> task_managers = {1, 2};
  uint64_t records = 600'000'000;
  uint32_t network_memory_mb = 512;  // Of all TaskManagers together.
  uint32_t buffer_timeout_ms = 100;
  uint32_t repeat = 3;
};

/// What one run of the job took.
struct Measurement {
  double records_per_s = 0;
  uint64_t resident_bytes = 0;  // The sum of the peaks of all TaskManagers.
  uint64_t threads = 0;         // The most of one TaskManager.
};

/// The sum of the lines `N records dropped`.
uint64_t dropped_records(const TestCluster& cluster, uint32_t task_managers) {
  uint64_t sum = 0;
  for (uint32_t i = 1; i <= task_managers; ++i) {
    std::istringstream lines(cluster.output(fmt::format("taskmanager-{}", i)));
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with(" records dropped")) sum += std::strtoull(line.c_str(), nullptr, 10);
    }
  }
  return sum;
}

/// Runs the job once on a cluster of its own.
class JobRun {
 public:
  JobRun(const Options& options, uint32_t parallelism, uint32_t task_managers)
      : options_(options),
        parallelism_(parallelism),
        task_managers_(task_managers),
        cluster_(cluster_options()) {}

  Result<Measurement> measure() {
    RETURN_IF_ERROR(check_interrupted());
    if (!cluster_.ok())
      return internal_error("the cluster does not start: " + cluster_.started().errors);
    RETURN_IF_ERROR(find_task_managers());
    RETURN_IF_ERROR(run_job());
    RETURN_IF_ERROR(measure_memory());
    RETURN_IF_ERROR(check_records());
    const Outcome stopped = cluster_.stop();
    if (stopped.exit_code != 0)
      return internal_error("the cluster does not stop: " + stopped.errors);
    return taken_;
  }

 private:
  TestCluster::Options cluster_options() const {
    TestCluster::Options options;
    options.task_managers = task_managers_;
    options.slots = (parallelism_ + task_managers_ - 1) / task_managers_;
    options.arguments = {"-D", fmt::format("taskmanager.memory.network.size={} mb",
                                           options_.network_memory_mb / task_managers_)};
    options.name = "bench";
    return options;
  }

  Status find_task_managers() {
    for (uint32_t i = 1; i <= task_managers_; ++i) {
      const ClusterProcess one = cluster_.process(fmt::format("taskmanager-{}", i));
      if (!one.running) return internal_error(fmt::format("taskmanager-{} does not run", i));
      processes_.push_back(one.process.pid);
    }
    return Status();
  }

  Status run_job() {
    const TimePoint begin = testing::monotonic_now();
    FreshetProcess run(cluster_.command(
        "run",
        {std::string(FRESHET_BENCH_JOBS) + "/all_to_all.so", "-p", std::to_string(parallelism_),
         "-D", fmt::format("execution.buffer-timeout.interval={} ms", options_.buffer_timeout_ms),
         "--", "--records", std::to_string(options_.records)}));
    std::optional<int> exit_code;
    while (!(exit_code = run.wait(kSample))) {
      RETURN_IF_ERROR(check_interrupted());
      if (testing::monotonic_now() - begin >= kRunTime)
        return deadline_exceeded("the job does not end");
      for (const pid_t pid : processes_) {
        ASSIGN_OR_RETURN(const uint64_t threads, thread_count(pid));
        taken_.threads = std::max(taken_.threads, threads);
      }
    }
    const std::chrono::duration<double> seconds = testing::monotonic_now() - begin;
    RETURN_IF_ERROR(check_interrupted());
    if (*exit_code != 0)
      return internal_error(
          fmt::format("the job ended with exit code {}: {}", *exit_code, run.errors()));
    taken_.records_per_s = static_cast<double>(options_.records) / seconds.count();
    return Status();
  }

  Status measure_memory() {
    for (const pid_t pid : processes_) {
      ASSIGN_OR_RETURN(const uint64_t bytes, peak_resident_bytes(pid));
      taken_.resident_bytes += bytes;
    }
    return Status();
  }

  /// A TaskManager says so when the JobManager has released the job, a moment later.
  Status check_records() const {
    const auto all = [&] {
      return dropped_records(cluster_, task_managers_) >= options_.records ||
             !check_interrupted().ok();
    };
    testing::wait_until(all, 10s);
    RETURN_IF_ERROR(check_interrupted());
    const uint64_t dropped = dropped_records(cluster_, task_managers_);
    if (dropped == options_.records) return Status();
    return data_loss(fmt::format("{} of {} records reached the sinks", dropped, options_.records));
  }

  const Options& options_;
  const uint32_t parallelism_;
  const uint32_t task_managers_;
  TestCluster cluster_;
  std::vector<pid_t> processes_;
  Measurement taken_;
};

Status measure_row(const Options& options, uint32_t task_managers) {
  std::vector<double> rates, baselines, ratios;
  std::vector<uint64_t> resident_bytes, threads;
  for (uint32_t i = 0; i < options.repeat; ++i) {
    ASSIGN_OR_RETURN(const Measurement few,
                     JobRun(options, kBaselineParallelism, task_managers).measure());
    ASSIGN_OR_RETURN(const Measurement many,
                     JobRun(options, options.parallelism, task_managers).measure());
    rates.push_back(many.records_per_s);
    baselines.push_back(few.records_per_s);
    ratios.push_back(many.records_per_s / few.records_per_s);
    resident_bytes.push_back(many.resident_bytes);
    threads.push_back(many.threads);
  }
  fmt::print(
      "{{\"bench\": \"many_tasks\", \"tasks\": {}, \"channels\": {}, \"task_managers\": {}, "
      "\"rss_mb\": {:.0f}, \"threads\": {}, \"records_per_s\": {:.0f}, "
      "\"baseline_records_per_s\": {:.0f}, \"ratio\": {:.3f}}}\n",
      2 * options.parallelism, uint64_t{options.parallelism} * options.parallelism, task_managers,
      static_cast<double>(median(resident_bytes)) / 1e6, median(threads), median(rates),
      median(baselines), median(ratios));
  std::fflush(stdout);
  return Status();
}

Status measure(const Options& options) {
  for (const uint32_t task_managers : options.task_managers)
    RETURN_IF_ERROR(measure_row(options, task_managers));
  return Status();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures a job of many tasks and channels against one of few.");
  app.add_option("--parallelism", options.parallelism, "of the job")
      ->check(CLI::Range(2, 10'000))
      ->capture_default_str();
  app.add_option("--task-managers", options.task_managers, "processes, one row each")
      ->delimiter(',')
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.add_option("--records", options.records, "of a run")
      ->check(CLI::Range(1'000, 2'000'000'000))
      ->capture_default_str();
  app.add_option("--network-memory-mb", options.network_memory_mb,
                 "segment pools of all TaskManagers together")
      ->check(CLI::Range(64u, 1u << 20))
      ->capture_default_str();
  app.add_option("--buffer-timeout-ms", options.buffer_timeout_ms, "of the job")
      ->check(CLI::Range(0, 60'000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  end_on_signals();
  const Status status = measure(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_many_tasks: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
