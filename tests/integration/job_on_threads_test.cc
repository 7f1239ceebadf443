#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <numeric>
#include <sstream>
#include <thread>

#include "runtime/connectors/collect_sink.h"
#include "runtime/connectors/data_generator.h"
#include "runtime/connectors/sequence.h"
#include "runtime/connectors/text_files.h"
#include "tests/integration/thread_cluster.h"

// Whole jobs on all the threads that a local cluster has, in one process and without sockets, so
// that ThreadSanitizer sees every hand-over between them.

namespace freshet {

/// Its codec writes less than it says.
struct Shorter {
  int64_t number = 0;
};

template <>
struct Codec<Shorter> {
  static constexpr uint32_t kFixedSize = 8;
  static std::string fingerprint() { return "shorter"; }
  static void encode(const Shorter& value, Encoder& encoder) {
    if (value.number != 7) return encoder.write_fixed(value.number);
    encoder.write_fixed(static_cast<uint32_t>(value.number));
  }
  static void decode(Decoder& decoder, Shorter& value) {
    value.number = decoder.read_fixed<int64_t>();
  }
};

namespace {

using testing::kParallelism;
using testing::submission_of;
using testing::ThreadCluster;

constexpr uint32_t kFiles = 5;
constexpr uint32_t kLinesPerFile = 600;
constexpr uint32_t kWordsPerLine = 8;
constexpr uint32_t kLines = kFiles * kLinesPerFile;

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
  ThreadCluster cluster(module, {.task_managers = {"only"}});
  const JobReport report = cluster.run(submission_of(*module));
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(report.restarts, 0u);
  EXPECT_EQ(taken.load(), kParallelism * kRecordsOfEach);
  EXPECT_TRUE(results->values().empty());
  EXPECT_TRUE(cluster.nothing_is_spilled());
}

/// More of them wait for each other than there are workers.
TEST(JobOnThreadsTest, OperatorsThatBlockHoldUpNobody) {
  std::barrier together(kParallelism);
  const auto results = std::make_shared<CollectedResults<int64_t>>();
  const auto module = std::make_shared<InProcessModule>("blocking", [&](Environment& env) {
    env.from_source(sequence(1, kParallelism))
        .partition_custom(
            [](int64_t key, uint32_t tasks) { return static_cast<uint32_t>(key % tasks); },
            [](const int64_t& number) { return number; })
        .map([&together](const int64_t& number) {
          together.arrive_and_wait();
          return number;
        })
        .set_blocking()
        .sink_to(collect_sink<int64_t>(results));
  });
  ThreadCluster cluster(module, {.task_managers = {"only"}});
  const JobReport report = cluster.run(submission_of(*module));
  EXPECT_EQ(report.state, JobState::kFinished) << report.cause.to_string();
  EXPECT_EQ(results->values().size(), kParallelism);
}

TEST(JobOnThreadsTest, FailsWithTheOperatorWhoseRecordHasAWrongSize) {
  const auto results = std::make_shared<CollectedResults<int64_t>>();
  const auto module = std::make_shared<InProcessModule>("short", [&](Environment& env) {
    env.from_source(sequence(0, 9))
        .map([](const int64_t& number) { return Shorter{number}; })
        .name("shorten")
        .rebalance()
        .map([](const Shorter& record) { return record.number; })
        .sink_to(collect_sink<int64_t>(results));
  });
  ThreadCluster cluster(
      module, {.task_managers = {"only"}, .configuration = {{"restart-strategy.type", "none"}}});
  const JobReport report = cluster.run(submission_of(*module));
  EXPECT_EQ(report.state, JobState::kFailed);
  for (const char* said : {"operator 'shorten'", "a record cannot be written",
                           "its codec wrote 4 bytes, and says that each has 8"})
    EXPECT_NE(report.cause.message().find(said), std::string::npos) << report.cause.message();
}

TEST(JobOnThreadsTest, MetricsAreReadWhileTasksComeRunAndGo) {
  const auto results = std::make_shared<CollectedResults<int64_t>>();
  const auto module = std::make_shared<InProcessModule>("numbers", [&](Environment& env) {
    env.from_source(sequence(1, 20'000))
        .rebalance()
        .map([](const int64_t& number) { return number; })
        .sink_to(collect_sink<int64_t>(results));
  });
  ThreadCluster cluster(module);
  std::atomic<bool> done{false};
  std::atomic<double> most{0};
  std::thread reader([&] {
    while (!done) {
      double records = 0;
      for (const MetricGroupReading& group : cluster.read_metrics()) {
        if (group.scope == MetricScope::kTask) records += group.metrics.front().value;
      }
      most = std::max(most.load(), records);
    }
  });
  for (int run = 0; run < 3 || (most == 0 && run < 100); ++run)
    EXPECT_EQ(cluster.run(submission_of(*module)).state, JobState::kFinished);
  done = true;
  reader.join();
  EXPECT_GT(most, 0);
  EXPECT_EQ(results->values().size(), 20'000u);  // Of the last run.
}

}  // namespace
}  // namespace freshet
