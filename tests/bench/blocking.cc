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
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>

#include "runtime/base/thread_executor.h"
#include "shuffle/blocking_partition.h"
#include "shuffle/partition_store.h"
#include "tests/bench/interruption.h"
#include "tests/bench/median.h"
#include "tests/bench/process_facts.h"

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
  uint64_t write_memory_mb = 16;
  uint64_t read_memory_mb = 32;
  uint32_t repeat = 3;
  bool warm = false;
};

struct Row {
  uint32_t parallelism = 0;
  BlockCodec codec = BlockCodec::kNone;
};

/// Of one run, in a process of its own; passed on through a pipe.
struct Measurement {
  double write_mb_per_s = 0;
  double read_mb_per_s = 0;
  double loop_write_mb_per_s = 0;
  double loop_read_mb_per_s = 0;
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

/// Readers of which something can be taken, as they are woken.
class ReadyList {
 public:
  void add(size_t index) {
    std::lock_guard lock(mutex_);
    ready_.push_back(index);
    changed_.notify_one();
  }
  size_t wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty(); });
    const size_t index = ready_.front();
    ready_.pop_front();
    return index;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> ready_;
};

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

class Run {
 public:
  Run(const Options& options, const Row& row, const Clock& clock)
      : options_(options),
        row_(row),
        clock_(clock),
        disk_("disk", clock),
        directory_(directory_of(options, ::getpid())) {
    auto store = PartitionStore::create(
        {{files_.get(), directory_, &disk_, [](const auto& function) { function(); }},
         options.read_memory_mb << 20});
    check(store.status());
    store_ = std::move(store).value();
  }
  ~Run() {
    disk_.stop();
    (void)files_->remove_all(directory_);
  }

  Measurement measure() {
    Measurement measurement;
    const double megabytes = static_cast<double>(record_count()) * kRecordBytes / 1e6;
    const auto rate = [&](auto step) {
      const TimePoint begin = clock_.now();
      step();
      return megabytes / std::chrono::duration<double>(clock_.now() - begin).count();
    };
    write_loop();  // Whoever is first finds memory that the machine has to get first.
    measurement.loop_write_mb_per_s = rate([&] { write_loop(); });
    measurement.write_mb_per_s = rate([&] { write_all(); });
    measurement.file_mb = static_cast<double>(store_->file_bytes()) / 1e6;
    forget_pages();
    measurement.loop_read_mb_per_s = rate([&] { read_loop(); });
    measurement.read_mb_per_s = rate([&] { read_all(); });
    if (const auto peak = peak_resident_bytes(::getpid()); peak.ok())
      measurement.rss_mb = static_cast<double>(*peak) / 1e6;
    return measurement;
  }

 private:
  uint64_t record_count() const {
    const uint64_t each = options_.megabytes * 1'000'000 / kRecordBytes / row_.parallelism;
    return each * row_.parallelism;
  }

  std::string loop_path() const { return directory_ + "/loop"; }

