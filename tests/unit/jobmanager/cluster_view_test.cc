#include "jobmanager/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/clock.h"
#include "tests/unit/jobmanager/job_script.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr EpochMillis kEpoch = 1'000'000;

/// What is shown of a job that a script drives, on a wall clock that began at kEpoch.
class ClusterViewTest : public ::testing::Test {
 protected:
  JobView view() {
    clock_.advance_to(script_.now());
    return view_of(script_.job(), {kEpoch, kNever}, clock_, nullptr);
  }
  EpochMillis now() const { return kEpoch + to_millis(script_.now() - TimePoint{}); }
  void progress(SubtaskId subtask, const ExecutionProgress& progress) {
    auto& job = const_cast<JobMaster&>(script_.job());
    const Execution& execution = job.graph().at(subtask);
    job.on_progress(script_.now(), execution.task_manager, {job.id(), subtask, execution.attempt},
                    progress);
  }

  JobScript script_{two_vertices()};
  ManualClock clock_{kEpoch};
};

TEST_F(ClusterViewTest, SaysWhenAJobWasInWhichState) {
  script_.run_all({"start", "wait 100", "register 1", "slots 1:0 1:1"});
  const EpochMillis deployed = now();
  JobView shown = view();
  EXPECT_EQ(shown.summary.state, JobState::kRunning);
  EXPECT_EQ(shown.entered, (std::vector<std::pair<JobState, EpochMillis>>{
                               {JobState::kCreated, kEpoch}, {JobState::kRunning, deployed}}));
  EXPECT_EQ(shown.summary.last_modification, deployed);
  EXPECT_EQ(shown.summary.ended, kNever);
  ASSERT_EQ(shown.vertices.size(), 2u);
  EXPECT_EQ(shown.vertices[0].subtasks[1].started, deployed);
  EXPECT_EQ(shown.vertices[0].subtasks[1].ended, kNever);
  EXPECT_EQ(shown.vertices[0].counts[static_cast<size_t>(TaskState::kDeploying)], 2u);
}

TEST_F(ClusterViewTest, SaysWhenAnAttemptCameToEachState) {
  const auto entered = [this](TaskState state) {
    return view().vertices[1].subtasks[1].entered[static_cast<size_t>(state)];
  };
  script_.run_all({"start", "wait 100", "register 1", "slots 1:0 1:1"});
  const EpochMillis deployed = now();
  script_.run_all({"wait 20", "all RUNNING"});
  EXPECT_EQ(entered(TaskState::kCreated), kEpoch);
  EXPECT_EQ(entered(TaskState::kDeploying), deployed);
  EXPECT_EQ(entered(TaskState::kRunning), now());
  EXPECT_GT(now(), deployed);
  EXPECT_EQ(entered(TaskState::kFailed), kNever);
  script_.run_all({"wait 30", "fail 1/1#0 no such word"});
  EXPECT_EQ(entered(TaskState::kFailed), now());
}

TEST_F(ClusterViewTest, AnAttemptEndsWhenItsDataIsProcessed) {
  script_.run_all({"start", "register 1", "slots 1:0 1:1", "all RUNNING", "wait 50",
                   "state 1/1#0 END_OF_DATA"});
  const EpochMillis ended = now();
  script_.run("wait 30");  // It stays until all have got there.
  EXPECT_EQ(view().vertices[1].subtasks[1].ended, ended);
  EXPECT_EQ(view().vertices[1].subtasks[0].ended, kNever);
  script_.run_all({"state 0/0#0 END_OF_DATA", "state 0/1#0 END_OF_DATA", "state 1/0#0 END_OF_DATA",
                   "wait 30", "state 1/1#0 FINISHED"});
  EXPECT_EQ(view().vertices[1].subtasks[1].state, TaskState::kFinished);
  EXPECT_EQ(view().vertices[1].subtasks[1].ended, ended);
}

TEST_F(ClusterViewTest, AnAttemptThatFailsAfterItsDataEndsThen) {
  script_.run_all({"start", "register 1", "slots 1:0 1:1", "all RUNNING", "state 1/1#0 END_OF_DATA",
                   "wait 30", "fail 1/1#0 no such word"});
  EXPECT_EQ(view().vertices[1].subtasks[1].ended, now());
}

