#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

/// What operators and edges are told, where only real processes show it: two TaskManagers with two
/// slots each.
class DataflowSettingsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = new TestCluster(); }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(cluster_->ok()) << cluster_->started().errors; }

  /// Settings, `-p`, and the job's own arguments.
  std::vector<std::string> placing(std::vector<std::string> before,
                                   const std::vector<std::string>& own) const {
    before.insert(before.end(), {"-D", "restart-strategy.type=none", test_job("placing"), "--",
                                 "--output", output_});
    before.insert(before.end(), own.begin(), own.end());
    return before;
  }

  static std::vector<std::string> numbers(int from, int step, int end) {
    std::vector<std::string> lines;
    for (int number = from; number < end; number += step) lines.push_back(std::to_string(number));
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  static std::vector<std::string> lines_of(const std::string& file) {
    std::vector<std::string> lines;
    std::istringstream text(read_file(file));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  static TestCluster* cluster_;
  const TemporaryDirectory directory_;
  const std::string output_ = directory_ / "placed";
};

TestCluster* DataflowSettingsTest::cluster_ = nullptr;

TEST_F(DataflowSettingsTest, SlotSharingGroupsNeedSlotsOfTheirOwn) {
  const Outcome alone = cluster_->run(
      placing({"-p", "3", "-D", "slot.request.timeout=500 ms"}, {"--group", "apart"}));
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_THAT(alone.errors,
              HasSubstr("needs 6 slots (3 for slot sharing group 'default', 3 for 'apart'), the "
                        "cluster has 4"));
  const Outcome together = cluster_->run(placing({"-p", "3"}, {}));
  EXPECT_EQ(together.exit_code, 0) << together.errors;
}

TEST_F(DataflowSettingsTest, SlotSharingGroupsRunWithEnoughSlots) {
  const Outcome outcome = cluster_->run(placing({"-p", "2"}, {"--group", "apart"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_lines(output_), numbers(0, 1, 100));
}

TEST_F(DataflowSettingsTest, PartitionerDecidesWhichSubtaskGetsARecord) {
  const Outcome outcome = cluster_->run(placing({"-p", "4"}, {}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  for (int i = 0; i < 4; i++) {
    EXPECT_EQ(lines_of(output_ + "/part-" + std::to_string(i)), numbers(i, 4, 100));
  }
}

TEST_F(DataflowSettingsTest, PartitionerThatFailsNamesTheOperatorBefore) {
  const Outcome range = cluster_->run(placing({"-p", "2"}, {"--bad", "range"}));
  EXPECT_EQ(range.exit_code, 1);
  EXPECT_THAT(range.errors, AllOf(HasSubstr("operator 'first half'"),
                                  HasSubstr("chose partition 1000 of 2; it must give 0 to 1")));
  const Outcome thrown = run_freshet([&] {
    auto arguments = placing({"-p", "2"}, {"--bad", "throw"});
    arguments.insert(arguments.begin(), {"run", "--local"});
    return arguments;
  }());
  EXPECT_EQ(thrown.exit_code, 1);
  EXPECT_THAT(thrown.errors, AllOf(HasSubstr("operator 'first half'"),
                                   HasSubstr("partition_custom() threw: 77 has no place")));
}

TEST_F(DataflowSettingsTest, GeneratorKeepsItsRateOverAllReaders) {
  const TimePoint begin = monotonic_now();
  const Outcome outcome = cluster_->run(placing({"-p", "2"}, {"--count", "61", "--rate", "100"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_GE(monotonic_now() - begin, 550ms);  // The 61st comes 600 ms after the first.
  EXPECT_EQ(read_lines(output_), numbers(0, 1, 61));
}

TEST_F(DataflowSettingsTest, BuffersNeedNoTimeoutAtTheEnd) {
  for (const std::string setting :
       {"execution.buffer-timeout.enabled=false", "execution.buffer-timeout.interval=0"}) {
    const TemporaryDirectory directory;
    const Outcome outcome = cluster_->run(
        {"-p", "2", "-D", setting, test_job("placing"), "--", "--output", directory / "placed"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(read_lines(directory / "placed"), numbers(0, 1, 100));
  }
  const Outcome refused =
      cluster_->run(placing({"-p", "2", "-D", "execution.buffer-timeout.interval=25 h"}, {}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors,
              AllOf(HasSubstr("execution.buffer-timeout.interval"), HasSubstr("to 24 h")));
}

}  // namespace
}  // namespace freshet::testing
