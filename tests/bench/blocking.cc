// Blocking partitions on the local disk: all producers write, then all consumers read. Beside it a
// loop that writes and reads as much in blocks of 1 MiB.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "network/asio_transport.h"
#include "runtime/base/file_system.h"
#include "runtime/base/thread_executor.h"
#include "shuffle/block_codec.h"
#include "shuffle/shuffle_environment.h"
#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/bench/process_facts.h"
#include "tests/unit/shuffle/bell.h"

namespace freshet::bench {
namespace {

constexpr size_t kRecordBytes = 100;
constexpr size_t kLoopBlockBytes = 1u << 20;

struct Options {
  std::string directory = "/var/tmp";
  uint64_t megabytes = 1000;
  std::vector<uint32_t> parallelism = {4, 1000};
  std::vector<std::string> codecs = {"none", "lz4", "zstd"};
  uint32_t workers = 2;
  std::vector<std::string> paths = {"local", "remote"};
  uint64_t buffer_memory_mb = 64;
  uint64_t read_memory_mb = 32;
  uint32_t repeat = 3;
  bool warm = false;
};

struct Row {
  uint32_t parallelism = 0;
  BlockCodec codec = BlockCodec::kNone;
  bool remote = false;  // Consumers are in another TaskManager.
};

/// Of one run, in a process of its own; passed on through a pipe.
struct Measurement {
  double write_mb_per_s = 0;
  double read_mb_per_s = 0;
  double loop_write_mb_per_s = 0;
  double loop_read_mb_per_s = 0;
  double codec_loop_write_mb_per_s = 0;
  double codec_loop_read_mb_per_s = 0;
  double write_cpu_s = 0;
  double read_cpu_s = 0;
  double loop_write_cpu_s = 0;
  double loop_read_cpu_s = 0;
  double file_mb = 0;
  double rss_mb = 0;
};

[[noreturn]] void fail(std::string_view what) {
  fmt::print(stderr, "bench_blocking: {}\n", what);
  std::_Exit(1);
}

void check(const Status& status) {
  if (!status.ok()) fail(status.to_string());
}

Duration own_cpu_time() {
  const Result<Duration> time = cpu_time(::getpid());
  check(time.status());
  return *time;
}

int open_file(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) fail(path + ": " + std::strerror(errno));
  return fd;
}

/// Records with a key that nobody can guess and words that repeat.
class Records {
 public:
  explicit Records(uint64_t seed) : state_(seed) {}
  std::string_view next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    std::memcpy(record_.data(), &state_, sizeof state_);
    const uint64_t word = state_ >> 58;
    std::memcpy(record_.data() + 10 + word, &state_, 4);
    return {record_.data(), record_.size()};
  }
  uint32_t below(uint32_t bound) const {
    return static_cast<uint32_t>(((state_ >> 32) * bound) >> 32);
  }

 private:
  uint64_t state_;
  std::array<char, kRecordBytes> record_ = [] {
    std::array<char, kRecordBytes> record;
    constexpr std::string_view kWords = "the quick brown fox jumps over the lazy dog and all that ";
    for (size_t i = 0; i < record.size(); ++i) record[i] = kWords[i % kWords.size()];
    return record;
  }();
};

std::string directory_of(const Options& options, pid_t process) {
  return fmt::format("{}/freshet-bench-blocking-{}", options.directory, process);
}

/// As many bytes as records, in blocks of 1 MiB: what a partition is compared with.
class Loop {
 public:
  /// Each of `threads` has a file of its own and an equal part of the bytes. With a codec the
  /// blocks are compressed, each alone.
  Loop(std::string path, uint64_t bytes, uint32_t threads, BlockCodec codec)
      : path_(std::move(path)), bytes_(bytes / threads), threads_(threads), codec_(codec) {
    Records records(0);
    while (block_.size() < kLoopBlockBytes) block_ += records.next();
    block_.resize(kLoopBlockBytes);
  }

  void write(const Clock& clock) const {
    on_threads(clock, [this](uint32_t thread) { write_one(thread); });
  }
  void read(const Clock& clock) const {
    on_threads(clock, [this](uint32_t thread) { read_one(thread); });
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (uint32_t i = 0; i < threads_; ++i) paths.push_back(path_of(i));
    return paths;
  }

