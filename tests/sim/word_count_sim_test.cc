#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "runtime/base/faults.h"
#include "runtime/connectors/file_sink.h"
#include "runtime/connectors/text_files.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_options.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Counts = std::map<std::string, uint64_t>;

struct WordCount {
  std::string word;
  uint64_t count = 0;
};

const std::string kOutput = "/out";
constexpr uint32_t kFiles = 3;
constexpr uint32_t kLines = 40;
constexpr Duration kLimit = 10min;

std::string text_of_file(uint32_t file) {
  std::string text;
  for (uint32_t line = 0; line < kLines; ++line) {
    for (uint32_t word = 0; word < 6; ++word) {
      text += "word" + std::to_string((file * 31 + line * 7 + word * word) % 23) + ' ';
    }
    text += line % 3 == 0 ? "\r\n" : "\n";
  }
  return text;
}

/// What a word count is, without any of our code.
Counts model() {
  Counts counts;
  for (uint32_t file = 0; file < kFiles; ++file) {
    std::istringstream text(text_of_file(file));
    for (std::string word; text >> word;) ++counts[word];
  }
  return counts;
}

void build_word_count(Environment& env) {
  env.from_source(text_files({"/in"}))
      .flat_map([](const std::string& line, Collector<WordCount>& out) {
        std::istringstream words(line);
        for (std::string word; words >> word;) out.collect(WordCount{word, 1});
      })
      .key_by(&WordCount::word)
      .sum(&WordCount::count, Emit::final)
      .sink_to(file_sink<WordCount>(kOutput, [](const WordCount& counted, std::string& line) {
        line += counted.word + ' ' + std::to_string(counted.count);
      }));
}

/// A cluster with the text, on which the job was submitted.
class WordCountRun {
 public:
  explicit WordCountRun(uint64_t seed, SimCluster::Options options = {})
      : cluster_(with(options, seed)) {
    for (uint32_t file = 0; file < kFiles; ++file) {
      cluster_.files().put("/in/" + std::to_string(file) + ".txt", text_of_file(file));
    }
    BuildOptions build;
    build.parallelism = 4;
    build.configuration["source.file.split-size"] = "500";
    cluster_.submit("word_count", build_word_count, build);
  }

  SimCluster& cluster() { return cluster_; }
  size_t tasks_replayed() const { return tasks_replayed_; }

  Counts output() {
    Counts counts;
    for (const auto& [path, content] : cluster_.files().files()) {
      if (!path.starts_with(kOutput + "/")) continue;
      EXPECT_THAT(path, HasSubstr("/part-"));
      std::istringstream lines(content);
      uint64_t count = 0;
      for (std::string word; lines >> word >> count;) counts[word] += count;
    }
    return counts;
  }

  /// Everything that must hold at the end of any run.
  void expect_exactly_once() {
    ASSERT_TRUE(cluster_.run_until_ended(kLimit)) << last_lines();
    EXPECT_EQ(cluster_.job_state(), JobState::kFinished) << cluster_.job_cause().to_string();
    EXPECT_EQ(output(), model());
    const Result<size_t> replayed = cluster_.replay_tasks();
    EXPECT_TRUE(replayed.ok()) << replayed.status().to_string();
    if (replayed.ok()) tasks_replayed_ = *replayed;
    EXPECT_THAT(cluster_.problems(), IsEmpty());
  }

  std::string last_lines() {
    const std::vector<std::string>& lines = cluster_.world().log().lines();
    std::string text;
    for (size_t i = lines.size() < 40 ? 0 : lines.size() - 40; i < lines.size(); ++i) {
      text += lines[i] + '\n';
    }
    return text;
  }

 private:
  static SimCluster::Options with(SimCluster::Options options, uint64_t seed) {
    options.seed = seed;
    return options;
  }

  SimCluster cluster_;
  size_t tasks_replayed_ = 0;
};

TEST(WordCountSimTest, CountsWithoutFaults) {
  WordCountRun run(1);
  run.expect_exactly_once();
  EXPECT_EQ(run.cluster().restarts(), 0u);
  EXPECT_EQ(run.tasks_replayed(), 9u);  // The enumerator, four readers, four counters.
}

TEST(WordCountSimTest, WaitsForSlotsAndFailsWithBothNumbersWhenThereAreTooFew) {
  WordCountRun run(2, {.task_managers = 1, .slots = 2});
  ASSERT_TRUE(run.cluster().run_until_ended(kLimit)) << run.last_lines();
  EXPECT_EQ(run.cluster().job_state(), JobState::kFailed);
  EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("4 slots"));
  EXPECT_THAT(run.cluster().job_cause().message(), HasSubstr("2"));
}

class WordCountSeedTest : public testing::TestWithParam<uint64_t> {
 protected:
  static void run_with_faults(WordCountRun& run) {
    ASSERT_TRUE(run.cluster().run_until_ready(1min)) << run.last_lines();
    run.cluster().world().fault_plan().set_chance(400, 2);
    run.cluster().break_things(3, 100ms);
    run.cluster().world().queue().run_until(run.cluster().world().queue().now() + 100ms);
    run.expect_exactly_once();
    const uint64_t faults =
        run.cluster().faults_injected() + run.cluster().world().fault_plan().fired_count();
    EXPECT_GE(faults, 3u);
    runs_restarted_ += run.cluster().restarts() > 0 ? 1 : 0;
    ++runs_;
  }

  /// Faults that never meet the job would test nothing.
  static void TearDownTestSuite() {
    if (runs_ < 50) return;
    EXPECT_GE(runs_restarted_ * 4, runs_);
  }

  static inline uint64_t runs_ = 0;
  static inline uint64_t runs_restarted_ = 0;
};

TEST_P(WordCountSeedTest, CountsExactlyOnceWhateverBreaks) {
  SCOPED_TRACE("word_count_sim_test --seed=" + std::to_string(GetParam()));
  WordCountRun run(GetParam());
  run_with_faults(run);
  if (GetParam() % 10 != 0) return;
  WordCountRun again(GetParam());
  run_with_faults(again);
  EXPECT_EQ(run.cluster().world().queue().trace_hash(),
            again.cluster().world().queue().trace_hash());
}

INSTANTIATE_TEST_SUITE_P(Seeds, WordCountSeedTest,
                         testing::Range(seed_options().first,
                                        seed_options().first + seed_options().count),
                         [](const auto& info) { return std::to_string(info.param); });

class FaultMarkTest : public testing::TestWithParam<size_t> {};

TEST_P(FaultMarkTest, CrashThereStillCountsExactlyOnce) {
  const std::string mark(fault_marks()[GetParam()].name);
  SCOPED_TRACE(mark);
  WordCountRun run(100 + GetParam());
  run.cluster().world().fault_plan().add(mark, 1, SimFaultPlan::Action::kCrash);
  run.cluster().world().fault_plan().add(mark, 3, SimFaultPlan::Action::kCrash);
  // Cancelling needs a reason.
  if (mark == "cancel.before_ack") {
    run.cluster().world().fault_plan().add("task.after_element", 5, SimFaultPlan::Action::kCrash);
  }
  run.expect_exactly_once();
  EXPECT_GE(run.cluster().world().fault_plan().fired().count(mark), 1u) << "the mark never fired";
}

INSTANTIATE_TEST_SUITE_P(All, FaultMarkTest, testing::Range<size_t>(0, fault_marks().size()),
                         [](const auto& info) {
                           std::string name(fault_marks()[info.param].name);
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace freshet::sim
