#include "tests/bench/control_plane_deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "jobmanager/job_manager.h"
#include "network/asio_transport.h"
#include "runtime/app/control_client.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/thread_executor.h"
#include "tests/bench/all_to_all_graph.h"
#include "tests/bench/deployment_endpoint.h"
#include "tests/bench/naive_deployer.h"

namespace freshet::bench {

namespace {

constexpr Duration kTimeMax = 600s;
constexpr auto kProbeInterval = std::chrono::microseconds(500);

double milliseconds(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

/// Another one, whose functions are timed: the longest is the longest stall of its thread.
class TimedExecutor final : public Executor {
 public:
  TimedExecutor(Executor& executor, const Clock& clock) : executor_(executor), clock_(clock) {}

  void post(std::string_view name, UniqueFunction<void()> function) override {
    executor_.post(name, timed(std::move(function)));
  }
  TimerId schedule(Duration delay, std::string_view name,
                   UniqueFunction<void()> function) override {
    return executor_.schedule(delay, name, timed(std::move(function)));
  }
  void cancel(TimerId id) override { executor_.cancel(id); }
  bool on_thread() const override { return executor_.on_thread(); }
  TimePoint now() const override { return executor_.now(); }

  void start_again() { longest_ = Duration::zero(); }
  Duration longest() const { return longest_; }

 private:
  UniqueFunction<void()> timed(UniqueFunction<void()> function) {
    return [this, function = std::move(function)]() mutable {
      const TimePoint begin = clock_.now();
      function();
      longest_ = std::max(longest_.load(), clock_.now() - begin);
    };
  }

  Executor& executor_;
  const Clock& clock_;
  std::atomic<Duration> longest_{Duration::zero()};
};

/// Posts to a thread and waits, again and again.
class WaitProbe {
 public:
  WaitProbe(Executor& executor, const Clock& clock) : executor_(executor), clock_(clock) {
    thread_ = std::thread([this] { run(); });
  }
  ~WaitProbe() { stop(); }

  Duration stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return longest_;
  }

 private:
  void run() {
    while (!stopping_) {
      std::promise<void> ran;
      const TimePoint begin = clock_.now();
      executor_.post("probe", [&ran] { ran.set_value(); });
      ran.get_future().wait();
      longest_ = std::max(longest_, clock_.now() - begin);
      std::this_thread::sleep_for(kProbeInterval);
    }
  }

  Executor& executor_;
  const Clock& clock_;
  std::atomic<bool> stopping_{false};
  Duration longest_{};
  std::thread thread_;
};

/// All endpoints, on one thread.
class Endpoints {
 public:
  Endpoints(const DeploymentOptions& options, const Address& job_manager, Transport& transport,
            const Clock& clock)
      : executor_("endpoints", clock), random_(make_seeded_random(7)) {
    DeploymentEndpoint::Options one;
    one.job_manager = job_manager;
    one.slots = (options.parallelism + options.endpoints - 1) / options.endpoints;
    one.producers_end = options.mode == RuntimeMode::kBatch;
    for (uint32_t i = 0; i < options.endpoints; i++) {
      one.id = TaskManagerId{i + 1};
      all_.push_back(std::make_unique<DeploymentEndpoint>(one, transport, executor_, *random_,
                                                          [this] { on_registered(); }));
    }
  }

  bool start() {
    for (const auto& endpoint : all_) endpoint->start();
    return registered_.get_future().wait_for(kTimeMax) == std::future_status::ready;
  }

  void close() {
    std::promise<void> closed;
    executor_.post("close", [&] {
      for (const auto& endpoint : all_) endpoint->close();
      closed.set_value();
    });
    closed.get_future().wait();
    executor_.stop();
  }

  /// After close().
  void add_to(DeploymentCosts* costs) const {
    std::vector<double> heartbeats;
    for (const auto& endpoint : all_) {
      const auto counts = endpoint->counts();
      costs->sent_mb += static_cast<double>(counts.bytes) / 1e6;
      costs->blob_fetches += counts.blobs;
      heartbeats.insert(heartbeats.end(), counts.heartbeat_ms.begin(), counts.heartbeat_ms.end());
      if (!counts.failure.empty())
        std::strncpy(costs->failure, counts.failure.c_str(), sizeof costs->failure - 1);
    }
    std::sort(heartbeats.begin(), heartbeats.end());
    if (!heartbeats.empty()) costs->heartbeat_p99_ms = heartbeats[heartbeats.size() * 99 / 100];
  }

 private:
  void on_registered() {
    if (++count_ == all_.size()) registered_.set_value();
  }

  ThreadExecutor executor_;
  const std::unique_ptr<Random> random_;
  std::vector<std::unique_ptr<DeploymentEndpoint>> all_;
  size_t count_ = 0;
  std::promise<void> registered_;
};

/// A JobManager that says when the last task has been acknowledged.
class Cluster {
 public:
  Cluster(const DeploymentOptions& options, Transport& transport, Clock& clock)
      : options_(options),
        clock_(clock),
        main_thread_("jm-main", clock),
        main_(main_thread_, clock),
        io_("jm-io", clock),
        random_(make_seeded_random(3)),
        faults_(make_no_faults()),
        job_manager_(settings(options), transport, main_, io_, clock, *random_, files_, *faults_) {
    job_manager_.observe([this](const JobMaster& job) { watch(job); });
  }

  Result<Address> start() { return job_manager_.start(); }
  TimedExecutor& main() { return main_; }

