// The control plane of a job of two vertices with an all-to-all edge: its graph, its regions, what
// a failure restarts, and its deployment. Beside it the same with an object and a message entry for
// each pair of producer and consumer.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/all_to_all_graph.h"
#include "tests/bench/control_plane_cluster.h"
#include "tests/bench/control_plane_deployment.h"
#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/bench/process_facts.h"

namespace freshet::bench {
namespace {

/// Of what is free, for the baseline.
constexpr double kMemoryPart = 0.7;

struct Options {
  std::vector<uint32_t> sizes = {1000, 4000, 10'000, 32'000, 64'000};
  std::vector<std::string> modes = {"batch", "streaming"};
  uint32_t endpoints = 100;
  uint32_t repeat = 9;
  uint32_t deploy_repeat = 3;
  bool cached_only = false;
  bool no_baseline = false;
  bool no_deployment = false;
  bool cluster_only = false;
  std::vector<uint32_t> batch_tasks = {10'000};
  std::vector<uint32_t> streaming_tasks = {10'000};
  uint32_t task_managers = 4;
  uint32_t network_memory_mb = 1024;
};

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "bench_control_plane: {}\n", what);
  std::_Exit(1);
}

/// In a process of its own, which has measured nothing before.
template <class Costs>
Costs measure_apart(const std::function<Costs()>& measure) {
  int ends[2];
  if (::pipe(ends) != 0) fail("pipe");
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    const Costs costs = measure();
    std::_Exit(::write(ends[1], &costs, sizeof costs) == sizeof costs ? 0 : 1);
  }
  ::close(ends[1]);
  Costs costs;
  const bool whole = ::read(ends[0], &costs, sizeof costs) == sizeof costs;
  ::close(ends[0]);
  if (!whole) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (const Status interrupted = check_interrupted(); !interrupted.ok())
    fail(interrupted.to_string());
  if (!whole || status != 0) fail("a run failed");
  return costs;
}

template <class Costs>
std::vector<Costs> measure_often(uint32_t repeat, const std::function<Costs()>& measure) {
  std::vector<Costs> all;
  for (uint32_t i = 0; i < repeat; i++) all.push_back(measure_apart(measure));
  return all;
}

template <class Costs, class Value>
double median_of(const std::vector<Costs>& all, Value value) {
  std::vector<double> values;
  for (const Costs& each : all) values.push_back(static_cast<double>(value(each)));
  return median(std::move(values));
}

RuntimeMode mode_of(const std::string& name) {
  return name == "batch" ? RuntimeMode::kBatch : RuntimeMode::kStreaming;
}

bool fits(uint32_t parallelism) {
  const auto available = available_bytes();
  return available.ok() && static_cast<double>(expanded_graph_bytes(parallelism)) <
                               kMemoryPart * static_cast<double>(*available);
}

std::string graph_fields(const std::vector<GraphCosts>& all, const std::string& prefix) {
  const auto field = [&](const char* name, auto value) {
    return fmt::format(", \"{}{}\": {:.3f}", prefix, name, median_of(all, value));
  };
  return field("init_ms", [](const auto& c) { return c.init_ms; }) +
         field("graph_mb", [](const auto& c) { return c.graph_mb; }) +
         field("graph_rss_mb", [](const auto& c) { return c.graph_rss_mb; }) +
         field("regions_ms", [](const auto& c) { return c.regions_ms; }) +
         field("restart_set_ms", [](const auto& c) { return c.restart_set_ms; }) +
         field("schedule_downstream_ms", [](const auto& c) { return c.schedule_downstream_ms; }) +
         field("release_ms", [](const auto& c) { return c.release_ms; }) +
         fmt::format(", \"{}steps\": {}", prefix, all.front().steps);
}

/// The costs of the smallest size, which others are compared with.
struct FirstRow {
  uint32_t n = 0;
  double total_ms = 0;
  double graph_mb = 0;
  uint64_t steps = 0;
};

/// How the costs have grown, each divided by how the size has.
std::string growth_fields(uint32_t n, const std::vector<GraphCosts>& all, FirstRow* first) {
  const double ms = median_of(all, [](const auto& c) { return c.total_ms(); });
  const double mb = median_of(all, [](const auto& c) { return c.graph_mb; });
  const uint64_t steps = all.front().steps;
  if (first->n == 0) *first = {n, ms, mb, steps};
  if (first->n >= n) return "";
  const double size = static_cast<double>(n) / first->n;
  return fmt::format(", \"steps_per_n\": {}, \"memory_growth\": {:.3f}, \"time_growth\": {:.3f}",
                     static_cast<double>(steps - first->steps) / (n - first->n),
                     mb / first->graph_mb / size, ms / first->total_ms / size);
}

void measure_graph_row(const Options& options, uint32_t n, const std::string& mode,
                       FirstRow* first) {
  const auto ours =
      measure_often<GraphCosts>(options.repeat, [&] { return measure_graph(n, mode_of(mode)); });
  std::string row =
      fmt::format("{{\"bench\": \"control_plane\", \"n\": {}, \"mode\": \"{}\"", n, mode) +
      graph_fields(ours, "") + growth_fields(n, ours, first);
  if (!options.no_baseline && fits(n)) {
    const auto theirs =
        measure_often<GraphCosts>(1, [&] { return measure_expanded_graph(n, mode_of(mode)); });
    if (theirs.front().restarts != ours.front().restarts)
      fail("the baseline restarts something else");
    const double our_ms = median_of(ours, [](const auto& c) { return c.total_ms(); });
    const double our_mb = median_of(ours, [](const auto& c) { return c.graph_mb; });
    row +=
        graph_fields(theirs, "baseline_") +
        fmt::format(", \"reduction_time\": {:.4f}, \"reduction_memory\": {:.4f}",
                    1 - our_ms / theirs.front().total_ms(), 1 - our_mb / theirs.front().graph_mb);
  }
  fmt::print("{}}}\n", row);
  std::fflush(stdout);
}

double median_ms(const std::vector<DeploymentCosts>& all) {
  for (const auto& costs : all) {
    if (costs.failure[0] != '\0') fail(std::string("deployment: ") + costs.failure);
  }
  return median_of(all, [](const auto& c) { return c.deploy_ms; });
}

/// `baseline_ms`: 0 for none.
void measure_deployment_row(const Options& options, uint32_t n, const std::string& mode, bool cache,
                            bool blobs, double baseline_ms) {
  DeploymentOptions one;
  one.parallelism = n;
  one.mode = mode_of(mode);
  one.endpoints = options.endpoints;
  one.cache = cache;
  one.blobs = blobs;
  const auto all = measure_often<DeploymentCosts>(options.deploy_repeat,
                                                  [&] { return measure_deployment(one); });
  const double ms = median_ms(all);
  std::string row = fmt::format(
      "{{\"bench\": \"control_plane\", \"n\": {}, \"mode\": \"{}\", \"endpoints\": {}, "
      "\"path\": \"{}\", \"cache\": {}, \"deploy_ms\": {:.0f}, \"deploy_sent_mb\": {:.2f}, "
      "\"blob_fetches\": {:.0f}, \"main_stall_ms\": {:.1f}, \"main_wait_ms\": {:.1f}, "
      "\"heartbeat_p99_ms\": {:.1f}",
      n, mode, options.endpoints, blobs ? "blob" : "inline", cache, ms,
      median_of(all, [](const auto& c) { return c.sent_mb; }),
      median_of(all, [](const auto& c) { return c.blob_fetches; }),
      median_of(all, [](const auto& c) { return c.main_stall_ms; }),
      median_of(all, [](const auto& c) { return c.main_wait_ms; }),
      median_of(all, [](const auto& c) { return c.heartbeat_p99_ms; }));
  if (baseline_ms > 0) {
    row += fmt::format(", \"baseline_deploy_ms\": {:.0f}, \"reduction_deploy\": {:.4f}",
                       baseline_ms, 1 - ms / baseline_ms);
  }
  fmt::print("{}}}\n", row);
  std::fflush(stdout);
}

void measure_deployments(const Options& options, uint32_t n, const std::string& mode) {
  double baseline_ms = 0;
  if (!options.no_baseline && fits(n)) {
    DeploymentOptions one;
    one.parallelism = n;
    one.mode = mode_of(mode);
    one.endpoints = options.endpoints;
    baseline_ms = median_ms(
        measure_often<DeploymentCosts>(1, [&] { return measure_expanded_deployment(one); }));
  }
  measure_deployment_row(options, n, mode, /*cache=*/true, /*blobs=*/false, baseline_ms);
  if (mode != "batch") return;  // There is nothing to be fetched or remembered.
  measure_deployment_row(options, n, mode, /*cache=*/true, /*blobs=*/true, baseline_ms);
  if (options.cached_only) return;
  measure_deployment_row(options, n, mode, /*cache=*/false, /*blobs=*/false, baseline_ms);
}

void measure_cluster_row(const Options& options, uint32_t n, const std::string& mode) {
  ClusterOptions one;
  one.parallelism = n;
  one.mode = mode_of(mode);
  one.task_managers = options.task_managers;
  one.network_memory_mb = options.network_memory_mb;
  std::vector<ClusterCosts> all;  // They are processes of their own already.
  for (uint32_t i = 0; i < options.deploy_repeat; i++) all.push_back(measure_cluster(one));
  for (const auto& costs : all) {
    if (costs.failure[0] != '\0') fail(std::string("cluster: ") + costs.failure);
  }
  std::string row = fmt::format(
      "{{\"bench\": \"control_plane\", \"n\": {}, \"mode\": \"{}\", \"taskmanagers\": {}, "
      "\"running_ms\": {:.0f}, \"running_rss_mb\": {:.0f}",
      n, mode, options.task_managers, median_of(all, [](const auto& c) { return c.running_ms; }),
      median_of(all, [](const auto& c) { return c.running_rss_mb; }));
  if (mode == "streaming") {
    row += fmt::format(
        ", \"detect_ms\": {:.0f}, \"decide_ms\": {:.0f}, \"redeploy_ms\": {:.0f}, "
        "\"failover_ms\": {:.0f}, \"cancel_ms\": {:.0f}",
        median_of(all, [](const auto& c) { return c.detect_ms; }),
        median_of(all, [](const auto& c) { return c.decide_ms; }),
        median_of(all, [](const auto& c) { return c.redeploy_ms; }),
        median_of(all, [](const auto& c) { return c.failover_ms; }),
        median_of(all, [](const auto& c) { return c.cancel_ms; }));
  }
  fmt::print("{}}}\n", row);
  std::fflush(stdout);
}

void measure_clusters(const Options& options) {
  for (const std::string& mode : options.modes) {
    for (const uint32_t n : mode == "batch" ? options.batch_tasks : options.streaming_tasks)
      measure_cluster_row(options, n, mode);
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("The control plane of a job with an all-to-all edge");
  app.add_option("N", options.sizes, "Subtasks on each side")->capture_default_str();
  app.add_option("--mode", options.modes)
      ->check(CLI::IsMember({"batch", "streaming"}))
      ->capture_default_str();
  app.add_option("--endpoints", options.endpoints, "TaskManagers that are deployed to")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Runs of which the median is shown")
      ->check(CLI::Range(1, 99))
      ->capture_default_str();
  app.add_option("--deploy-repeat", options.deploy_repeat)
      ->check(CLI::Range(1, 99))
      ->capture_default_str();
  app.add_flag("--cached-only", options.cached_only, "No row without sharing");
  app.add_flag("--no-baseline", options.no_baseline);
  app.add_flag("--no-deployment", options.no_deployment);
  app.add_flag("--cluster-only", options.cluster_only, "Only the rows of real TaskManagers");
  app.add_option("--batch-tasks", options.batch_tasks, "Subtasks on each side in real TaskManagers")
      ->capture_default_str();
  app.add_option("--streaming-tasks", options.streaming_tasks)->capture_default_str();
  app.add_option("--taskmanagers", options.task_managers)
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  app.add_option("--network-memory-mb", options.network_memory_mb, "Of each of them")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.cluster_only) {
    measure_clusters(options);
    return 0;
  }
  for (const std::string& mode : options.modes) {
    FirstRow first;
    for (const uint32_t n : options.sizes) measure_graph_row(options, n, mode, &first);
  }
  if (options.no_deployment) return 0;
  for (const std::string& mode : options.modes) {
    for (const uint32_t n : options.sizes) measure_deployments(options, n, mode);
  }
  measure_clusters(options);
  return 0;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) {
  freshet::bench::end_on_signals();
  return freshet::bench::run(argc, argv);
}