TEST_F(ClusterViewTest, KeepsTheFailuresOfAJobLatestFirst) {
  script_.run_all({"start", "register 1", "slots 1:0 1:1", "all RUNNING", "wait 50"});
  const EpochMillis failed = now();
  script_.run("fail 1/1#0 no such word");
  const JobView shown = view();
  ASSERT_EQ(shown.failures.size(), 1u);
  EXPECT_EQ(shown.failures[0].at, failed);
  EXPECT_THAT(shown.failures[0].message, HasSubstr("no such word"));
  EXPECT_THAT(shown.failures[0].task, HasSubstr("(2/2)"));
  EXPECT_THAT(shown.failures[0].task_manager, HasSubstr("tm-0000000000000001"));
  EXPECT_EQ(shown.failures[0].task_manager_id, TaskManagerId{1});
  EXPECT_EQ(shown.failures[0].endpoint, "10.0.0.7:7001");
  EXPECT_EQ(shown.vertices[1].subtasks[1].ended, failed);
  script_.run("lose 1");
  EXPECT_EQ(view().failures.size(), 1u);  // It had failed already.
}

TEST_F(ClusterViewTest, SaysWhichTaskManagerWasLost) {
  script_.run_all({"start", "register 1", "slots 1:0 1:1", "all RUNNING", "lose 1"});
  const JobView shown = view();
  ASSERT_EQ(shown.failures.size(), 1u);
  EXPECT_EQ(shown.failures[0].task_manager_id, TaskManagerId{1});
  EXPECT_EQ(shown.failures[0].endpoint, "10.0.0.7:7001");
}

TEST_F(ClusterViewTest, KeepsNoMoreFailuresThanItMay) {
  JobHistory history;
  for (size_t i = 0; i <= JobHistory::kFailuresMax; ++i)
    history.note_failure({TimePoint{}, user_error("x"), std::to_string(i), "", ""});
  EXPECT_EQ(history.failures().size(), JobHistory::kFailuresMax);
  EXPECT_EQ(history.failures().front().task, std::to_string(JobHistory::kFailuresMax));
  EXPECT_EQ(history.failures().back().task, "1");
  EXPECT_TRUE(history.truncated());
}

TEST_F(ClusterViewTest, ShowsWhatTasksReportUntilTheyEnd) {
  script_.run_all({"start", "register 1", "slots 1:0 1:1", "all RUNNING"});
  const SubtaskId subtask{VertexId{1}, 0};
  ExecutionProgress reported;
  reported.records_in = 500;
  reported.gauges.records_in_per_second = 200;
  reported.gauges.busy_per_second = 300;
  progress(subtask, reported);
  EXPECT_EQ(view().vertices[1].subtasks[0].progress.records_in, 500u);
  EXPECT_EQ(view().vertices[1].subtasks[0].progress.gauges.records_in_per_second, 200);
  script_.run("state 1/0#0 END_OF_DATA");  // A state says nothing of what is per second.
  EXPECT_EQ(view().vertices[1].subtasks[0].progress.gauges.busy_per_second, 300);
  script_.run("lose 1");
  EXPECT_EQ(view().vertices[1].subtasks[0].progress.gauges.busy_per_second, 0);
}

TEST_F(ClusterViewTest, KnowsHowLongAJobIsInItsState) {
  script_.run_all({"start", "wait 500"});
  EXPECT_EQ(view().summary.numbers.created_ms, 500);
  EXPECT_EQ(view().summary.numbers.uptime_ms, -1);
  script_.run_all({"register 1", "slots 1:0 1:1", "wait 200"});
  EXPECT_EQ(view().summary.numbers.created_ms, 0);
  EXPECT_EQ(view().summary.numbers.deploying_ms, 200);
  script_.run_all({"all RUNNING", "wait 1000"});
  EXPECT_EQ(view().summary.numbers.deploying_ms, 0);
  EXPECT_EQ(view().summary.numbers.running_ms, 1200);
  EXPECT_EQ(view().summary.numbers.uptime_ms, 1200);
}

}  // namespace
}  // namespace freshet