 private:
  std::string path_of(uint32_t thread) const { return fmt::format("{}-{}", path_, thread); }

  void on_threads(const Clock& clock, const std::function<void(uint32_t)>& step) const {
    std::vector<std::unique_ptr<ThreadExecutor>> threads;
    for (uint32_t i = 0; i < threads_; ++i) {
      threads.push_back(std::make_unique<ThreadExecutor>("loop", clock));
      threads.back()->post("loop", [&step, i] { step(i); });
    }
    for (const auto& thread : threads) thread->stop();
  }

  void write_one(uint32_t thread) const {
    const int fd = open_file(path_of(thread), O_WRONLY | O_CREAT | O_TRUNC);
    BlockCompressor compressor(codec_);
    std::string stored(sizeof(uint32_t) + block_.size(), '\0');
    for (uint64_t left = bytes_; left > 0;) {
      const std::string_view raw = std::string_view(block_).substr(0, left);
      std::string_view out = raw;
      if (codec_ != BlockCodec::kNone) {
        char* const to = stored.data() + sizeof(uint32_t);
        const auto size = static_cast<uint32_t>(compressor.compress(raw, to, raw.size()));
        if (size == 0) fail("a block of the loop does not become smaller");
        std::memcpy(stored.data(), &size, sizeof size);
        out = {stored.data(), sizeof size + size};
      }
      if (::write(fd, out.data(), out.size()) != static_cast<ssize_t>(out.size())) fail("write");
      left -= raw.size();
    }
    ::close(fd);
  }

  void read_one(uint32_t thread) const {
    const int fd = open_file(path_of(thread), O_RDONLY);
    std::string block(kLoopBlockBytes, '\0');
    std::string stored(kLoopBlockBytes, '\0');
    for (uint64_t left = bytes_; left > 0;) {
      const size_t size = std::min<uint64_t>(left, kLoopBlockBytes);
      uint32_t stored_size = static_cast<uint32_t>(size);
      if (codec_ != BlockCodec::kNone) read_whole(fd, &stored_size, sizeof stored_size);
      read_whole(fd, stored.data(), stored_size);
      if (codec_ != BlockCodec::kNone)
        check(decompress_block(codec_, {stored.data(), stored_size}, block.data(), size));
      left -= size;
    }
    ::close(fd);
  }

  static void read_whole(int fd, void* to, size_t size) {
    if (::read(fd, to, size) != static_cast<ssize_t>(size)) fail("read");
  }

  const std::string path_;
  const uint64_t bytes_;
  const uint32_t threads_;
  const BlockCodec codec_;
  std::string block_;
};

/// Two TaskManagers' data planes in one process: that which writes, and another one.
class Run {
 public:
  Run(const Options& options, const Row& row, const Clock& clock)
      : options_(options),
        row_(row),
        clock_(clock),
        disk_("disk", clock),
        directory_(directory_of(options, ::getpid())) {
    check(files_->create_directories(directory_));
    writing_ = make_environment(kWriting);
    if (row_.remote) reading_ = make_environment(kReading);
  }
  ~Run() {
    writing_->release_stored_of(kJob);
    writing_->shut_down();
    if (reading_) reading_->shut_down();
    disk_.stop();
    reading_ = nullptr;
    writing_ = nullptr;
    (void)files_->remove_all(directory_);
  }

