// Counts the words of generated texts with the job of examples/wordcount, and by hand in one
// thread, and compares the results and what they cost. In mode `streaming` every word crosses the
// keyed shuffle, in mode `batch` what is counted of it before.
// Sink `discard`: every new count of a word reaches a sink that counts it; sink `file`: the last
// one of each word is written.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>

#include "runtime/app/kernel_file.h"
#include "runtime/base/file_system.h"
#include "tests/bench/counted_words.h"
#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/bench/scraper.h"
#include "tests/integration/test_cluster.h"

namespace freshet::bench {
namespace {

using testing::Outcome;
using testing::TemporaryDirectory;
using testing::TestCluster;

constexpr Duration kRunTime = 3600s;
constexpr uint32_t kTaskManagers = 2;

struct Options {
  uint64_t megabytes = 500;  // Of 10^6 bytes.
  std::vector<uint32_t> vocabularies = {1'000, 100'000, 1'000'000};
  std::string cluster = "both";
  std::string mode = "streaming";
  uint32_t parallelism = 2;
  uint32_t repeat = 1;
  bool scraped = false;
};

/// What one run of the job took.
struct Measurement {
  Duration time{};
  Duration cpu_time{};  // Of all processes together.
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// User and system time so far.
Result<Duration> cpu_time_of(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const std::string stat = read_kernel_file(*make_local_file_system(), path);
  const size_t name_end = stat.rfind(')');  // The name may hold anything.
  if (name_end == std::string::npos) return not_found(path + " says nothing");
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; field++) fields >> skipped;
  int64_t user_ticks = 0;
  int64_t system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  if (!fields) return data_loss(path + " holds no times");
  return (user_ticks + system_ticks) * Duration(1s) / sysconf(_SC_CLK_TCK);
}

/// Of all processes of the cluster. An error when one was started again: its time is lost.
Result<Duration> cpu_time_of(TestCluster& cluster) {
  const ClusterState state = cluster.state();
  if (state.processes.size() != kTaskManagers + 1)
    return internal_error("the cluster is not whole");
  ASSIGN_OR_RETURN(Duration sum, cpu_time_of(state.supervisor.pid));
  for (const ClusterProcess& one : state.processes) {
    if (one.restarts != 0) return internal_error(one.name + " was started again");
    ASSIGN_OR_RETURN(const Duration cpu_time, cpu_time_of(one.process.pid));
    sum += cpu_time;
  }
  return sum;
}

Result<std::string> text_of(uint32_t vocabulary, uint64_t megabytes) {
  const std::string directory = FRESHET_BENCH_TEXTS;
  const std::string path = fmt::format("{}/{}-words-{}-mb.txt", directory, vocabulary, megabytes);
  if (testing::exists(path)) return path;
  RETURN_IF_ERROR(make_local_file_system()->create_directories(directory));
  const Outcome made =
      testing::run_program(FRESHET_GENERATE_TEXT,
                           {"--megabytes", std::to_string(megabytes), "--words",
                            std::to_string(vocabulary), "--seed", "1", "--output", path},
                           kRunTime);
  RETURN_IF_ERROR(check_interrupted());
  if (made.exit_code != 0) return internal_error("no text was generated: " + made.errors);
  return path;
}

/// The sum of the lines `N results dropped`.
uint64_t dropped_results(const std::string& output) {
  std::istringstream lines(output);
  uint64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(" results dropped")) sum += std::strtoull(line.c_str(), nullptr, 10);
  }
  return sum;
}

/// Runs the job with one sink on one kind of cluster and checks what came out.
class JobRun {
 public:
  JobRun(const Options& options, bool local, bool file_sink, std::string text, bool scraped = false)
      : options_(options),
        local_(local),
        file_sink_(file_sink),
        text_(std::move(text)),
        scraped_(scraped) {}

  Result<Measurement> run(const CountedWords& expected) {
    const TemporaryDirectory directory;
    const std::string results = directory / "counts";
    RETURN_IF_ERROR(check_interrupted());
    ASSIGN_OR_RETURN(const Measurement measured,
                     local_ ? run_local(results) : run_processes(results, expected.words));
    if (file_sink_) {
      RETURN_IF_ERROR(compare_results(expected, results));
    } else if (const uint64_t dropped = dropped_results(output_); dropped != expected.words) {
      return data_loss(fmt::format("{} counts reached the sink, and the text has {} words", dropped,
                                   expected.words));
    }
    return measured;
  }

