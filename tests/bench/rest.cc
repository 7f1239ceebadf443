// Clients that ask the REST API once a second each, while a job of many subtasks runs.

#include <fmt/format.h>
#include <httplib.h>

#include <CLI/CLI.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/app/port_file.h"
#include "tests/bench/interruption.h"
#include "tests/bench/latency_histogram.h"
#include "tests/bench/process_facts.h"
#include "tests/integration/test_cluster.h"

namespace freshet::bench {
namespace {

using testing::FreshetProcess;
using testing::TestCluster;

constexpr Duration kJobStarts = 60s;
constexpr Duration kPause = 1s;  // Between two requests of one client.

struct Options {
  uint32_t clients = 100;
  uint32_t parallelism = 500;  // Of readers and of sinks.
  uint64_t records_per_s = 60'000'000;
  uint32_t seconds = 20;
};

/// Answers everything with the same text.
class BareServer {
 public:
  explicit BareServer(std::string body) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(1024); };
    server_.Get(".*", [body = std::move(body)](const httplib::Request&, httplib::Response& to) {
      to.set_content(body, "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~BareServer() {
    server_.stop();
    thread_.join();
  }
  int port() const { return port_; }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

/// What all clients saw.
struct Seen {
  std::mutex mutex;
  LatencyHistogram product;
  LatencyHistogram bare;
  uint64_t failed = 0;

  void add(LatencyHistogram Seen::*histogram, Duration took, bool ok) {
    std::lock_guard lock(mutex);
    (this->*histogram).add(took);
    failed += ok ? 0 : 1;
  }
};

struct Load {
  int rest_port = 0;
  int bare_port = 0;
  std::vector<std::string> paths;
  Seen seen;
  std::atomic<bool> stopped{false};
};

void ask(httplib::Client& client, const std::string& path, Seen& seen,
         LatencyHistogram Seen::*histogram) {
  const TimePoint begin = testing::monotonic_now();
  const auto response = client.Get(path);
  seen.add(histogram, testing::monotonic_now() - begin, response && response->status == 200);
}

void run_client(uint32_t index, uint32_t clients, Load& load) {
  httplib::Client product("127.0.0.1", load.rest_port);
  httplib::Client bare("127.0.0.1", load.bare_port);
  product.set_keep_alive(true);
  bare.set_keep_alive(true);
  TimePoint next = testing::monotonic_now() + kPause * index / clients;
  for (size_t turn = index; !load.stopped.load(); ++turn) {
    testing::pause(std::max(Duration{}, next - testing::monotonic_now()));
    ask(product, load.paths[turn % load.paths.size()], load.seen, &Seen::product);
    ask(bare, "/", load.seen, &Seen::bare);
    next = std::max(next + kPause, testing::monotonic_now());
  }
}

Result<nlohmann::json> get(int port, const std::string& path) {
  const auto response = httplib::Client("127.0.0.1", port).Get(path);
  if (!response || response->status != 200) return unavailable("no answer to " + path);
  return nlohmann::json::parse(response->body, nullptr, false);
}

/// The job, when all of its tasks run.
Result<std::string> wait_for_job(int port) {
  std::string id;
  const bool runs = testing::wait_until(
      [&] {
        const auto jobs = get(port, "/jobs/overview");
        if (!jobs.ok() || (*jobs)["jobs"].empty()) return !check_interrupted().ok();
        const auto& job = (*jobs)["jobs"][0];
        id = job["jid"];
        return job["tasks"]["running"] == job["tasks"]["total"] || !check_interrupted().ok();
      },
      kJobStarts);
  RETURN_IF_ERROR(check_interrupted());
  if (!runs) return deadline_exceeded("the job does not start");
  return id;
}

Status run_load(const Options& options, Load& load) {
  std::vector<std::thread> clients;
  for (uint32_t i = 0; i < options.clients; ++i)
    clients.emplace_back([&, i] { run_client(i, options.clients, load); });
  (void)testing::wait_until([] { return !check_interrupted().ok(); },
                            std::chrono::seconds(options.seconds));
  load.stopped = true;
  for (std::thread& client : clients) client.join();
  return check_interrupted();
}

void print(const Options& options, const Load& load, double cores) {
  const auto millis = [](Duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  fmt::print(
      "{{\"bench\": \"rest\", \"clients\": {}, \"subtasks\": {}, \"requests\": {}, \"failed\": {}, "
      "\"cores_busy\": {:.2f}, \"p50_ms\": {:.3f}, \"p99_ms\": {:.3f}, \"baseline_p50_ms\": "
      "{:.3f}, "
      "\"baseline_p99_ms\": {:.3f}}}\n",
      options.clients, 2 * options.parallelism, load.seen.product.count(), load.seen.failed, cores,
      millis(load.seen.product.quantile(0.5)), millis(load.seen.product.quantile(0.99)),
      millis(load.seen.bare.quantile(0.5)), millis(load.seen.bare.quantile(0.99)));
}

Status measure(const Options& options) {
  TestCluster::Options settings;
  settings.task_managers = 1;
  settings.slots = options.parallelism;
  settings.arguments = {"-D", "rest.port=0", "-D", "taskmanager.memory.network.size=512 mb"};
  settings.name = "bench";
  TestCluster cluster(settings);
  if (!cluster.ok())
    return internal_error("the cluster does not start: " + cluster.started().errors);
  ASSIGN_OR_RETURN(
      const PortFile ports,
      parse_port_file(testing::read_file(cluster.state_directory() + "/bench/jobmanager.port")));
  if (!ports.rest) return internal_error("the cluster has no REST API");
  Load load;
  load.rest_port = ports.rest->port;
  FreshetProcess job(cluster.command("run", {std::string(FRESHET_BENCH_JOBS) + "/paced_pairs.so",
                                             "-p", std::to_string(options.parallelism), "--",
                                             "--rate", std::to_string(options.records_per_s)}));
  ASSIGN_OR_RETURN(const std::string id, wait_for_job(load.rest_port));
  ASSIGN_OR_RETURN(const nlohmann::json shown, get(load.rest_port, "/jobs/" + id));
  const std::string vertex = shown["vertices"][0]["id"];
  load.paths = {"/overview", "/jobs/overview", "/jobs/" + id, "/jobs/" + id + "/vertices/" + vertex,
                "/taskmanagers"};
  BareServer bare(shown.dump());
  load.bare_port = bare.port();
  const pid_t task_manager = cluster.process("taskmanager-1").process.pid;
  ASSIGN_OR_RETURN(const Duration before, cpu_time(task_manager));
  const TimePoint begin = testing::monotonic_now();
  RETURN_IF_ERROR(run_load(options, load));
  ASSIGN_OR_RETURN(const Duration after, cpu_time(task_manager));
  const std::chrono::duration<double> busy = after - before;
  const std::chrono::duration<double> took = testing::monotonic_now() - begin;
  print(options, load, busy.count() / took.count());
  return Status();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures answers of the REST API while a job of many subtasks runs.");
  app.add_option("--clients", options.clients, "connections, a request a second each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--parallelism", options.parallelism,
                 "of the job, which has twice as many subtasks")
      ->check(CLI::Range(1, 5000))
      ->capture_default_str();
  app.add_option("--records-per-s", options.records_per_s, "of the job")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "of the measurement")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  end_on_signals();
  const Status status = measure(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_rest: {}\n", status.message());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
