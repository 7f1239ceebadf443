#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "runtime/base/hash.h"
#include "runtime/base/scripted_faults.h"
#include "runtime/chaos/disk_switch.h"
#include "runtime/chaos/file_faults.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using chaos::DiskSwitch;
using chaos::FileDamage;
using chaos::FileKind;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A cluster whose processes break when they are told to, and a word count that must not mind.
class ProcessFaultsTest : public ::testing::Test {
 protected:
  void start(uint32_t task_managers, uint32_t slots, std::vector<std::string> arguments) {
    write_words(text_, 40'000, 1);
    counts_ = count_with_coreutils({text_});
    TestCluster::Options options;
    options.task_managers = task_managers;
    options.slots = slots;
    options.arguments = std::move(arguments);
    cluster_.emplace(options);
    ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors;
  }

  std::vector<std::string> word_count(const std::string& output, const std::string& mode,
                                      const std::string& strategy = "fixed-delay") const {
    return {"-D",
            "restart-strategy.type=" + strategy,
            "-D",
            "restart-strategy.fixed-delay.attempts=10000",
            "-D",
            "restart-strategy.fixed-delay.delay=50 ms",
            "-D",
            "source.file.split-size=256 kb",
            job_module("wordcount"),
            "-p",
            "4",
            "--mode",
            mode,
            "--",
            "--input",
            text_,
            "--output",
            output};
  }

  void expect_that_it_counts(const std::string& mode) {
    const std::string output = directory_ / ("out" + std::to_string(runs_++));
    const Outcome outcome = cluster_->run(word_count(output, mode));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(read_word_counts(output), counts_);
  }

  const TemporaryDirectory directory_;
  const std::string text_ = directory_ / "words.txt";
  WordCounts counts_;
  std::optional<TestCluster> cluster_;
  int runs_ = 0;
};

class FaultRecordTest : public ProcessFaultsTest {
 protected:
  std::vector<FiredFault> fired() const {
    std::istringstream lines(read_file(record_));
    std::vector<FiredFault> all;
    for (std::string line; std::getline(lines, line);) {
      const auto one = parse_fired_fault(line);
      EXPECT_TRUE(one) << line;
      if (one) all.push_back(*one);
    }
    return all;
  }

  const std::string record_ = directory_ / "record";
};

TEST_F(FaultRecordTest, EachRuleFiresOnceInAllLivesOfTheCluster) {
  const std::string any = "taskmanager/task.after_element:2000:kill";
  const std::string one = "taskmanager-1/deploy.before_create:1:kill";
  const std::string later = "task.before_end_of_data:1:throw";
  start(2, 2,
        {"--allow-faults", "-D", "test.faults=" + any + "," + one + "," + later, "-D",
         "test.faults.record=" + record_});
  expect_that_it_counts("streaming");
  expect_that_it_counts("streaming");
  std::map<std::string, int> times;
  for (const FiredFault& fault : fired()) {
    ++times[fault.rule];
    EXPECT_THAT(fault.process, HasSubstr("taskmanager-"));
    if (fault.rule == one) {
      EXPECT_EQ(fault.process, "taskmanager-1");
    }
  }
  EXPECT_EQ(times, (std::map<std::string, int>{{any, 1}, {one, 1}, {later, 1}}));
  EXPECT_EQ(
      cluster_->process("taskmanager-1").restarts + cluster_->process("taskmanager-2").restarts,
      2u);
}

class DiskFaultsTest : public ProcessFaultsTest {
 protected:
  void SetUp() override {
    auto made = DiskSwitch::create(directory_ / "disk");
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    disk_ = *std::move(made);
    start(1, 4, disk_->arguments());
  }

  /// Until something was refused or had to wait.
  bool wait_until_met(DiskFiles which, uint64_t more = 1) const {
    const uint64_t before = disk_->met(which);
    return wait_until([&] { return disk_->met(which) >= before + more; }, 30s);
  }

  void expect_refused(DiskFiles which, const std::string& path) {
    disk_->fill(which);
    const Outcome outcome = cluster_->run(word_count(directory_ / "refused", "batch", "none"));
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(
        outcome.errors,
        AllOf(HasSubstr(path), HasSubstr("No space left on device (0 bytes are free there)")));
    disk_->mend(which);
  }