  Measurement measure() {
    Measurement measurement;
    const uint64_t bytes = record_count() * kRecordBytes;
    const auto seconds = [&](auto step) {
      const TimePoint begin = clock_.now();
      step();
      return std::chrono::duration<double>(clock_.now() - begin).count();
    };
    const auto cpu_seconds = [](auto step) {
      const Duration begin = own_cpu_time();
      step();
      return std::chrono::duration<double>(own_cpu_time() - begin).count();
    };
    const auto rate = [bytes](double seconds) {
      return static_cast<double>(bytes) / 1e6 / seconds;
    };
    const Loop plain(directory_ + "/loop", bytes, 1, BlockCodec::kNone);
    const Loop coded(directory_ + "/codec-loop", bytes, options_.workers, row_.codec);
    const auto write = [&](const Loop& loop) {
      loop.write(clock_);
      sync_files();
    };
    write(plain);  // Whoever is first finds memory that the machine has to get first.
    write(coded);
    // The disk is not always as fast: the loop has its turn before and after.
    double loop = seconds([&] { write(plain); });
    measurement.codec_loop_write_mb_per_s = rate(seconds([&] { write(coded); }));
    measurement.write_cpu_s =
        cpu_seconds([&] { measurement.write_mb_per_s = rate(seconds([&] { write_all(); })); });
    measurement.loop_write_cpu_s = cpu_seconds([&] { loop += seconds([&] { write(plain); }); });
    measurement.loop_write_mb_per_s = rate(loop / 2);
    const std::vector<std::string> written = partition_files();
    for (const std::string& path : written)
      measurement.file_mb += static_cast<double>(files_->info(path)->size_bytes) / 1e6;
    forget_pages(plain.paths());
    forget_pages(coded.paths());
    forget_pages(written);
    loop = seconds([&] { plain.read(clock_); });
    measurement.codec_loop_read_mb_per_s = rate(seconds([&] { coded.read(clock_); }));
    measurement.read_cpu_s =
        cpu_seconds([&] { measurement.read_mb_per_s = rate(seconds([&] { read_all(); })); });
    forget_pages(plain.paths());
    measurement.loop_read_cpu_s =
        cpu_seconds([&] { loop += seconds([&] { plain.read(clock_); }); });
    measurement.loop_read_mb_per_s = rate(loop / 2);
    if (const auto peak = peak_resident_bytes(::getpid()); peak.ok())
      measurement.rss_mb = static_cast<double>(*peak) / 1e6;
    return measurement;
  }

 private:
  static constexpr JobId kJob{1, 1};
  static constexpr TaskManagerId kWriting{1};
  static constexpr TaskManagerId kReading{2};

  std::unique_ptr<ShuffleEnvironment> make_environment(TaskManagerId id) {
    ShuffleEnvironment::Options options;
    options.task_manager = id;
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = options_.buffer_memory_mb << 20;
    options.store = SpillPlace{files_.get(), fmt::format("{}/partitions-{}", directory_, id.value),
                               &disk_, [](const auto& function) { function(); }};
    options.store_codec = row_.codec;
    options.store_read_bytes = options_.read_memory_mb << 20;
    auto environment = ShuffleEnvironment::create(options, *transports_[id.value - 1]);
    check(environment.status());
    return std::move(environment).value();
  }

  uint64_t record_count() const {
    const uint64_t each = options_.megabytes * 1'000'000 / kRecordBytes / row_.parallelism;
    return each * row_.parallelism;
  }

  /// Steps 0 to `count` on as many threads as a TaskManager of this machine has workers.
  void on_workers(uint32_t count, const std::function<void(uint32_t)>& step) const {
    std::atomic<uint32_t> next{0};
    std::vector<std::unique_ptr<ThreadExecutor>> workers;
    for (uint32_t i = 0; i < options_.workers; ++i) {
      workers.push_back(std::make_unique<ThreadExecutor>("worker", clock_));
      workers.back()->post("steps", [&] {
        for (uint32_t i = next++; i < count; i = next++) step(i);
      });
    }
    for (const auto& worker : workers) worker->stop();
  }

  void write_all() {
    on_workers(row_.parallelism, [this](uint32_t producer) { write_one(producer); });
    sync_files();
  }

  /// What the kernel has not written yet is part of writing.
  void sync_files() const {
    const int fd = open_file(directory_, O_RDONLY | O_DIRECTORY);
    if (::syncfs(fd) != 0) fail("syncfs");
    ::close(fd);
  }

