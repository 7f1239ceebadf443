#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runtime/chaos/output_check.h"
#include "tests/integration/freshet_process.h"
#include "tests/integration/results.h"

namespace freshet::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

struct JobCase {
  std::string job;
  std::vector<std::string> outputs;  // Below its directory.
  /// A job whose records are counted by key shows a lost one as an altered count.
  chaos::RecordFault lost = chaos::RecordFault::kAltered;
  chaos::RecordFault doubled = chaos::RecordFault::kAltered;
};

void PrintTo(const JobCase& one, std::ostream* to) { *to << one.job; }

class ChaosJobsTest : public ::testing::TestWithParam<JobCase> {
 protected:
  /// Where a run of 3,000 records left its result.
  std::string run(const std::string& name, std::vector<std::string> options) {
    std::vector<std::string> arguments = {"run", "--local",
                                          std::string(FRESHET_JOBS) + "/" + GetParam().job + ".so"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(),
                     {"--", "--records", "3000", "--keys", "50", "--output", directory_ / name});
    const Outcome outcome = run_freshet(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return directory_ / name;
  }

  std::map<chaos::RecordFault, uint64_t> compare(const std::string& expected,
                                                 const std::string& actual) {
    const auto files = make_local_file_system();
    std::map<chaos::RecordFault, uint64_t> found;
    for (const std::string& output : GetParam().outputs) {
      const auto verdict = chaos::compare_outputs(expected + output, actual + output, *files);
      EXPECT_TRUE(verdict.ok()) << verdict.status().to_string();
      if (!verdict.ok()) continue;
      EXPECT_GT(verdict->expected_records, 0u);
      for (const chaos::WrongRecord& wrong : verdict->shown) texts_ += wrong.to_string() + "\n";
      for (const chaos::RecordFault fault : chaos::kRecordFaults)
        if (verdict->count(fault) > 0) found[fault] += verdict->count(fault);
    }
    return found;
  }

  const TemporaryDirectory directory_;
  std::string texts_;
};

TEST_P(ChaosJobsTest, GivesTheSameWhateverParallelismAndMode) {
  const std::string one = run("one", {});
  EXPECT_TRUE(compare(one, run("three", {"-p", "3"})).empty()) << texts_;
  EXPECT_TRUE(compare(one, run("batch", {"-p", "2", "--mode", "batch"})).empty()) << texts_;
  for (const std::string& output : GetParam().outputs) {
    const auto lines = read_lines(one + output);
    EXPECT_THAT(lines, Each(Not(HasSubstr("DAMAGED"))));
    EXPECT_THAT(lines, Each(Not(HasSubstr("DIFFER"))));
    for (const char* wrong : {"damaged=", "out_of_turn="}) {
      for (const std::string& line : lines) {
        const size_t at = line.find(wrong);
        EXPECT_TRUE(at == line.npos || line[at + std::string(wrong).size()] == '0') << line;
      }
    }
  }
}

TEST_P(ChaosJobsTest, ShowsARecordThatTheRuntimeLoses) {
  const std::string right = run("right", {});
  const std::string wrong = run("wrong", {"--allow-faults", "-D", "test.records=lose:40"});
  EXPECT_GE(compare(right, wrong)[GetParam().lost], 1u) << texts_;
}

TEST_P(ChaosJobsTest, ShowsARecordThatTheRuntimeDoubles) {
  const std::string right = run("right", {});
  const std::string wrong = run("wrong", {"--allow-faults", "-D", "test.records=double:40"});
  EXPECT_GE(compare(right, wrong)[GetParam().doubled], 1u) << texts_;
}

using Fault = chaos::RecordFault;
INSTANTIATE_TEST_SUITE_P(
    Jobs, ChaosJobsTest,
    ::testing::Values(
        JobCase{"chaos_count", {"/counts", "/records"}, Fault::kLost, Fault::kDoubled},
        JobCase{"chaos_order", {""}}, JobCase{"chaos_broadcast", {""}, Fault::kLost},
        JobCase{"chaos_union", {""}}, JobCase{"chaos_diamond", {""}},
        JobCase{"chaos_batch", {"/fine", "/coarse"}}, JobCase{"chaos_edges", {""}, Fault::kLost}),
    [](const auto& info) { return info.param.job; });

}  // namespace
}  // namespace freshet::testing