  std::unique_ptr<DiskSwitch> disk_;
};

TEST_F(DiskFaultsTest, AJobOutlivesAFullAndThenASlowDiskForWhatItSpills) {
  const std::string output = directory_ / "out";
  disk_->fill(DiskFiles::kTemporary);
  FreshetProcess run(cluster_->command("run", word_count(output, "batch")));
  ASSERT_TRUE(
      wait_until([&] { return cluster_->count_in_log("jobmanager", "job_restarts") >= 3; }, 30s))
      << run.errors();
  EXPECT_THAT(cluster_->log("jobmanager"),
              AllOf(HasSubstr("/taskmanager-1/partitions/"),
                    HasSubstr(": No space left on device (0 bytes are free there)")));
  disk_->mend(DiskFiles::kTemporary);
  disk_->slow_down(DiskFiles::kTemporary, 50ms);
  EXPECT_TRUE(wait_until_met(DiskFiles::kTemporary, 5));
  disk_->mend(DiskFiles::kTemporary);
  EXPECT_EQ(run.wait(60s), 0) << run.errors();
  EXPECT_EQ(read_word_counts(output), counts_);
  EXPECT_EQ(cluster_->process("taskmanager-1").restarts, 0u);
}

TEST_F(DiskFaultsTest, AJobOutlivesADiskThatFailsForAWhile) {
  const std::string output = directory_ / "out";
  disk_->fail(DiskFiles::kTemporary);
  FreshetProcess run(cluster_->command("run", word_count(output, "batch")));
  ASSERT_TRUE(
      wait_until([&] { return cluster_->count_in_log("jobmanager", "job_restarts") >= 1; }, 30s))
      << run.errors();
  EXPECT_THAT(cluster_->log("jobmanager"), HasSubstr(": Input/output error"));
  disk_->mend(DiskFiles::kTemporary);
  EXPECT_EQ(run.wait(60s), 0) << run.errors();
  EXPECT_EQ(read_word_counts(output), counts_);
}

TEST_F(DiskFaultsTest, JobsAreRefusedWithPathAndFreeSpaceWhereverThereIsNoRoom) {
  expect_refused(DiskFiles::kModules, "/taskmanager-1/modules");
  expect_refused(DiskFiles::kOutput, directory_ / "refused");
  expect_refused(DiskFiles::kTemporary, "/taskmanager-1/partitions/");
  expect_that_it_counts("batch");
}

TEST_F(DiskFaultsTest, SwitchesAreRefusedUnlessTheyAreAllowedAndThere) {
  const Outcome refused = run_freshet({"taskmanager", "--state-dir", directory_ / "state", "-D",
                                       "test.disk=" + (directory_ / "disk")});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.errors, HasSubstr("refused without --allow-faults"));
  const Outcome missing =
      run_freshet({"taskmanager", "--state-dir", directory_ / "state", "--allow-faults", "-D",
                   "test.disk=" + (directory_ / "missing")});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.errors, HasSubstr(directory_ / "missing: No such file or directory"));
}

class FileFaultsTest : public ProcessFaultsTest {
 protected:
  std::vector<std::string> directories() const {
    return {cluster_->state_directory() + "/test/taskmanager-1"};
  }
  size_t count(FileKind kind) const {
    return chaos::find_files(*files_, directories(), kind).size();
  }

  /// Does so to most files of a job that runs.
  void expect_that_partitions_are_made_again(FileDamage::Kind how) {
    const std::string output = directory_ / ("out" + std::to_string(runs_++));
    const size_t restarts = cluster_->count_in_log("jobmanager", "job_restarts");
    FreshetProcess run(cluster_->command("run", word_count(output, "batch")));
    ASSERT_TRUE(wait_until([&] { return count(FileKind::kSpill) >= 3; }, 30s)) << run.errors();
    for (uint64_t chance = 0; chance < 12; ++chance) {
      const auto done = chaos::damage_file(*files_, directories(), FileKind::kSpill, how, chance);
      EXPECT_TRUE(done.ok() || done.status().code() == StatusCode::kNotFound)
          << done.status().to_string();
    }
    EXPECT_EQ(run.wait(60s), 0) << run.errors();
    EXPECT_EQ(read_word_counts(output), counts_);
    EXPECT_GT(cluster_->count_in_log("jobmanager", "job_restarts"), restarts);
  }

  const std::unique_ptr<FileSystem> files_ = make_local_file_system();
};

TEST_F(FileFaultsTest, PartitionsThatAreDamagedCutOrDeletedAreMadeAgain) {
  start(1, 1, {});
  for (const auto how :
       {FileDamage::Kind::kFlip, FileDamage::Kind::kCut, FileDamage::Kind::kDelete})
    expect_that_partitions_are_made_again(how);
  EXPECT_EQ(cluster_->process("taskmanager-1").restarts, 0u);
}

TEST_F(FileFaultsTest, AModuleThatIsDamagedIsFetchedAgainByTheNextLife) {
  start(1, 4, {});
  expect_that_it_counts("streaming");
  for (const auto how : {FileDamage::Kind::kFlip, FileDamage::Kind::kCut}) {
    const auto done = chaos::damage_file(*files_, directories(), FileKind::kModule, how, 3);
    ASSERT_TRUE(done.ok()) << done.status().to_string();
    const auto is_right = [&] {
      return content_hash(read_file(done->path)) ==
             std::filesystem::path(done->path).stem().string();
    };
    EXPECT_FALSE(is_right()) << done->to_string();
    expect_that_it_counts("streaming");  // What is loaded is as it was.
    const uint32_t lives = cluster_->process("taskmanager-1").restarts;
    cluster_->kill("taskmanager-1");
    ASSERT_TRUE(wait_until(
        [&] {
          const ClusterProcess now = cluster_->process("taskmanager-1");
          return now.restarts > lives && now.address.has_value();
        },
        30s));
    expect_that_it_counts("streaming");
    EXPECT_TRUE(is_right());
  }
}

}  // namespace
}  // namespace freshet::testing