  /// The time of the last acknowledgement.
  Result<TimePoint> wait() {
    auto done = acknowledged_.get_future();
    if (done.wait_for(kTimeMax) != std::future_status::ready)
      return deadline_exceeded("not all tasks were acknowledged");
    return done.get();
  }

  void stop() {
    std::promise<void> stopped;
    job_manager_.stop([&] { stopped.set_value(); });
    stopped.get_future().wait();
    io_.stop();
    main_thread_.stop();
  }

 private:
  static JobManager::Options settings(const DeploymentOptions& options) {
    JobManager::Options settings;
    settings.share_groups = options.cache;
    settings.bind = Address{"127.0.0.1", 0};
    settings.state_dir = "/state";
    const char* const offload_min = options.blobs ? "1 b" : "64 mb";
    CHECK(settings.configuration.set("blob.offload.minsize", offload_min).ok());
    return settings;
  }

  void watch(const JobMaster& job) {
    const ExecutionGraph& graph = job.graph();
    const uint32_t n = options_.parallelism;
    const bool batch = options_.mode == RuntimeMode::kBatch;
    const bool all = graph.count(TaskState::kRunning) == (batch ? n : 2 * n) &&
                     graph.count(TaskState::kFinished) == (batch ? n : 0);
    if (!all || done_) return;
    done_ = true;
    acknowledged_.set_value(clock_.now());
  }

  const DeploymentOptions options_;
  const Clock& clock_;
  ThreadExecutor main_thread_;
  TimedExecutor main_;
  ThreadExecutor io_;
  const std::unique_ptr<Random> random_;
  const std::unique_ptr<Faults> faults_;
  MemoryFileSystem files_;
  JobManager job_manager_;
  bool done_ = false;
  std::promise<TimePoint> acknowledged_;
};

Result<JobId> submit(ControlClient& client, JobGraph graph) {
  const std::string module = "no module: nothing runs";
  RETURN_IF_ERROR(client.put_blob(content_hash(module), module));
  Submission submission;
  submission.name = "all to all";
  submission.module_hash = content_hash(module);
  submission.graph = std::move(graph);
  return client.submit(submission);
}

Result<DeploymentCosts> run(const DeploymentOptions& options) {
  const auto clock = make_system_clock();
  const auto transport = make_asio_transport({1});
  const auto endpoint_transport = make_asio_transport({1});
  Cluster cluster(options, *transport, *clock);
  ASSIGN_OR_RETURN(const Address address, cluster.start());
  Endpoints endpoints(options, address, *endpoint_transport, *clock);
  if (!endpoints.start()) return deadline_exceeded("not all endpoints were registered");
  ControlClient::Options to;
  to.job_manager = address;
  ASSIGN_OR_RETURN(const auto client, ControlClient::connect(to, *endpoint_transport, *clock));
  DeploymentCosts costs;
  WaitProbe probe(cluster.main(), *clock);
  cluster.main().start_again();
  const TimePoint begin = clock->now();
  RETURN_IF_ERROR(submit(*client, all_to_all_graph(options.parallelism, options.mode)).status());
  ASSIGN_OR_RETURN(const TimePoint end, cluster.wait());
  costs.main_wait_ms = milliseconds(probe.stop());
  costs.main_stall_ms = milliseconds(cluster.main().longest());
  costs.deploy_ms = milliseconds(end - begin);
  endpoints.close();
  endpoints.add_to(&costs);
  cluster.stop();
  return costs;
}

Result<DeploymentCosts> run_expanded(const DeploymentOptions& options) {
  const auto clock = make_system_clock();
  const auto transport = make_asio_transport({1});
  const auto endpoint_transport = make_asio_transport({1});
  ThreadExecutor main("naive-main", *clock);
  NaiveDeployer deployer(options.parallelism, options.endpoints, *transport, main);
  ASSIGN_OR_RETURN(const Address address, deployer.listen());
  DeploymentOptions streaming = options;
  streaming.mode = RuntimeMode::kStreaming;  // No producer ends: nobody waits for that here.
  Endpoints endpoints(streaming, address, *endpoint_transport, *clock);
  if (!endpoints.start()) return deadline_exceeded("not all endpoints were registered");
  DeploymentCosts costs;
  WaitProbe probe(main, *clock);
  const TimePoint begin = clock->now();
  main.post("deploy", [&] { deployer.deploy(options.mode); });
  if (!deployer.wait(kTimeMax)) return deadline_exceeded("not all tasks were acknowledged");
  costs.deploy_ms = milliseconds(clock->now() - begin);
  costs.main_wait_ms = milliseconds(probe.stop());
  endpoints.close();
  endpoints.add_to(&costs);
  std::promise<void> closed;
  main.post("close", [&] {
    deployer.close();
    closed.set_value();
  });
  closed.get_future().wait();
  main.stop();
  return costs;
}

DeploymentCosts costs_of(const Result<DeploymentCosts>& result) {
  if (result.ok()) return *result;
  DeploymentCosts failed;
  std::strncpy(failed.failure, result.status().to_string().c_str(), sizeof failed.failure - 1);
  return failed;
}

}  // namespace

DeploymentCosts measure_deployment(const DeploymentOptions& options) {
  return costs_of(run(options));
}

DeploymentCosts measure_expanded_deployment(const DeploymentOptions& options) {
  return costs_of(run_expanded(options));
}

}  // namespace freshet::bench