  int open_file(const std::string& path, int flags) const {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd < 0) fail(path + ": " + std::strerror(errno));
    return fd;
  }

  void write_loop() {
    const int fd = open_file(loop_path(), O_WRONLY | O_CREAT | O_TRUNC);
    std::string block;
    Records records(0);
    while (block.size() < kLoopBlockBytes) block += records.next();
    block.resize(kLoopBlockBytes);
    for (uint64_t left = record_count() * kRecordBytes; left > 0;) {
      const size_t size = std::min<uint64_t>(left, block.size());
      if (::write(fd, block.data(), size) != static_cast<ssize_t>(size)) fail("write");
      left -= size;
    }
    ::close(fd);
    sync_files();
  }

  void read_loop() {
    const int fd = open_file(loop_path(), O_RDONLY);
    std::string block(kLoopBlockBytes, '\0');
    while (true) {
      const ssize_t size = ::read(fd, block.data(), block.size());
      if (size < 0) fail("read");
      if (size == 0) break;
    }
    ::close(fd);
  }

  PartitionKey key(uint32_t producer) const { return {{1, 1}, DatasetId{1}, producer, 0}; }

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
    ReadyList done;
    ResultPartition::Options options;
    options.job = key(producer).job;
    options.producer = producer;
    options.subpartitions = row_.parallelism;
    options.fixed_record_size = kRecordBytes;
    options.wake = [&done] { done.add(0); };
    BlockingPartition::Context context;
    context.pool = pool_;
    context.claim = {options_.write_memory_mb << 20, 0};
    context.place = store_->place_of(options.job);
    context.file_name = PartitionStore::file_name(key(producer));
    context.codec = row_.codec;
    BlockingPartition partition(options, context);
    Records records(producer);
    for (uint64_t left = record_count() / row_.parallelism; left > 0; --left) {
      const std::string_view record = records.next();
      partition.write(records.below(row_.parallelism), kNoTimestamp, kRecordBytes,
                      [&](Encoder& encoder) { encoder.write(record.data(), kRecordBytes); });
    }
    partition.end_of_data();
    while (!partition.published()) done.wait();
    const Result<PublishedPartition> published = *partition.published();
    check(published.status());
    check(store_->publish(key(producer), *published));
    partition.release();
  }

  /// So that they are read from the disk, unless they are to be warm.
  void forget_pages() {
    if (options_.warm) return;
    std::vector<std::string> paths = {loop_path()};
    for (uint32_t producer = 0; producer < row_.parallelism; ++producer)
      paths.push_back(store_->find(key(producer))->path);
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
    ReadyList ready;
    std::vector<std::shared_ptr<PartitionReader>> readers;
    for (uint32_t producer = 0; producer < row_.parallelism; ++producer) {
      PartitionReader::Options options;
      options.subpartition = consumer;
      options.fixed_record_size = kRecordBytes;
      options.wake = [&ready, index = readers.size()] { ready.add(index); };
      auto reader = store_->read(key(producer), options);
      check(reader.status());
      readers.push_back(std::move(reader).value());
    }
    uint64_t records = 0;
    for (size_t i = 0; i < readers.size(); ++i) ready.add(i);
    for (size_t open = readers.size(); open > 0;) {
      const size_t index = ready.wait();
      if (!readers[index]) continue;  // It was woken once more.
      PartitionReader& reader = *readers[index];
      while (true) {
        const auto taken = reader.take();
        check(taken.status());
        if (!*taken) break;
        records += (*taken)->buffer.elements_started;
      }
      if (!reader.ended()) continue;
      readers[index]->close();
      readers[index] = nullptr;
      --open;
    }
    return records;
  }

  const Options& options_;
  const Row row_;
  const Clock& clock_;
  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  ThreadExecutor disk_;
  const std::string directory_;
  const std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(64u << 20);
  std::unique_ptr<PartitionStore> store_;
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
      "{{\"bench\": \"blocking\", \"path\": \"local\", \"cache\": \"{}\", \"producers\": {}, "
      "\"consumers\": {}, \"codec\": \"{}\", \"write_mb_per_s\": {:.0f}, \"read_mb_per_s\": "
      "{:.0f}, "
      "\"loop_write_mb_per_s\": {:.0f}, \"loop_read_mb_per_s\": {:.0f}, \"write_ratio\": {:.2f}, "
      "\"read_ratio\": {:.2f}, \"ratio\": {:.2f}, \"file_mb\": {:.0f}, \"rss_mb\": {:.0f}}}\n",
      options.warm ? "warm" : "cold", row.parallelism, row.parallelism, to_string(row.codec),
      of([](const auto& m) { return m.write_mb_per_s; }),
      of([](const auto& m) { return m.read_mb_per_s; }),
      of([](const auto& m) { return m.loop_write_mb_per_s; }),
      of([](const auto& m) { return m.loop_read_mb_per_s; }), write_ratio, read_ratio,
      std::min(write_ratio, read_ratio), of([](const auto& m) { return m.file_mb; }),
      of([](const auto& m) { return m.rss_mb; }));
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
  app.add_option("--write-memory-mb", options.write_memory_mb, "of a partition");
  app.add_option("--read-memory-mb", options.read_memory_mb, "of all readers");
  app.add_option("--repeat", options.repeat, "runs of each row");
  app.add_flag("--warm", options.warm, "leaves in the page cache what was written");
  CLI11_PARSE(app, argc, argv);
  end_on_signals();
  for (const uint32_t parallelism : options.parallelism) {
    for (const std::string& name : options.codecs) {
      const Result<BlockCodec> codec = parse_block_codec(name);
      check(codec.status());
      measure_row(options, {parallelism, *codec});
    }
  }
  return 0;
}

}  // namespace
}  // namespace freshet::bench

int main(int argc, char** argv) { return freshet::bench::run(argc, argv); }
