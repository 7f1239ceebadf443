// Sorts the lines of a generated file with a quarter of its size as memory, in one task, and with
// coreutils `sort` in one thread with as much memory, and compares the results and the time.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/base/file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "runtime/task/spilled_file.h"
#include "runtime/task/worker_pool.h"
#include "state/external_sorter.h"
#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/integration/freshet_process.h"

namespace freshet::bench {
namespace {

constexpr size_t kBlockBytes = 1u << 20;  // Of what is read and written.
constexpr Duration kRunTime = 3600s;

struct Options {
  std::string directory = "/var/tmp";
  uint64_t memory_mb = 64;
  uint64_t times = 4;  // As much data as memory.
  uint32_t repeat = 3;
};

struct Places {
  std::string directory, lines, sorted, sorted_by_loop, runs;
};

class Output {
 public:
  explicit Output(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  Status add_line(std::string_view line) {
    bytes_.append(line).push_back('\n');
    return bytes_.size() < kBlockBytes ? Status() : flush();
  }
  Status close() {
    RETURN_IF_ERROR(flush());
    return file_->close();
  }

 private:
  Status flush() {
    RETURN_IF_ERROR(file_->append(bytes_));
    bytes_.clear();
    return Status();
  }

  std::unique_ptr<WritableFile> file_;
  std::string bytes_;
};

/// Lines of 10 to 100 letters and digits.
Status write_lines(FileSystem& files, const std::string& path, uint64_t bytes) {
  ASSIGN_OR_RETURN(auto file, files.create(path));
  Output output(std::move(file));
  const auto random = make_seeded_random(1);
  constexpr std::string_view kCharacters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  std::string line;
  for (uint64_t written = 0; written < bytes; written += line.size() + 1) {
    line.resize(10 + random->below(91));
    for (size_t i = 0; i < line.size(); i += 10) {
      uint64_t word = random->next();
      for (size_t j = i; j < std::min(i + 10, line.size()); j++, word >>= 6)
        line[j] = kCharacters[word & 63];
    }
    RETURN_IF_ERROR(output.add_line(line));
  }
  return output.close();
}

Status add_lines(FileSystem& files, const std::string& path, ExternalSorter& sorter) {
  ASSIGN_OR_RETURN(const auto file, files.open(path));
  std::string bytes;
  for (uint64_t offset = 0;;) {
    const size_t before = bytes.size();
    bytes.resize(before + kBlockBytes);
    ASSIGN_OR_RETURN(const size_t got, file->read(offset, bytes.data() + before, kBlockBytes));
    bytes.resize(before + got);
    offset += got;
    if (got == 0) break;
    size_t at = 0;
    for (size_t end; (end = bytes.find('\n', at)) != bytes.npos; at = end + 1)
      RETURN_IF_ERROR(sorter.add(std::string_view(bytes).substr(at, end - at), {}));
    bytes.erase(0, at);
  }
  return bytes.empty() ? Status() : sorter.add(bytes, {});
}

Status sort_lines(FileSystem& files, const Options& options, const Places& places, bool compresses,
                  const Clock& clock) {
  ThreadExecutor disk("disk", clock);
  WorkerPool workers(1, clock);
  const std::atomic<bool> cancelled{false};
  const SpillPlace place{&files, places.runs, &disk,
                         [&workers](const auto& function) { workers.run_blocking(function); }};
  Status status;
  {
    TaskSpillSpace space(
        {std::make_shared<TempDirectories>(place), "lines", options.memory_mb << 20, compresses},
        cancelled);
    ExternalSorter sorter(space);
    RETURN_IF_ERROR(add_lines(files, places.lines, sorter));
    while (true) {
      ASSIGN_OR_RETURN(const bool ready, sorter.prepare());
      if (ready) break;
    }
    ASSIGN_OR_RETURN(auto file, files.create(places.sorted));
    Output output(std::move(file));
    while (true) {
      ASSIGN_OR_RETURN(const bool more, sorter.next());
      if (!more) break;
      RETURN_IF_ERROR(output.add_line(sorter.key()));
    }
    status = output.close();
  }
  disk.stop();
  workers.stop();
  return status;
}

Status sort_by_coreutils(const Options& options, const Places& places) {
  const testing::Outcome outcome = testing::run_program(
      "/usr/bin/env",
      {"LC_ALL=C", "sort", fmt::format("--buffer-size={}M", options.memory_mb), "--parallel=1",
       "--temporary-directory", places.directory, "--output", places.sorted_by_loop, places.lines},
      kRunTime);
  RETURN_IF_ERROR(check_interrupted());
  if (outcome.exit_code == 0) return Status();
  return internal_error("sort: " + outcome.errors);
}

Status compare(const Places& places) {
  const testing::Outcome outcome =
      testing::run_program("/usr/bin/cmp", {places.sorted, places.sorted_by_loop}, kRunTime);
  return outcome.exit_code == 0 ? Status() : internal_error("the results differ");
}

Status measure(FileSystem& files, const Options& options, const Places& places) {
  const auto clock = make_system_clock();
  const uint64_t bytes = options.times * (options.memory_mb << 20);
  RETURN_IF_ERROR(write_lines(files, places.lines, bytes));
  const double megabytes = static_cast<double>(bytes) / 1e6;
  const auto rate = [&](TimePoint begin) {
    return megabytes / std::chrono::duration<double>(clock->now() - begin).count();
  };
  for (const bool compresses : {false, true}) {
    std::vector<double> rates, loop_rates, ratios;
    for (uint32_t i = 0; i < options.repeat; i++) {
      TimePoint begin = clock->now();
      RETURN_IF_ERROR(sort_by_coreutils(options, places));
      loop_rates.push_back(rate(begin));
      begin = clock->now();
      RETURN_IF_ERROR(sort_lines(files, options, places, compresses, *clock));
      rates.push_back(rate(begin));
      ratios.push_back(rates.back() / loop_rates.back());
      RETURN_IF_ERROR(compare(places));
    }
    fmt::print(
        "{{\"bench\": \"external_sort\", \"codec\": \"{}\", \"memory_mb\": {}, \"data_mb\": "
        "{:.0f}, "
        "\"sort_mb_per_s\": {:.1f}, \"loop_mb_per_s\": {:.1f}, \"ratio\": {:.2f}}}\n",
        compresses ? "lz4" : "none", options.memory_mb, megabytes, median(rates),
        median(loop_rates), median(ratios));
    std::fflush(stdout);
  }
  return Status();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Sorts more lines than there is memory for, beside coreutils sort.");
  app.add_option("--directory", options.directory, "where the files are")->capture_default_str();
  app.add_option("--memory-mb", options.memory_mb, "of each side, in units of 2^20 bytes")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--times", options.times, "as much data as memory")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "runs of which the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  end_on_signals();
  const auto files = make_local_file_system();
  const std::string directory =
      fmt::format("{}/freshet-external-sort-{}", options.directory, getpid());
  Status status = files->create_new_directory(directory);
  if (status.ok()) {
    status = measure(*files, options,
                     {directory, directory + "/lines", directory + "/sorted",
                      directory + "/sorted-by-loop", directory + "/runs"});
  }
  (void)files->remove_all(directory);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_external_sort: {}\n", status.message());
  return 1;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
