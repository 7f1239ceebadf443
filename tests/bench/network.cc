// Sends 8-byte records from four writers in one process to one reader in another, over one TCP
// connection, as Flink's networkThroughput does, and by hand, and compares the two.

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "runtime/base/file_system.h"
#include "tests/bench/bare_network.h"
#include "tests/bench/median.h"
#include "tests/bench/network_sides.h"
#include "tests/integration/freshet_process.h"

namespace freshet::bench {
namespace {

struct Options {
  std::vector<uint32_t> channels = {100, 1000};
  std::vector<uint32_t> flush_ms = {100, 1};
  std::vector<std::string> sockets = {"tcp", "unix"};
  uint64_t records = 40'000'000;
  uint32_t repeat = 3;
  std::string write;  // Directory of a writing process.
};

const char* socket_name(const NetworkLoad& load) { return load.unix_socket ? "unix" : "tcp"; }

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Duration own_cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

Result<NetworkTime> measure_freshet(const NetworkLoad& load, const std::string& program) {
  const testing::TemporaryDirectory directory;
  testing::FreshetProcess writers(
      program, {"--write", directory.path(), "--channels", std::to_string(load.channels),
                "--flush-ms", std::to_string(to_millis(load.flush)), "--records",
                std::to_string(load.records), "--sockets", socket_name(load)});
  if (!testing::wait_until([&] { return testing::exists(directory / "address"); }, 10s))
    return internal_error("the writers do not start: " + writers.errors());
  ASSIGN_OR_RETURN(Address address, Address::parse(testing::read_file(directory / "address")));
  NetworkReader reader(load, std::move(address), directory.path());
  RETURN_IF_ERROR(reader.attach());
  testing::pause(100ms);  // For attaching.
  const Duration cpu_before = own_cpu_time();
  const TimePoint begin = testing::monotonic_now();
  testing::write_file(directory / "begin", "");
  RETURN_IF_ERROR(reader.read_all());
  NetworkTime taken;
  taken.time = testing::monotonic_now() - begin;
  taken.cpu_time = own_cpu_time() - cpu_before;
  testing::write_file(directory / "end", "");
  const auto code = writers.wait(10s);
  if (code != 0) return internal_error("the writers end badly: " + writers.errors());
  taken.cpu_time += writers.cpu_time();
  return taken;
}

Status measure_row(const NetworkLoad& load, uint32_t repeat, const std::string& program) {
  std::vector<double> rates, baselines, ratios, cpu_ratios;
  for (uint32_t i = 0; i < repeat; ++i) {
    ASSIGN_OR_RETURN(const NetworkTime bare, measure_bare_network(load));
    ASSIGN_OR_RETURN(const NetworkTime ours, measure_freshet(load, program));
    const auto records = static_cast<double>(load.records);
    rates.push_back(records / seconds(ours.time));
    baselines.push_back(records / seconds(bare.time));
    ratios.push_back(seconds(bare.time) / seconds(ours.time));
    cpu_ratios.push_back(seconds(bare.cpu_time) / seconds(ours.cpu_time));
  }
  fmt::print(
      "{{\"bench\": \"network\", \"socket\": \"{}\", \"channels\": {}, \"flush_ms\": {}, "
      "\"records_per_s\": {:.0f}, \"baseline_records_per_s\": {:.0f}, \"ratio\": {:.3f}, "
      "\"cpu_ratio\": {:.3f}}}\n",
      socket_name(load), load.channels, to_millis(load.flush), median(rates), median(baselines),
      median(ratios), median(cpu_ratios));
  std::fflush(stdout);
  return Status();
}

Status run_rows(const Options& options, bool unix_socket, const std::string& program) {
  for (const uint32_t channels : options.channels) {
    for (const uint32_t flush_ms : options.flush_ms) {
      NetworkLoad load;
      load.unix_socket = unix_socket;
      load.channels = channels;
      load.flush = std::chrono::milliseconds(flush_ms);
      load.records = options.records / load.writers * load.writers;
      if (!options.write.empty()) return run_network_writers(load, options.write);
      RETURN_IF_ERROR(measure_row(load, options.repeat, program));
    }
  }
  return Status();
}

Status run_all(const Options& options, const std::string& program) {
  for (const std::string& socket : options.sockets)
    RETURN_IF_ERROR(run_rows(options, socket == "unix", program));
  return Status();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the data plane between two processes against bare sockets.");
  app.add_option("--channels", options.channels, "of each of the four writers, one row each")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--flush-ms", options.flush_ms, "longest wait of a record, one row each")
      ->delimiter(',')
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  app.add_option("--sockets", options.sockets, "between Freshet's processes, four rows each")
      ->delimiter(',')
      ->check(CLI::IsMember({"tcp", "unix"}))
      ->capture_default_str();
  app.add_option("--records", options.records, "of a run")
      ->check(CLI::Range(10'000, 2'000'000'000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--write", options.write)->group("");
  CLI11_PARSE(app, argc, argv);
  const Status status = run_all(options, "/proc/self/exe");
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_network: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
