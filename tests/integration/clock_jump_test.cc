#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <memory>

#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kHour = 3600;

/// The wall clock of everything that is started meanwhile.
class WallClock {
 public:
  WallClock() {
    set_hours(0);
    setenv("CLOCK_OFFSET_FILE", offset_.c_str(), 1);
    setenv("LD_PRELOAD", FRESHET_CLOCK_SHIM, 1);
  }
  ~WallClock() {
    unsetenv("LD_PRELOAD");
    unsetenv("CLOCK_OFFSET_FILE");
  }
  void set_hours(int hours) const { write_file(offset_, std::to_string(hours * kHour)); }

 private:
  const TemporaryDirectory directory_;
  const std::string offset_ = directory_ / "offset";
};

/// The hour of the last line of a log.
int hour_of_last_line(const std::string& log) {
  const size_t begin = log.rfind('\n', log.size() - 2);
  int hour = -1;
  std::sscanf(log.c_str() + (begin == std::string::npos ? 0 : begin + 1), "%*c %d:", &hour);
  return hour;
}

TEST(ClockJumpTest, ChangesNoTimeoutAndNoHeartbeatOfRealProcesses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer wants to be the first library of a process";
#endif
  const WallClock wall_clock;
  TestCluster cluster(TestCluster::Options{
      .slots = 4, .arguments = {"-D", "heartbeat.interval=200 ms", "-D", "heartbeat.timeout=2 s"}});
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const TemporaryDirectory directory;
  GatedJob job(cluster, directory.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  const int before = hour_of_last_line(cluster.log("jobmanager"));
  for (const int hours : {5, -7, 0}) {
    wall_clock.set_hours(hours);
    // Takes longer than a heartbeat may be missing, and no longer than it was told.
    const TimePoint asked = monotonic_now();
    const Outcome waits =
        cluster.run({"-D", "slot.request.timeout=2500 ms", job_module("wordcount"), "-p", "20"});
    const Duration took = monotonic_now() - asked;
    EXPECT_THAT(waits.errors, HasSubstr("20 slots"));
    EXPECT_GE(took, 2500ms) << hours;
    EXPECT_LT(took, 20s) << hours;
    const int hour = hour_of_last_line(cluster.log("jobmanager"));
    const int moved = ((hour - before - hours) % 24 + 24) % 24;
    EXPECT_THAT(moved, ::testing::AnyOf(0, 1)) << "the clock of the process did not jump";
  }
  job.open_gate();
  EXPECT_EQ(job.run().wait(60s), 0) << job.errors();
  job.expect_exact_result();
  EXPECT_THAT(job.run().errors(), Not(HasSubstr("restart")));
  EXPECT_THAT(cluster.log("jobmanager"), Not(HasSubstr("task_manager_lost")));
  for (const char* name : {"jobmanager", "taskmanager-1", "taskmanager-2"})
    EXPECT_EQ(cluster.process(name).restarts, 0u);
}

}  // namespace
}  // namespace freshet::testing
