#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <sstream>
#include <thread>

#include "network/local_transport.h"
#include "runtime/api/environment.h"
#include "runtime/api/in_process_module.h"
#include "runtime/app/control_client.h"
#include "runtime/app/job_manager_runner.h"
#include "runtime/app/task_manager_runner.h"
#include "runtime/base/hash.h"
#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/sequence.h"
#include "runtime/connectors/text_files.h"
#include "runtime/graph/job_graph.h"

// Whole jobs on all the threads that a local cluster has, in one process and without sockets, so
// that ThreadSanitizer sees every hand-over between them.

namespace freshet {
namespace {

constexpr uint32_t kParallelism = 4;
constexpr uint32_t kFiles = 5;
constexpr uint32_t kLinesPerFile = 600;
constexpr uint32_t kWordsPerLine = 8;
constexpr uint32_t kLines = kFiles * kLinesPerFile;
constexpr const char* kModuleBytes = "stands for a shared object";

struct WordCount {
  std::string word;
  uint64_t count = 0;
};

std::string text_of_file(uint32_t file) {
  std::string text;
  for (uint32_t line = 0; line < kLinesPerFile; ++line) {
    for (uint32_t word = 0; word < kWordsPerLine; ++word) {
      text += "word" + std::to_string((file * 31 + line * 7 + word * word) % 97) + ' ';
    }
    text += '\n';
  }
  return text;
}

std::map<std::string, uint64_t> model_counts() {
  std::map<std::string, uint64_t> counts;
  for (uint32_t file = 0; file < kFiles; ++file) {
    std::istringstream text(text_of_file(file));
    for (std::string word; text >> word;) ++counts[word];
  }
  return counts;
}

/// Ends a task once, in the middle of the job. Its counter orders no memory between the tasks that
/// share it: that would hide races.
struct OneFailure {
  uint32_t at_line = 0;  // 0: never.
  std::atomic<uint32_t> lines = 0;

  void pass() {
    if (lines.fetch_add(1, std::memory_order_relaxed) + 1 == at_line) {
      throw std::runtime_error("a failure in the middle");
    }
  }
};

/// A JobManager and TaskManagers, two by default, with two workers each and the slots for one job.
class ThreadCluster {
 public:
  explicit ThreadCluster(std::shared_ptr<JobModule> module,
                         std::vector<std::string> names = {"first", "second"})
      : slots_(kParallelism / static_cast<uint32_t>(names.size())), transport_(network_) {
    modules_.add(content_hash(kModuleBytes) + ".so", std::move(module));
    EXPECT_TRUE(configuration_.set(std::string(config::kWorkerThreads.name), "2").ok());
    EXPECT_TRUE(configuration_.set(std::string(config::kChannelHash.name), "true").ok());
    job_manager_ = std::make_unique<JobManagerRunner>(
        JobManagerRunner::Options{configuration_, kAnyPort, directory() + "/jobmanager"},
        transport_, *clock_, *files_, nullptr);
    control_ = job_manager_->start().value();
    for (const std::string& name : names) add_task_manager(name);
    client_ = ControlClient::connect({.job_manager = control_, .secret = ""}, transport_, *clock_)
                  .value();
  }

  ~ThreadCluster() {
    client_.reset();
    task_managers_.clear();
    job_manager_.reset();
    EXPECT_TRUE(files_->remove_all(directory()).ok());
  }

  ControlClient& client() { return *client_; }
  FileSystem& files() { return *files_; }
  std::string directory() const { return directory_; }

  /// Waits until the job has ended.
  JobReport run(const Submission& submission) {
    EXPECT_TRUE(client_->put_blob(submission.module_hash, kModuleBytes).ok());
    const JobId job = client_->submit(submission).value();
    while (true) {
      JobReport report = client_->get(job).value();
      if (is_terminal(report.state) && !report.tidying) return report;
    }
  }

 private:
  void add_task_manager(const std::string& name) {
    TaskManagerRunner::Options options;
    options.configuration = configuration_;
    options.job_manager = control_;
    options.bind = kAnyPort;
    options.name = name;
    options.state_directory = directory() + "/" + name;
    options.slots = slots_;
    task_managers_.push_back(
        TaskManagerRunner::start(options, transport_, *clock_, *files_, modules_, nullptr).value());
  }

