#include "runtime/chaos/timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace freshet::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr EpochMillis kStart = 1'700'000'000'000;
constexpr int64_t kNoon = 43'200'000;  // Of the day of kStart.

/// A job of a source and a sink, two subtasks each, on two TaskManagers; and the log that its
/// JobManager writes.
class TimelineTest : public ::testing::Test {
 protected:
  TimelineTest() : timeline_("a1", kStart, kNoon) {
    log(0, "task_manager_registered task_manager=tm1 name=taskmanager-1 host=h slots=2");
    log(0, "task_manager_registered task_manager=tm2 name=taskmanager-2 host=h slots=2");
    deploy_all(0, 5, 0);
    for (const uint32_t vertex : {0u, 1u}) {
      for (const uint32_t index : {0u, 1u})
        samples_.tasks.push_back({{VertexId{vertex}, index}, vertex == 0, vertex == 1});
    }
  }

  void log(int64_t at, const std::string& event) {
    const int64_t millis = (kNoon + at) % 86'400'000;
    timeline_.read(fmt::format("D {:02}:{:02}:{:02}.{:03} jm-main {}", millis / 3'600'000,
                               millis / 60'000 % 60, millis / 1000 % 60, millis % 1000, event));
  }
  void state(int64_t at, const std::string& attempt, const std::string& state) {
    log(at, fmt::format("execution_state job=a1 attempt={} state={}", attempt, state));
  }
  void job(int64_t at, const std::string& from, const std::string& to) {
    log(at, fmt::format("job_state_changed job=a1 from={} to={}", from, to));
  }
  void deploy(int64_t at, const std::string& attempt, const std::string& task_manager) {
    log(at,
        fmt::format("execution_deployed job=a1 attempt={} task_manager={}", attempt, task_manager));
  }
  void deploy_all(int64_t deployed, int64_t running, uint32_t attempt) {
    for (const char* task : {"0/0", "0/1", "1/0", "1/1"})
      deploy(deployed, fmt::format("{}#{}", task, attempt), task[2] == '0' ? "tm1" : "tm2");
    job(deployed, "CREATED", "RUNNING");
    for (const char* task : {"0/0", "0/1", "1/0", "1/1"})
      state(running, fmt::format("{}#{}", task, attempt), "RUNNING");
  }
  void lose(int64_t at, const std::string& name) {
    log(at, fmt::format("task_manager_lost task_manager=x name={} cause=\"UNAVAILABLE: signal 9 "
                        "(Killed) job=b2\"",
                        name));
  }
  /// All four tasks.
  void restart_all(int64_t at, uint32_t attempt) {
    log(at, "tasks_failed job=a1 tasks=2 regions=1 operator=\"\" cause=\"UNAVAILABLE: it ended\"");
    job(at, "RUNNING", "RESTARTING");
    restart_more(at, attempt);
  }
  void restart_more(int64_t at, uint32_t attempt) {
    log(at, "job_restarts job=a1 restart=1 regions=1 delay_ms=0");
    for (const char* task : {"0/0", "0/1", "1/0", "1/1"})
      log(at, fmt::format("execution_restarts job=a1 attempt={}#{}", task, attempt));
  }
  void all_gone(int64_t at, uint32_t attempt) {
    for (const char* task : {"0/0", "0/1", "1/0", "1/1"}) {
      state(at, fmt::format("{}#{}", task, attempt), "CANCELED");
      state(at, fmt::format("{}#{}", task, attempt + 1), "CREATED");
    }
  }
  /// Each source task has made `records`, each sink half of it.
  void sample(int64_t at, uint32_t attempt, uint64_t records) {
    Sample one;
    one.at = kStart + at;
    for (const uint64_t count : {records, records, records / 2, records / 2})
      one.tasks.push_back({attempt, count, false});
    samples_.samples.push_back(one);
  }

  FaultOutcome outcome(const TimedFault& fault) const {
    return timeline_.outcomes({fault}, samples_).front();
  }

  Timeline timeline_;
  Samples samples_;
};

TimedFault kill(uint32_t number, int64_t at, const std::string& name) {
  return {number, kStart + at, {}, {name}, {}};
}

TEST_F(TimelineTest, TellsEachPhaseOfARecovery) {
  for (int64_t at = 0; at <= 1000; at += 100) sample(at, 0, at);
  lose(1004, "taskmanager-2");
  restart_all(1004, 0);
  all_gone(1010, 0);
  deploy_all(1030, 1100, 1);
  for (int64_t at = 1100; at <= 2000; at += 100) sample(at, 1, 2 * (at - 1100));

  const FaultOutcome found = outcome(kill(1, 1000, "taskmanager-2"));
  EXPECT_EQ(found.end, FaultEnd::kRecovered);
  EXPECT_EQ(found.times.detect, 4);
  EXPECT_EQ(found.times.cancel, 10);
  EXPECT_EQ(found.times.redeploy, 30);
  EXPECT_EQ(found.times.restore, 100);
  EXPECT_EQ(found.times.first_record, 200);
  EXPECT_EQ(found.times.caught_up, 600);
  EXPECT_EQ(found.tasks_restarted, 4u);
  EXPECT_EQ(found.records_reprocessed, 3000u);
  EXPECT_THAT(found.restarted, ElementsAre("0/0#1", "0/1#1", "1/0#1", "1/1#1"));
  EXPECT_EQ(found.job_state, "RUNNING");
}

TEST_F(TimelineTest, WhatNobodyNoticedIsHarmless) {
  lose(2000, "taskmanager-1");
  restart_all(2000, 0);
  TimedFault pause{1, kStart + 100, kStart + 400, {"taskmanager-1"}, {}};
  EXPECT_EQ(outcome(pause).end, FaultEnd::kHarmless);
  EXPECT_FALSE(outcome(pause).times.detect);
  EXPECT_EQ(outcome(kill(2, 1000, "taskmanager-2")).end, FaultEnd::kHarmless);
  EXPECT_EQ(outcome(kill(3, 1000, "taskmanager-1")).times.detect, 1000);
}

TEST_F(TimelineTest, APauseThatWasOverDidNotDoWhatAKillDid) {
  lose(805, "taskmanager-1");
  restart_all(805, 0);
  const TimedFault pause{1, kStart + 100, kStart + 400, {"taskmanager-1"}, {}};
  const auto found = timeline_.outcomes({pause, kill(2, 800, "taskmanager-1")}, samples_);
  EXPECT_EQ(found[0].end, FaultEnd::kHarmless);
  EXPECT_EQ(found[1].times.detect, 5);
}

TEST_F(TimelineTest, FaultsThatComeDuringARestartAreMergedWithIt) {
  lose(1004, "taskmanager-2");
  restart_all(1004, 0);
  lose(1023, "taskmanager-1");
  restart_more(1023, 0);
  all_gone(1024, 0);
  deploy_all(1200, 1300, 1);
  const auto found = timeline_.outcomes(
      {kill(1, 1000, "taskmanager-2"), kill(2, 1020, "taskmanager-1")}, samples_);
  EXPECT_EQ(found[0].end, FaultEnd::kRecovered);
  EXPECT_EQ(found[0].times.restore, 300);
  EXPECT_EQ(found[1].end, FaultEnd::kMerged);
  EXPECT_EQ(found[1].merged_with, 1u);
  EXPECT_EQ(found[1].times.detect, 3);
  ASSERT_EQ(timeline_.restarts().size(), 1u);
}

TEST_F(TimelineTest, WhatHadToStartAgainBeforeItRanIsMergedWithWhatMadeIt) {
  lose(1004, "taskmanager-2");
  restart_all(1004, 0);
  all_gone(1010, 0);
  for (const char* attempt : {"0/0#1", "0/1#1", "1/0#1", "1/1#1"}) deploy(1020, attempt, "tm1");
  job(1020, "RESTARTING", "RUNNING");
  lose(1031, "taskmanager-1");
  restart_all(1031, 1);
  all_gone(1040, 1);
  deploy_all(1050, 1060, 2);
  const auto found = timeline_.outcomes(
      {kill(1, 1000, "taskmanager-2"), kill(2, 1030, "taskmanager-1")}, samples_);
  EXPECT_EQ(found[0].end, FaultEnd::kMerged);
  EXPECT_EQ(found[0].merged_with, 2u);
  EXPECT_EQ(found[0].times.redeploy, 20);
  EXPECT_FALSE(found[0].times.restore);
  EXPECT_EQ(found[1].end, FaultEnd::kRecovered);
  EXPECT_EQ(found[1].times.restore, 30);
}

TEST_F(TimelineTest, OtherTasksMayNoticeFirst) {
  state(1002, "1/0#0", "FAILED");
  log(1002, "execution_failed job=a1 attempt=1/0#0");
  restart_all(1002, 0);
  lose(1030, "taskmanager-2");
  restart_more(1030, 0);
  all_gone(1031, 0);
  deploy_all(1040, 1050, 1);
  EXPECT_EQ(outcome(kill(1, 1000, "taskmanager-2")).times.detect, 2);
}

TEST_F(TimelineTest, OnlyTheTaskThatAFaultMeansCounts) {
  state(1002, "1/0#0", "FAILED");
  log(1002, "execution_failed job=a1 attempt=1/0#0");
  restart_all(1002, 0);
  all_gone(1003, 0);
  deploy_all(1010, 1020, 1);
  TimedFault fault{1, kStart + 1000, {}, {}, SubtaskId{VertexId{1}, 1}};
  EXPECT_EQ(outcome(fault).end, FaultEnd::kHarmless);
  fault.task = SubtaskId{VertexId{1}, 0};
  EXPECT_EQ(outcome(fault).end, FaultEnd::kRecovered);
  EXPECT_EQ(outcome(fault).times.cancel, 3);
}

TEST_F(TimelineTest, ACrashOfATaskIsKnownByItsTaskManager) {
  lose(1002, "taskmanager-2");
  restart_all(1002, 0);
  TimedFault fault{1, kStart + 1000, {}, {}, SubtaskId{VertexId{1}, 1}};
  EXPECT_EQ(outcome(fault).times.detect, 2);
  fault.task = SubtaskId{VertexId{1}, 0};
  EXPECT_FALSE(outcome(fault).times.detect);
}

TEST_F(TimelineTest, SaysWhyAJobIsNotBack) {
  lose(1004, "taskmanager-2");
  restart_all(1004, 0);
  all_gone(1010, 0);
  FaultOutcome found = outcome(kill(1, 1000, "taskmanager-2"));
  EXPECT_EQ(found.end, FaultEnd::kNotRecovered);
  EXPECT_EQ(found.why, "its tasks were not deployed again");
  EXPECT_FALSE(found.times.redeploy);
}

TEST_F(TimelineTest, AJobThatFailsIsNotRecovered) {
  lose(1004, "taskmanager-2");
  job(1005, "RUNNING", "FAILING");
  const FaultOutcome found = outcome(kill(1, 1000, "taskmanager-2"));
  EXPECT_EQ(found.end, FaultEnd::kNotRecovered);
  EXPECT_EQ(found.why, "the job failed");
  EXPECT_EQ(timeline_.job_state_at(kStart + 1004), "RUNNING");
  EXPECT_EQ(timeline_.job_state_at(kStart + 1005), "FAILING");
}

TEST_F(TimelineTest, ALostJobManagerTakesTheJobWithIt) {
  log(1500, "jobmanager_started address=127.0.0.1:1");
  const FaultOutcome found = outcome(kill(1, 1000, "jobmanager"));
  EXPECT_EQ(found.times.detect, 500);
  EXPECT_EQ(found.end, FaultEnd::kNotRecovered);
  EXPECT_EQ(timeline_.process_of({VertexId{0}, 0}), "");
}

TEST_F(TimelineTest, ConsumersOfWhatRunsAgainAreNotWaitedFor) {
  lose(1004, "taskmanager-2");
  restart_all(1004, 0);
  all_gone(1010, 0);
  for (const char* attempt : {"0/0#1", "0/1#1"}) {
    deploy(1020, attempt, "tm1");
    state(1030, attempt, "RUNNING");
  }
  for (const char* attempt : {"0/0#1", "0/1#1"}) state(5000, attempt, "END_OF_DATA");
  for (const char* attempt : {"1/0#1", "1/1#1"}) {
    deploy(5001, attempt, "tm1");
    state(5002, attempt, "RUNNING");
  }
  const FaultOutcome found = outcome(kill(1, 1000, "taskmanager-2"));
  EXPECT_EQ(found.times.redeploy, 20);
  EXPECT_EQ(found.times.restore, 30);
}

TEST_F(TimelineTest, CatchingUpEndsWhereTheNextFaultBegins) {
  for (int64_t at = 0; at <= 1000; at += 100) sample(at, 0, at);
  lose(1004, "taskmanager-2");
  restart_all(1004, 0);
  all_gone(1010, 0);
  deploy_all(1030, 1040, 1);
  sample(1100, 1, 50);
  lose(1150, "taskmanager-1");
  restart_all(1150, 1);
  all_gone(1160, 1);
  deploy_all(1170, 1180, 2);
  for (int64_t at = 1200; at <= 3000; at += 100) sample(at, 2, at - 1190);
  const auto found = timeline_.outcomes(
      {kill(1, 1000, "taskmanager-2"), kill(2, 1150, "taskmanager-1")}, samples_);
  EXPECT_EQ(found[0].end, FaultEnd::kRecovered);
  EXPECT_EQ(found[0].times.first_record, 100);
  EXPECT_FALSE(found[0].times.caught_up);
  EXPECT_EQ(found[1].records_reprocessed, 50u + 50 + 25 + 25);
  EXPECT_EQ(found[1].times.caught_up, 450);  // As fast as in the second before, with its gap.
}

TEST_F(TimelineTest, LinesHaveNoDate) {
  const int64_t night = 43'200'000;  // Midnight.
  lose(night + 5, "taskmanager-2");
  restart_all(night + 5, 0);
  lose(2 * night + 7, "taskmanager-1");
  EXPECT_EQ(outcome(kill(1, night - 1, "taskmanager-2")).times.detect, 6);
  EXPECT_EQ(outcome(kill(1, night - 1, "taskmanager-1")).times.detect, night + 8);
}

TEST_F(TimelineTest, SkipsWhatItDoesNotKnow) {
  timeline_.read_all(
      "\n\nnot a line\nD 12:00\nD 12:00:00.000\nD 12:00:00.000 x\n"
      "D 12:00:00.000 jm-main job_state_changed job=b2 from=A to=B\n"
      "D 12:00:00.000 jm-main execution_failed job=a1 attempt=1\n"
      "D 12:00:00.000 jm-main job_state_changed job=a1 from=RUNNING to=FAILING");
  EXPECT_EQ(timeline_.job_state_at(kStart + 10), "FAILING");
  EXPECT_THAT(timeline_.restarts(), IsEmpty());
  EXPECT_THAT(timeline_.outcomes({}, samples_), IsEmpty());
}

TEST(SamplesTest, RatesCountNewAttemptsFromNothing) {
  Samples samples;
  samples.tasks = {{{VertexId{0}, 0}, true, false}, {{VertexId{1}, 0}, false, true}};
  samples.samples.resize(3);
  samples.samples[0] = {1100, {{0, 50, false}, {0, 10, false}}, 2, {}};
  samples.samples[1] = {1200, {{0, 150, false}, {0, 30, false}}, 2, {}};
  samples.samples[2] = {1400, {{1, 20, false}, {0, 30, false}}, 2, {}};
  const auto series = series_of(samples, 1000);
  ASSERT_EQ(series.size(), 3u);
  EXPECT_EQ(series[0].at, 100);
  EXPECT_DOUBLE_EQ(series[0].source_per_second, 500);
  EXPECT_DOUBLE_EQ(series[1].source_per_second, 1000);
  EXPECT_DOUBLE_EQ(series[1].sink_per_second, 200);
  EXPECT_DOUBLE_EQ(series[2].source_per_second, 100);
  EXPECT_EQ(series[2].source_records, 20u);
  EXPECT_EQ(samples.at(1099), nullptr);
  EXPECT_EQ(samples.at(1399)->at, 1200);
}

}  // namespace
}  // namespace freshet::chaos