 private:
  std::vector<std::string> arguments(const std::string& results) const {
    std::vector<std::string> all = {testing::job_module("wordcount"),
                                    "-p",
                                    std::to_string(options_.parallelism),
                                    "--mode",
                                    options_.mode,
                                    "--",
                                    "--input",
                                    text_};
    if (file_sink_) {
      all.insert(all.end(), {"--output", results});
    } else {
      all.insert(all.end(), {"--updates", "--discard"});
    }
    return all;
  }

  static Status check(const Outcome& outcome) {
    RETURN_IF_ERROR(check_interrupted());
    if (outcome.exit_code == 0) return Status();
    return internal_error(
        fmt::format("the job ended with exit code {}: {}", outcome.exit_code, outcome.errors));
  }

  Result<Measurement> run_local(const std::string& results) {
    std::vector<std::string> command = {"run", "--local"};
    const std::vector<std::string> rest = arguments(results);
    command.insert(command.end(), rest.begin(), rest.end());
    const TimePoint begin = testing::monotonic_now();
    const Outcome outcome = testing::run_freshet(command, kRunTime);
    const Duration time = testing::monotonic_now() - begin;
    RETURN_IF_ERROR(check(outcome));
    output_ = outcome.output;
    return Measurement{time, outcome.cpu_time};
  }

  Result<Measurement> run_processes(const std::string& results, uint64_t expected_words) {
    TestCluster::Options cluster_options;
    cluster_options.task_managers = kTaskManagers;
    cluster_options.slots = (options_.parallelism + kTaskManagers - 1) / kTaskManagers;
    cluster_options.name = "bench";
    if (scraped_) cluster_options.arguments = {"-D", "metrics.reporter.prom.port=0"};
    TestCluster cluster(cluster_options);
    if (!cluster.ok()) return internal_error("no cluster: " + cluster.started().errors);
    std::optional<Scraper> scraper;
    if (scraped_) scraper.emplace(metrics_endpoints_of(cluster, kTaskManagers));
    ASSIGN_OR_RETURN(const Duration cpu_before, cpu_time_of(cluster));
    const TimePoint begin = testing::monotonic_now();
    const Outcome outcome = cluster.run(arguments(results), kRunTime);
    const Duration time = testing::monotonic_now() - begin;
    RETURN_IF_ERROR(check(outcome));
    if (scraper) RETURN_IF_ERROR(scraper->stop());
    ASSIGN_OR_RETURN(const Duration cpu_after, cpu_time_of(cluster));
    const Duration cpu_time = cpu_after - cpu_before + outcome.cpu_time;
    // A TaskManager says so when the JobManager has released the job, a moment later.
    const auto all_said = [&] {
      output_.clear();
      for (uint32_t i = 1; i <= kTaskManagers; i++)
        output_ += cluster.output(fmt::format("taskmanager-{}", i));
      return file_sink_ || dropped_results(output_) >= expected_words;
    };
    testing::wait_until(all_said, 5s);
    const Outcome stopped = cluster.stop();
    if (stopped.exit_code != 0) return internal_error("the cluster stays: " + stopped.errors);
    return Measurement{time, cpu_time};
  }

  const Options& options_;
  const bool local_;
  const bool file_sink_;
  const std::string text_;
  const bool scraped_;
  std::string output_;  // Of the job.
};

void print_row(const std::string& mode, uint32_t vocabulary, bool local, bool file_sink,
               double words, const Measurement& measured, double baseline) {
  const double words_per_cpu_s = words / seconds(measured.cpu_time);
  fmt::print(
      "{{\"bench\": \"wordcount\", \"mode\": \"{}\", \"cluster\": \"{}\", \"sink\": \"{}\", "
      "\"vocabulary\": {}, \"words_per_s\": {:.0f}, \"cpu_s\": {:.3f}, "
      "\"words_per_cpu_s\": {:.0f}, \"baseline_words_per_cpu_s\": {:.0f}, \"ratio\": {:.3f}}}\n",
      mode, local ? "local" : "processes", file_sink ? "file" : "discard", vocabulary,
      words / seconds(measured.time), seconds(measured.cpu_time), words_per_cpu_s, baseline,
      words_per_cpu_s / baseline);
  std::fflush(stdout);
}