  void write_one(uint32_t producer) {
    const auto woken = std::make_shared<Bell>();
    ResultPartition::Options options;
    options.job = kJob;
    options.producer = producer;
    options.subpartitions = row_.parallelism;
    options.fixed_record_size = kRecordBytes;
    options.blocking = true;
    options.wake = [woken] { woken->ring(); };
    const auto partition = writing_->create_partition(options);
    check(partition.status());
    Records records(producer);
    for (uint64_t left = record_count() / row_.parallelism; left > 0; --left) {
      const std::string_view record = records.next();
      (*partition)
          ->write(records.below(row_.parallelism), kNoTimestamp, kRecordBytes,
                  [&](Encoder& encoder) { encoder.write(record.data(), kRecordBytes); });
    }
    (*partition)->end_of_data();
    while (!(*partition)->handed_over()) {
      check((*partition)->status());
      woken->wait();
    }
    (*partition)->release();
  }

  std::vector<std::string> partition_files() const {
    const std::string directory = fmt::format("{}/partitions-{}", directory_, kWriting.value);
    std::vector<std::string> paths;
    const auto jobs = files_->list(directory);
    check(jobs.status());
    for (const FileInfo& job : *jobs) {
      const auto files = files_->list(job.path);
      check(files.status());
      for (const FileInfo& file : *files) paths.push_back(file.path);
    }
    return paths;
  }

  /// So that they are read from the disk, unless they are to be warm.
  void forget_pages(const std::vector<std::string>& paths) const {
    if (options_.warm) return;
    for (const std::string& path : paths) {
      const int fd = open_file(path, O_RDONLY);
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  }

  void read_all() {
    std::atomic<uint64_t> records{0};
    on_workers(row_.parallelism, [&](uint32_t consumer) { records += read_one(consumer); });
    if (records != record_count())
      fail(fmt::format("{} records came of {}", records.load(), record_count()));
  }

  /// One consumer, which reads from all producers at once.
  uint64_t read_one(uint32_t consumer) {
    const auto woken = std::make_shared<Bell>();
    InputGate::Options options;
    options.job = kJob;
    options.subpartition = consumer;
    options.consumer = AttemptId{kJob, SubtaskId{VertexId{1}, consumer}, 0};
    options.locations = {{kWriting, writing_->data_address(), {}}};
    options.producers = {{0, row_.parallelism, 0, 0}};
    options.fixed_record_size = kRecordBytes;
    options.blocking = true;
    options.stored = true;
    options.wake = [woken] { woken->ring(); };
    options.on_loss = [](const ChannelLoss& loss) { fail(loss.cause.to_string()); };
    const auto gate = (row_.remote ? reading_ : writing_)->create_gate(options);
    check(gate.status());
    const bool never = false;
    while (true) {
      while (const auto producer = (*gate)->next_ready()) {
        if (auto run = (*gate)->begin_run(*producer, UINT32_MAX, &never)) {
          (void)run->next_plain(UINT32_MAX);
          (*gate)->end_run(*producer, *run);
        } else {
          (void)(*gate)->take_from(*producer);
        }
      }
      if ((*gate)->ended()) break;
      (*gate)->end_step();
      woken->wait();
    }
    const uint64_t records = (*gate)->records_read();
    (*gate)->release();
    return records;
  }

  const Options& options_;
  const Row row_;
  const Clock& clock_;
  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  const std::array<std::unique_ptr<Transport>, 2> transports_{make_asio_transport({.threads = 1}),
                                                              make_asio_transport({.threads = 1})};
  ThreadExecutor disk_;
  const std::string directory_;
  std::unique_ptr<ShuffleEnvironment> writing_;
  std::unique_ptr<ShuffleEnvironment> reading_;
};

/// In a process of its own, so that its memory is its own.
Measurement measure_apart(const Options& options, const Row& row) {
  int ends[2];
  if (::pipe(ends) != 0) fail("pipe");
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    const auto clock = make_system_clock();
    Measurement measurement;
    {
      Run run(options, row, *clock);
      measurement = run.measure();
    }
    std::_Exit(::write(ends[1], &measurement, sizeof measurement) == sizeof measurement ? 0 : 1);
  }
  ::close(ends[1]);
  Measurement measurement;
  const bool whole = ::read(ends[0], &measurement, sizeof measurement) == sizeof measurement;
  ::close(ends[0]);
  if (!whole) ::kill(child, SIGKILL);  // It failed, or this process was interrupted.
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  check(make_local_file_system()->remove_all(directory_of(options, child)));
  check(check_interrupted());
  if (!whole || status != 0) fail("a run failed");
  return measurement;
}

