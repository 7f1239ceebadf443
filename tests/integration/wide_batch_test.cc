#include <gtest/gtest.h>

#include "tests/bench/process_facts.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t kParallelism = 500;
constexpr uint64_t kResidentMax = 2048ull << 20;
#else
constexpr uint32_t kParallelism = 10'000;
constexpr uint64_t kResidentMax = 256ull << 20;
#endif
constexpr uint64_t kNumbersOfEach = 3;
constexpr Duration kTimeMax = 800s;

/// Nothing may cost as much as there are pairs: ten thousand subtasks read what ten thousand made,
/// twice, in two TaskManagers.
TEST(WideBatchTest, ThousandsReadFromThousandsAFewAtATime) {
  TestCluster::Options options;
  options.task_managers = 2;
  options.slots = 4;
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const TemporaryDirectory directory;
  const uint64_t numbers = kParallelism * kNumbersOfEach;
  const Outcome outcome =
      run_freshet(cluster.command("run", {test_job("wide_sum"), "-p", std::to_string(kParallelism),
                                          "--mode", "batch", "--", "--numbers",
                                          std::to_string(numbers), "--output", directory / "out"}),
                  kTimeMax);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_lines(directory / "out"),
            std::vector<std::string>{std::to_string(numbers * (numbers + 1) / 2)});
  for (const char* name : {"taskmanager-1", "taskmanager-2"}) {
    const auto peak = bench::peak_resident_bytes(cluster.process(name).process.pid);
    ASSERT_TRUE(peak.ok()) << peak.status().to_string();
    EXPECT_LT(*peak, kResidentMax) << name;
  }
  EXPECT_EQ(cluster.count_in_log("jobmanager", "job_restarts"), 0u);
}

}  // namespace
}  // namespace freshet::testing