Status measure_sink(const Options& options, uint32_t vocabulary, bool local, bool file_sink,
                    const std::string& text) {
  std::vector<Duration> times;
  std::vector<Duration> cpu_times;
  std::vector<double> baselines;
  double words = 0;
  for (uint32_t i = 0; i < options.repeat; i++) {
    ASSIGN_OR_RETURN(const CountedWords expected, count_words_by_hand(text));
    words = static_cast<double>(expected.words);
    baselines.push_back(words / seconds(expected.cpu_time));
    ASSIGN_OR_RETURN(const Measurement one, JobRun(options, local, file_sink, text).run(expected));
    times.push_back(one.time);
    cpu_times.push_back(one.cpu_time);
  }
  print_row(options.mode, vocabulary, local, file_sink, words,
            Measurement{median(times), median(cpu_times)}, median(baselines));
  return Status();
}

/// The same cluster with its metrics scraped once a second, and without an endpoint for them.
Status compare_scraped(const Options& options, uint32_t vocabulary, const std::string& text) {
  ASSIGN_OR_RETURN(const CountedWords expected, count_words_by_hand(text));
  const auto words = static_cast<double>(expected.words);
  std::vector<double> plain;
  std::vector<double> scraped;
  std::vector<double> ratios;
  for (uint32_t i = 0; i < options.repeat; i++) {
    double per_cpu_s[2] = {};
    for (const bool first : {true, false}) {
      const bool is_scraped = first == (i % 2 == 0);
      ASSIGN_OR_RETURN(const Measurement one,
                       JobRun(options, false, false, text, is_scraped).run(expected));
      per_cpu_s[is_scraped] = words / seconds(one.cpu_time);
    }
    plain.push_back(per_cpu_s[false]);
    scraped.push_back(per_cpu_s[true]);
    ratios.push_back(per_cpu_s[true] / per_cpu_s[false]);
  }
  fmt::print(
      "{{\"bench\": \"wordcount\", \"mode\": \"streaming\", \"cluster\": \"processes\", \"sink\": "
      "\"discard\", \"vocabulary\": {}, \"scraped\": true, \"words_per_cpu_s\": {:.0f}, "
      "\"baseline_words_per_cpu_s\": {:.0f}, \"ratio\": {:.4f}}}\n",
      vocabulary, median(scraped), median(plain), median(ratios));
  std::fflush(stdout);
  return Status();
}

Status measure(const Options& options) {
  for (const uint32_t vocabulary : options.vocabularies) {
    ASSIGN_OR_RETURN(const std::string text, text_of(vocabulary, options.megabytes));
    RETURN_IF_ERROR(count_words_by_hand(text).status());  // Into the page cache.
    if (options.scraped) {
      RETURN_IF_ERROR(compare_scraped(options, vocabulary, text));
      continue;
    }
    for (const bool local : {true, false}) {
      if (options.cluster == (local ? "processes" : "local")) continue;
      for (const bool file_sink : {false, true}) {
        if (!file_sink && options.mode == "batch") continue;  // There are no updates to drop.
        RETURN_IF_ERROR(measure_sink(options, vocabulary, local, file_sink, text));
      }
    }
  }
  return Status();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the word count job against a loop in one thread.");
  app.add_option("--megabytes", options.megabytes, "size of each text in units of 10^6 bytes")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--vocabulary", options.vocabularies, "different words, one row each")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--cluster", options.cluster, "local, processes or both")
      ->check(CLI::IsMember({"local", "processes", "both"}))
      ->capture_default_str();
  app.add_option("--mode", options.mode, "streaming or batch; batch has rows of sink `file` alone")
      ->check(CLI::IsMember({"streaming", "batch"}))
      ->capture_default_str();
  app.add_option("--parallelism", options.parallelism, "of the job")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--scraped", options.scraped,
               "compare clusters of processes with and without scraped metrics instead");
  CLI11_PARSE(app, argc, argv);
  end_on_signals();
  const Status status = measure(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_wordcount: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
