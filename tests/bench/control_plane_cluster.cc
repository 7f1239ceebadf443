#include "tests/bench/control_plane_cluster.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <thread>

#include "network/asio_transport.h"
#include "runtime/app/control_client.h"
#include "tests/bench/interruption.h"
#include "tests/bench/process_facts.h"
#include "tests/integration/test_cluster.h"

namespace freshet::bench {

namespace {

using testing::FreshetProcess;
using testing::TestCluster;

constexpr Duration kTimeMax = 300s;
constexpr Duration kLook = 2ms;
constexpr uint64_t kRecordsForEver = 1ull << 60;  // Of a job that is killed.

double milliseconds(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

class Run {
 public:
  explicit Run(const ClusterOptions& options)
      : options_(options), cluster_(cluster_options(options)), clock_(make_system_clock()) {}

  Result<ClusterCosts> measure() {
    if (!cluster_.ok()) return internal_error("no cluster: " + cluster_.started().errors);
    ControlClient::Options to;
    to.job_manager = cluster_.job_manager();
    ASSIGN_OR_RETURN(client_, ControlClient::connect(to, *transport_, *clock_));
    const TimePoint begin = clock_->now();
    FreshetProcess job(cluster_.command("run", arguments()));
    RETURN_IF_ERROR(wait([&] { return all_have_run(); }, "not all tasks have run"));
    costs_.running_ms = milliseconds(clock_->now() - begin);
    RETURN_IF_ERROR(measure_memory());
    const bool streaming = options_.mode == RuntimeMode::kStreaming;
    if (streaming) RETURN_IF_ERROR(kill_one());
    const TimePoint end = clock_->now();
    if (streaming) RETURN_IF_ERROR(client_->cancel(job_.id));
    if (!job.wait(kTimeMax)) return deadline_exceeded("the job does not end");
    costs_.cancel_ms = milliseconds(clock_->now() - end);
    const auto stopped = cluster_.stop();
    if (stopped.exit_code != 0) return internal_error("the cluster does not stop");
    return costs_;
  }

 private:
  static TestCluster::Options cluster_options(const ClusterOptions& options) {
    TestCluster::Options cluster;
    cluster.task_managers = options.task_managers;
    // A lost TaskManager comes back by itself; meanwhile nobody has its slots.
    cluster.slots = (options.parallelism + options.task_managers - 1) / options.task_managers;
    cluster.arguments = {
        "-D", fmt::format("taskmanager.memory.network.size={} mb", options.network_memory_mb)};
    cluster.name = "bench";
    return cluster;
  }

  std::vector<std::string> arguments() const {
    const bool batch = options_.mode == RuntimeMode::kBatch;
    const uint64_t records = batch ? uint64_t{options_.parallelism} * 3 : kRecordsForEver;
    return {std::string(FRESHET_BENCH_JOBS) + "/idle_tasks.so",
            "-p",
            std::to_string(options_.parallelism),
            "--mode",
            batch ? "batch" : "streaming",
            "--",
            "--records",
            std::to_string(records),
            "--rate",
            std::to_string(batch ? 1'000'000 : options_.parallelism / 10)};
  }

  Status wait(const std::function<bool()>& done, const std::string& otherwise) {
    const TimePoint begin = clock_->now();
    while (!done()) {
      RETURN_IF_ERROR(check_interrupted());
      if (clock_->now() - begin > kTimeMax) return deadline_exceeded(otherwise);
      std::this_thread::sleep_for(kLook);
    }
    if (is_terminal(job_.state) && job_.state != JobState::kFinished)
      return job_.cause.with_context("the job ended");
    return Status();
  }

  void look() {
    const auto jobs = client_->list();
    if (jobs.ok() && !jobs->empty()) job_ = jobs->front();
  }

  bool all_have_run() {
    look();
    if (is_terminal(job_.state)) return true;
    return job_.tasks != 0 && job_.tasks_running + job_.tasks_finished == job_.tasks;
  }

  Status measure_memory() {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i <= options_.task_managers; i++) {
      const auto name = i == 0 ? std::string("jobmanager") : fmt::format("taskmanager-{}", i);
      ASSIGN_OR_RETURN(const uint64_t peak,
                       peak_resident_bytes(cluster_.process(name).process.pid));
      bytes += peak;
    }
    costs_.running_rss_mb = static_cast<double>(bytes) / 1e6;
    return Status();
  }

  Status kill_one() {
    const size_t deployed = cluster_.count_in_log("jobmanager", "tasks_deployed");
    const TimePoint begin = clock_->now();
    cluster_.kill("taskmanager-1");
    const auto logged = [&](const char* text, size_t more_than, double* ms) -> Status {
      RETURN_IF_ERROR(wait([&] { return cluster_.count_in_log("jobmanager", text) > more_than; },
                           std::string("never logged: ") + text));
      *ms = milliseconds(clock_->now() - begin);
      return Status();
    };
    RETURN_IF_ERROR(logged("task_manager_lost", 0, &costs_.detect_ms));
    RETURN_IF_ERROR(logged("tasks_failed", 0, &costs_.decide_ms));
    RETURN_IF_ERROR(logged("tasks_deployed", deployed, &costs_.redeploy_ms));
    RETURN_IF_ERROR(wait([&] { return all_have_run() && job_.restarts > 0; }, "it does not run"));
    costs_.failover_ms = milliseconds(clock_->now() - begin);
    return Status();
  }

  const ClusterOptions options_;
  TestCluster cluster_;
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Transport> transport_ = make_asio_transport({1});
  std::unique_ptr<ControlClient> client_;
  JobReport job_;
  ClusterCosts costs_;
};

}  // namespace

ClusterCosts measure_cluster(const ClusterOptions& options) {
  const auto result = Run(options).measure();
  if (result.ok()) return *result;
  ClusterCosts failed;
  std::strncpy(failed.failure, result.status().to_string().c_str(), sizeof failed.failure - 1);
  return failed;
}

}  // namespace freshet::bench
