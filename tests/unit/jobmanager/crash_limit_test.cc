#include "jobmanager/crash_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

constexpr JobId kJob{0, 1};

CrashReport crash_of(const std::string& code) {
  CrashReport crash;
  crash.reason = "SIGSEGV at address 0x0";
  crash.job = kJob;
  crash.attempt = AttemptId{kJob, SubtaskId{VertexId{1}, 0}, 0};
  crash.code_name = code;
  crash.culprit = "count(int) at job.cc:12";
  crash.frames = {"count(int) at job.cc:12", "main"};
  return crash;
}

TEST(CrashLimitTest, IsReachedByTheThirdCrashOfOneOperator) {
  CrashLimit limit;
  EXPECT_FALSE(limit.on_crash(TimePoint(1s), crash_of("a")));
  EXPECT_FALSE(limit.on_crash(TimePoint(2s), crash_of("b")));
  EXPECT_FALSE(limit.on_crash(TimePoint(3s), crash_of("a")));
  EXPECT_FALSE(limit.on_crash(TimePoint(4s), crash_of("b")));
  EXPECT_TRUE(limit.on_crash(TimePoint(5s), crash_of("a")));
}

TEST(CrashLimitTest, TellsOperatorsOfOneNameApart) {
  CrashLimit limit;
  std::vector<CrashReport> crashes(3, crash_of("map"));
  crashes[0].position = 0;
  crashes[1].position = 1;
  crashes[2].position = 1;
  crashes[2].attempt->subtask.vertex = VertexId{2};
  for (int times = 1; times < 3; ++times) {
    for (const CrashReport& crash : crashes) EXPECT_FALSE(limit.on_crash(TimePoint(1s), crash));
  }
  crashes[1].attempt->subtask.index = 7;  // Another subtask of the same operator.
  EXPECT_TRUE(limit.on_crash(TimePoint(2s), crashes[1]));
}

TEST(CrashLimitTest, ForgetsWhatWasLongAgo) {
  CrashLimit limit;
  EXPECT_FALSE(limit.on_crash(TimePoint(0h), crash_of("a")));
  EXPECT_FALSE(limit.on_crash(TimePoint(30min), crash_of("a")));
  EXPECT_FALSE(limit.on_crash(TimePoint(61min), crash_of("a")));
  EXPECT_TRUE(limit.on_crash(TimePoint(62min), crash_of("a")));
}

TEST(CrashLimitTest, DoesNotCountWhatWasProvoked) {
  CrashLimit limit;
  CrashReport provoked = crash_of("a");
  provoked.provoked = true;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(limit.on_crash(TimePoint(1s), provoked));
}

TEST(CrashTextTest, SaysWhoseItWas) {
  CrashReport crash = crash_of("sum");
  EXPECT_EQ(describe_crash(crash, kJob, "count (2/4)", "taskmanager-1"),
            "operator 'sum' in count (2/4) brought down taskmanager-1: SIGSEGV at address 0x0 in "
            "count(int) at job.cc:12");
  EXPECT_EQ(
      describe_crash(crash, JobId{0, 9}, "", "taskmanager-1"),
      "taskmanager-1 was lost: 'sum' of job 00000000000000000000000000000001 brought it down: "
      "SIGSEGV at address 0x0 in count(int) at job.cc:12");
  crash.attempt.reset();
  crash.code_name = "builder";
  EXPECT_EQ(describe_crash(crash, kJob, "", "taskmanager-1"),
            "'builder' brought down taskmanager-1: SIGSEGV at address 0x0 in count(int) at "
            "job.cc:12");
  crash.job.reset();
  EXPECT_EQ(
      describe_crash(crash, kJob, "", "taskmanager-1"),
      "taskmanager-1 was lost: it crashed: SIGSEGV at address 0x0 in count(int) at job.cc:12");
  crash.thread = "tm-io";
  EXPECT_THAT(describe_crash(crash, kJob, "", "taskmanager-1"),
              testing::HasSubstr("it crashed in its thread tm-io: SIGSEGV"));
  EXPECT_EQ(crash_frames_text(crash), "\n\tat count(int) at job.cc:12\n\tat main");
}

}  // namespace
}  // namespace freshet