void measure_row(const Options& options, const Row& row) {
  std::vector<Measurement> all;
  for (uint32_t i = 0; i < options.repeat; ++i) all.push_back(measure_apart(options, row));
  const auto of = [&](auto value) {
    std::vector<double> values;
    for (const Measurement& each : all) values.push_back(value(each));
    return median(values);
  };
  const double write_ratio =
      of([](const auto& m) { return m.write_mb_per_s / m.loop_write_mb_per_s; });
  const double read_ratio =
      of([](const auto& m) { return m.read_mb_per_s / m.loop_read_mb_per_s; });
  fmt::print(
      "{{\"bench\": \"blocking\", \"path\": \"{}\", \"cache\": \"{}\", \"producers\": {}, "
      "\"consumers\": {}, \"codec\": \"{}\", \"write_mb_per_s\": {:.0f}, \"read_mb_per_s\": "
      "{:.0f}, ",
      row.remote ? "remote" : "local", options.warm ? "warm" : "cold", row.parallelism,
      row.parallelism, to_string(row.codec), of([](const auto& m) { return m.write_mb_per_s; }),
      of([](const auto& m) { return m.read_mb_per_s; }));
  fmt::print(
      "\"loop_write_mb_per_s\": {:.0f}, \"loop_read_mb_per_s\": {:.0f}, \"write_ratio\": {:.2f}, "
      "\"read_ratio\": {:.2f}, \"ratio\": {:.2f}, \"codec_write_ratio\": {:.2f}, "
      "\"codec_read_ratio\": {:.2f}, ",
      of([](const auto& m) { return m.loop_write_mb_per_s; }),
      of([](const auto& m) { return m.loop_read_mb_per_s; }), write_ratio, read_ratio,
      std::min(write_ratio, read_ratio),
      of([](const auto& m) { return m.write_mb_per_s / m.codec_loop_write_mb_per_s; }),
      of([](const auto& m) { return m.read_mb_per_s / m.codec_loop_read_mb_per_s; }));
  fmt::print(
      "\"write_cpu_s\": {:.2f}, \"read_cpu_s\": {:.2f}, \"loop_write_cpu_s\": {:.2f}, "
      "\"loop_read_cpu_s\": {:.2f}, \"file_mb\": {:.0f}, \"rss_mb\": {:.0f}}}\n",
      of([](const auto& m) { return m.write_cpu_s; }),
      of([](const auto& m) { return m.read_cpu_s; }),
      of([](const auto& m) { return m.loop_write_cpu_s; }),
      of([](const auto& m) { return m.loop_read_cpu_s; }),
      of([](const auto& m) { return m.file_mb; }), of([](const auto& m) { return m.rss_mb; }));
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Blocking partitions on the local disk, beside a loop of 1 MiB blocks");
  app.add_option("--directory", options.directory, "where the files are");
  app.add_option("--megabytes", options.megabytes, "of records in each run");
  app.add_option("--parallelism", options.parallelism, "producers, and as many consumers");
  app.add_option("--codec", options.codecs, "none, lz4, zstd");
  app.add_option("--workers", options.workers, "threads that write, and then read");
  app.add_option("--path", options.paths, "local, remote: over a socket to another TaskManager");
  app.add_option("--buffer-memory-mb", options.buffer_memory_mb, "of each TaskManager");
  app.add_option("--read-memory-mb", options.read_memory_mb, "of all readers");
  app.add_option("--repeat", options.repeat, "runs of each row");
  app.add_flag("--warm", options.warm, "leaves in the page cache what was written");
  CLI11_PARSE(app, argc, argv);
  end_on_signals();
  for (const uint32_t parallelism : options.parallelism) {
    for (const std::string& name : options.codecs) {
      const Result<BlockCodec> codec = parse_block_codec(name);
      check(codec.status());
      for (const std::string& path : options.paths)
        measure_row(options, {parallelism, *codec, path == "remote"});
    }
  }
  return 0;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
