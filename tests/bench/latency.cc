// Latency of records between two processes through the data plane, against the time at which each
// was due (open loop), with little to do and at half of what can be sent; beside it a bare TCP
// connection.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "runtime/app/process_host.h"
#include "tests/bench/bare_latency.h"
#include "tests/bench/interruption.h"
#include "tests/bench/latency_sides.h"
#include "tests/bench/median.h"
#include "tests/integration/freshet_process.h"

namespace freshet::bench {
namespace {

constexpr double kIdleRecordsPerSecond = 1000;
constexpr Duration kPatience = 30s;

struct Options {
  std::vector<std::string> loads = {"idle", "half"};
  std::vector<uint32_t> timeouts_ms = {0, 1, 100};
  uint32_t run_ms = 3000;
  uint32_t repeat = 3;
  std::string write;  // Directory of a writing process.
  double rate = 0;    // Of a writing process.
};

Result<LatencyTaken> measure_freshet(const LatencyLoad& load, const std::string& program) {
  RETURN_IF_ERROR(check_interrupted());
  const testing::TemporaryDirectory directory;
  testing::FreshetProcess writer(program, {"--write", directory.path(), "--buffer-timeout-ms",
                                           std::to_string(to_millis(load.buffer_timeout)),
                                           "--run-ms", std::to_string(to_millis(load.time)),
                                           "--rate", fmt::format("{:.3f}", load.records_per_s)});
  const auto started = [&] {
    return testing::exists(directory / "address") || !check_interrupted().ok();
  };
  const bool in_time = testing::wait_until(started, kPatience);
  RETURN_IF_ERROR(check_interrupted());
  if (!in_time) return internal_error("the writer does not start: " + writer.errors());
  ASSIGN_OR_RETURN(Address address, Address::parse(testing::read_file(directory / "address")));
  LatencyReader reader(load, std::move(address));
  RETURN_IF_ERROR(reader.attach());
  testing::pause(100ms);  // For attaching.
  testing::write_file(directory / "begin", "");
  ASSIGN_OR_RETURN(LatencyTaken taken, reader.read_all());
  testing::write_file(directory / "end", "");
  if (writer.wait(kPatience) != 0)
    return internal_error("the writer ends badly: " + writer.errors());
  return taken;
}

/// The runs of one side of a row.
class Side {
 public:
  using Measure = std::function<Result<LatencyTaken>(const LatencyLoad&)>;
  explicit Side(Measure measure) : measure_(std::move(measure)) {}

  Status run(bool half, LatencyLoad load) {
    load.records_per_s = kIdleRecordsPerSecond;
    if (half) {
      LatencyLoad all = load;
      all.records_per_s = 0;
      all.time = std::min<Duration>(load.time, 1s);
      ASSIGN_OR_RETURN(const LatencyTaken capacity, measure_(all));
      load.records_per_s = capacity.records_per_s / 2;
    }
    ASSIGN_OR_RETURN(const LatencyTaken taken, measure_(load));
    if (taken.latencies.count() == 0) return data_loss("no record arrived");
    rates_.push_back(taken.records_per_s);
    p50_ms_.push_back(millis(taken.latencies.quantile(0.5)));
    p99_ms_.push_back(millis(taken.latencies.quantile(0.99)));
    return Status();
  }

  std::string keys(const char* prefix) const {
    return fmt::format(
        "\"{0}records_per_s\": {1:.0f}, \"{0}latency_ms_p50\": {2:.3f}, "
        "\"{0}latency_ms_p99\": {3:.3f}",
        prefix, median(rates_), median(p50_ms_), median(p99_ms_));
  }

 private:
  static double millis(Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
  }

  const Measure measure_;
  std::vector<double> rates_;
  std::vector<double> p50_ms_;
  std::vector<double> p99_ms_;
};

Status measure_row(const std::string& load_name, const LatencyLoad& load, uint32_t repeat,
                   const std::string& program) {
  Side ours([&](const LatencyLoad& one) { return measure_freshet(one, program); });
  Side bare(measure_bare_latency);
  for (uint32_t i = 0; i < repeat; ++i) {
    RETURN_IF_ERROR(bare.run(load_name == "half", load));
    RETURN_IF_ERROR(ours.run(load_name == "half", load));
  }
  fmt::print("{{\"bench\": \"latency\", \"load\": \"{}\", \"buffer_timeout_ms\": {}, {}, {}}}\n",
             load_name, to_millis(load.buffer_timeout), ours.keys(""), bare.keys("baseline_"));
  std::fflush(stdout);
  return Status();
}

LatencyLoad load_of(const Options& options, uint32_t timeout_ms) {
  LatencyLoad load;
  load.buffer_timeout = std::chrono::milliseconds(timeout_ms);
  load.time = std::chrono::milliseconds(options.run_ms);
  load.records_per_s = options.rate;
  return load;
}

Status measure(const Options& options) {
  ASSIGN_OR_RETURN(const std::string program, own_program_path());
  for (const std::string& load_name : options.loads) {
    for (const uint32_t timeout_ms : options.timeouts_ms) {
      RETURN_IF_ERROR(
          measure_row(load_name, load_of(options, timeout_ms), options.repeat, program));
    }
  }
  return Status();
}

Status write(const Options& options) {
  RETURN_IF_ERROR(end_with_parent(getppid()));
  return run_latency_writer(load_of(options, options.timeouts_ms.front()), options.write);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the latency of records between two processes against bare sockets.");
  app.add_option("--load", options.loads, "idle (a record a millisecond) or half of the capacity")
      ->delimiter(',')
      ->check(CLI::IsMember({"idle", "half"}))
      ->capture_default_str();
  app.add_option("--buffer-timeout-ms", options.timeouts_ms, "one row each; 0: flush each record")
      ->delimiter(',')
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--run-ms", options.run_ms, "length of a run; at least ten buffer timeouts")
      ->check(CLI::Range(100, 600'000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--write", options.write)->group("");
  app.add_option("--rate", options.rate)->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.write.empty()) end_on_signals();
  const Status status = options.write.empty() ? measure(options) : write(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_latency: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