  const Address kAnyPort{"127.0.0.1", 0};
  const uint32_t slots_;
  const std::string directory_ =
      ::testing::TempDir() + "job_on_threads." + std::to_string(make_system_random()->next());
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
  InProcessModuleLoader modules_;
  Configuration configuration_;
  ThreadExecutor network_{"network", *clock_};
  LocalTransport transport_;
  Address control_;
  std::unique_ptr<JobManagerRunner> job_manager_;
  std::vector<std::unique_ptr<TaskManagerRunner>> task_managers_;
  std::unique_ptr<ControlClient> client_;
};

Submission submission_of(JobModule& module) {
  Submission submission;
  submission.name = "word_count";
  submission.module_hash = content_hash(kModuleBytes);
  submission.build.parallelism = kParallelism;
  submission.build.configuration["source.file.split-size"] = "4 kb";
  const auto built = module.build(submission.build).value();
  JobGraphOptions options;
  options.parallelism = kParallelism;
  submission.graph = build_job_graph(built->graph(), options).value();
  submission.fingerprint = fingerprint_of(built->graph());
  return submission;
}

/// Runs word count, which emits every update, and expects what the model says.
JobReport count_words(OneFailure& failure) {
  const auto results = std::make_shared<CollectedResults<WordCount>>();
  const std::string input =
      ::testing::TempDir() + "words." + std::to_string(make_system_random()->next());
  const auto module =
      std::make_shared<InProcessModule>("word_count", [&, results](Environment& env) {
        env.from_source(text_files({input}))
            .flat_map([&failure](const std::string& line, Collector<WordCount>& out) {
              failure.pass();
              std::istringstream words(line);
              for (std::string word; words >> word;) out.collect(WordCount{word, 1});
            })
            .key_by(&WordCount::word)
            .sum(&WordCount::count)
            .sink_to(collect_sink<WordCount>(results));
      });
  JobReport report;
  {
    ThreadCluster cluster(module);
    EXPECT_TRUE(cluster.files().create_directories(input).ok());
    for (uint32_t file = 0; file < kFiles; ++file) {
      const std::string path = input + "/" + std::to_string(file) + ".txt";
      EXPECT_TRUE(cluster.files().write_atomically(path, text_of_file(file)).ok());
    }
    report = cluster.run(submission_of(*module));
    EXPECT_TRUE(cluster.files().remove_all(input).ok());
  }
  std::map<std::string, uint64_t> counts;
  for (const WordCount& update : results->values()) {
    EXPECT_EQ(update.count, ++counts[update.word]) << update.word;
  }
  EXPECT_EQ(counts, model_counts());
  return report;
}

TEST(JobOnThreadsTest, CountsWordsOnTwoTaskManagers) {
  OneFailure never;
  const JobReport report = count_words(never);
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(never.lines.load(), kLines);
}

TEST(JobOnThreadsTest, CountsEachWordOnceWhenATaskThrowsInTheMiddle) {
  OneFailure failure;
  failure.at_line = kLines / 2;
  const JobReport report = count_words(failure);
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 1u);
  EXPECT_GE(failure.lines.load(), kLines + failure.at_line);
}

/// Timers of sources that wait, on the main thread, wake tasks that workers step.
TEST(JobOnThreadsTest, GeneratesAtARateForTasksInAnotherSlotSharingGroup) {
  const auto results = std::make_shared<CollectedResults<uint64_t>>();
  const auto module = std::make_shared<InProcessModule>("numbers", [&](Environment& env) {
    env.set_parallelism(kParallelism / 2);  // For each of the two groups.
    env.set_buffer_timeout(0ms);
    env.from_source(data_generator([](uint64_t index) { return index; }, 300, 2000))
        .partition_custom([](uint64_t key, uint32_t partitions) { return key % partitions; },
                          [](uint64_t number) { return number; })
        .map([](uint64_t number) { return number; })
        .slot_sharing_group("other")
        .sink_to(collect_sink<uint64_t>(results));
  });
  JobReport report;
  {
    ThreadCluster cluster(module);
    report = cluster.run(submission_of(*module));
  }
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  std::vector<uint64_t> numbers = results->values();
  std::sort(numbers.begin(), numbers.end());
  std::vector<uint64_t> wanted(300);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(numbers, wanted);
}

TEST(JobOnThreadsTest, FinishesWhenEachOfFourElementsBecomesMuchMoreThanThereIsMemoryFor) {
  constexpr int64_t kRecordsOfEach = 16 << 10;
  constexpr size_t kRecordBytes = 1024;
  std::atomic<int64_t> taken = 0;
  const auto results = std::make_shared<CollectedResults<int64_t>>();
  const auto module = std::make_shared<InProcessModule>("bursts", [&, results](Environment& env) {
    env.from_source(sequence(0, kParallelism - 1))
        .rebalance()
        .flat_map([](const int64_t&, Collector<std::string>& out) {
          for (int64_t i = 0; i < kRecordsOfEach; ++i) out.collect(std::string(kRecordBytes, 'x'));
        })
        .rebalance()
        .map([&taken](const std::string& record) {
          if (taken.fetch_add(1) % 64 == 0) std::this_thread::yield();
          return static_cast<int64_t>(record.size());
        })
        .filter([](const int64_t& size) { return size != kRecordBytes; })
        .sink_to(collect_sink<int64_t>(results));
  });
  ThreadCluster cluster(module, {"only"});
  const JobReport report = cluster.run(submission_of(*module));
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(taken.load(), kParallelism * kRecordsOfEach);
  EXPECT_TRUE(results->values().empty());
  const auto left = cluster.files().list(cluster.directory() + "/only/spill");
  EXPECT_TRUE(!left.ok() || left->empty());
}

}  // namespace
}  // namespace freshet
