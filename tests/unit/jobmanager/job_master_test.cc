#include "jobmanager/job_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/jobmanager/job_script.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Two TaskManagers with one slot each; the job runs.
JobScript running_job(const Configuration& configuration = JobScript::deterministic()) {
  JobScript script(two_vertices(), configuration);
  script.run_all({"register 1", "register 2", "start", "slots 1:0 2:0", "all RUNNING"});
  EXPECT_EQ(script.job().state(), JobState::kRunning);
  return script;
}

Configuration without_restart() {
  Configuration configuration;
  EXPECT_TRUE(configuration.set("restart-strategy.type", "none").ok());
  return configuration;
}

TEST(JobMasterTest, AsksForAsManySlotsAsItsWidestVerticesNeed) {
  JobGraph graph = two_vertices(2, 5);
  graph.vertices.push_back(test_vertex(2, "other", 3, "apart"));
  JobScript script(graph);
  EXPECT_THAT(script.run("start"), ElementsAre("require_slots 8"));
}

TEST(JobMasterTest, DeploysWhenAllSlotsAreThereAndSharesThem) {
  JobScript script(two_vertices());
  script.run_all({"register 1", "register 2", "start"});
  EXPECT_THAT(script.run("slots 1:0"), IsEmpty());
  EXPECT_THAT(
      script.run("slots 1:0 2:0"),
      ElementsAre("deploy tm=1 0/0#0@0 1/0#0@0<0 | dataset=0 [0-1)#0=tm1 [1-2)#0=tm2 | check",
                  "deploy tm=2 0/1#0@0 1/1#0@0<0 | dataset=0 [0-1)#0=tm1 [1-2)#0=tm2 | check",
                  "= RUNNING"));
  EXPECT_THAT(script.run("slots 1:0 2:0"), IsEmpty());  // Once.
}

TEST(JobMasterTest, FailsWithBothNumbersWhenSlotsDoNotCome) {
  JobScript script(two_vertices(4, 4));
  script.run_all({"start", "slots cluster=2"});
  EXPECT_EQ(script.job().waiting_for(), "4 slots, the cluster has 2");
  EXPECT_THAT(script.run("wait 9999"), IsEmpty());
  EXPECT_THAT(script.run("wait 1"), ElementsAre("release", "require_slots 0", "= FAILED"));
  EXPECT_EQ(script.job().cause().message(),
            "needs 4 slots, the cluster has 2: start more TaskManagers or lower the parallelism");
}

TEST(JobMasterTest, SlotsOfGroupsAddUpAndTheirTasksStayApart) {
  JobGraph graph = two_vertices(2, 3);
  graph.vertices[1].slot_sharing_group = "heavy";
  JobScript script(graph);
  EXPECT_THAT(script.run("start"), Contains("require_slots 5"));
  script.run("slots cluster=4");
  EXPECT_EQ(script.job().waiting_for(),
            "5 slots (2 for slot sharing group 'default', 3 for 'heavy'), the cluster has 4");
  script.run("wait 10000");
  EXPECT_EQ(script.job().cause().message(),
            "needs 5 slots (2 for slot sharing group 'default', 3 for 'heavy'), the cluster has 4: "
            "start more TaskManagers or lower the parallelism");
}

TEST(JobMasterTest, TasksOfDifferentGroupsNeverShareASlot) {
  JobGraph graph = two_vertices(2, 1);
  graph.vertices[1].slot_sharing_group = "heavy";
  JobScript script(graph);
  script.run_all({"register 1", "register 2", "start"});
  EXPECT_THAT(script.run("slots 1:0 1:1"), IsEmpty());
  script.run("slots 1:0 1:1 2:0");
  EXPECT_EQ(script.job().state(), JobState::kRunning);
  std::set<std::pair<TaskManagerId, uint32_t>> used;
  for (uint32_t i = 0; i < script.job().graph().task_count(); i++) {
    const Execution& execution = script.job().graph().at(i);
    EXPECT_TRUE(used.emplace(execution.task_manager, execution.slot).second);
  }
  EXPECT_EQ(used.size(), 3u);
}

TEST(JobMasterTest, CommitsAfterTheLastEndOfDataAndFinishesAfterTheLastAnswer) {
  JobScript script = running_job();
  script.run_all(
      {"state 0/0#0 END_OF_DATA", "state 0/1#0 END_OF_DATA", "state 1/0#0 END_OF_DATA a"});
  EXPECT_THAT(script.run("state 1/1#0 END_OF_DATA b c"),
              ElementsAre("commit tm=1 id=1 a", "commit tm=2 id=2 b c", "= COMMITTING"));
  EXPECT_THAT(script.run("commit_done 1 1 ok"), IsEmpty());
  EXPECT_THAT(script.run("commit_done 1 1 ok"), IsEmpty());  // Doubled.
  EXPECT_THAT(script.run("commit_done 2 2 ok"),
              ElementsAre("finish tm=1 0/0#0 1/0#0", "finish tm=2 0/1#0 1/1#0", "release",
                          "require_slots 0", "= FINISHED"));
}

TEST(JobMasterTest, FinishesAtOnceWhenNothingIsToBePublished) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("all END_OF_DATA"), Contains("= FINISHED"));
}

TEST(JobMasterTest, RestartsAfterAFailureWithNewAttempts) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("fail 0/1#0 it broke"),
              ElementsAre("cancel tm=1 0/0#0 1/0#0", "cancel tm=2 1/1#0", "= RESTARTING"));
  EXPECT_EQ(script.job().cause().message(), "source (2/2) on taskmanager-2: it broke");
  script.run_all({"state 0/0#0 CANCELED", "state 1/0#0 CANCELED"});
  EXPECT_THAT(script.run("state 1/1#0 CANCELED"),
              ElementsAre("require_slots 2", HasSubstr("deploy tm=1 0/0#1@0 1/0#1@0"),
                          HasSubstr("deploy tm=2 0/1#1@0 1/1#1@0"), "= RUNNING"));
  EXPECT_EQ(script.job().restarts(), 1u);
}

TEST(JobMasterTest, FailuresCloseTogetherAndBeforeTheRestartAreOneRestart) {
  Configuration configuration;
  ASSERT_TRUE(configuration.set("restart-strategy.type", "fixed-delay").ok());
  ASSERT_TRUE(configuration.set("restart-strategy.fixed-delay.attempts", "1").ok());
  ASSERT_TRUE(configuration.set("restart-strategy.fixed-delay.delay", "1 s").ok());
  JobScript script(two_vertices(), configuration);
  script.run_all({"register 1", "register 2", "register 3", "start", "slots 1:0 2:0", "all RUNNING",
                  "fail 0/0#0 first"});
  EXPECT_EQ(script.job().state(), JobState::kRestarting);
  // The second within a millisecond, of a task that is being cancelled; the third with its slot.
  EXPECT_THAT(script.run_all({"wait 1", "fail 1/0#0 second"}), IsEmpty());
  EXPECT_THAT(script.run("lose 2"), IsEmpty());
  EXPECT_EQ(script.job().graph().live_count(), 0u);
  // During the delay: another one that would have been used.
  EXPECT_THAT(script.run_all({"wait 500", "slots 1:0 3:0", "lose 3"}), IsEmpty());
  EXPECT_THAT(script.run("wait 498"), IsEmpty());
  EXPECT_THAT(script.run("wait 1"), ElementsAre("require_slots 2"));
  EXPECT_THAT(script.run_all({"register 4", "slots 1:0 4:0"}),
              ElementsAre(HasSubstr("deploy tm=1 0/0#1@0 1/0#1@0"),
                          HasSubstr("deploy tm=4 0/1#1@0 1/1#1@0"), "= RUNNING"));
  EXPECT_EQ(script.job().restarts(), 1u);
  EXPECT_EQ(script.job().cause().message(), "source (1/2) on taskmanager-1: first");
  script.run("all RUNNING");
  EXPECT_THAT(script.run("fail 0/0#1 again"), Contains("= FAILING"));  // Only now it counts.
}

/// What the last deployment of a job with two TaskManagers says, after `lines`.
std::vector<std::string> deployments_after(const std::vector<std::string>& lines) {
  JobScript script(two_vertices());
  script.run_all({"register 1", "register 2", "start", "slots 1:0 2:0"});
  std::vector<std::string> last;
  for (const std::string& line : lines) last = script.run(line);
  std::erase_if(last, [](const std::string& text) { return !text.starts_with("deploy"); });
  EXPECT_EQ(last.size(), 2u);
  return last;
}

TEST(JobMasterTest, HasOperatorsCheckedUntilAllTasksOfOneDeploymentHaveRun) {
  // A TaskManager is lost before the last task has run, the second attempt as well.
  EXPECT_THAT(
      deployments_after({"state 0/0#0 RUNNING", "state 1/0#0 END_OF_DATA", "state 0/1#0 RUNNING",
                         "state 1/1#0 INITIALIZING", "lose 2", "state 0/0#0 CANCELED",
                         "state 1/0#0 CANCELED", "register 2", "slots 1:0 2:0"}),
      Each(HasSubstr("| check")));
  EXPECT_THAT(
      deployments_after({"lose 2", "state 0/0#0 CANCELED", "state 1/0#0 CANCELED", "register 2",
                         "slots 1:0 2:0", "all RUNNING", "lose 2", "state 0/0#1 CANCELED",
                         "state 1/0#1 CANCELED", "wait 100", "register 2", "slots 1:0 2:0"}),
      Each(Not(HasSubstr("check"))));
}

TEST(JobMasterTest, HasNothingCheckedThatItsOwnResultsCouldBeInTheWayOf) {
  EXPECT_THAT(
      deployments_after({"all RUNNING", "state 0/0#0 END_OF_DATA", "lose 2", "state 0/0#0 CANCELED",
                         "state 1/0#0 CANCELED", "register 2", "slots 1:0 2:0"}),
      Each(Not(HasSubstr("check"))));
}

TEST(JobMasterTest, SaysForHowManyTasksItsRestartWaits) {
  JobScript script = running_job();
  script.run("fail 0/1#0 one");
  EXPECT_EQ(script.job().waiting_for(), "3 tasks to end");
  script.run_all({"state 0/0#0 CANCELED", "state 1/0#0 CANCELED"});
  EXPECT_EQ(script.job().waiting_for(), "1 task to end");
}

TEST(JobMasterTest, WaitsForTheDelayOfItsStrategy) {
  JobScript script = running_job();
  script.run_all({"fail 0/1#0 one", "all CANCELED", "wait 5000", "all RUNNING", "fail 0/0#1 two"});
  EXPECT_THAT(script.run("all CANCELED"), IsEmpty());
  EXPECT_EQ(script.job().waiting_for(), "the delay before its restart");
  EXPECT_THAT(script.run("wait 99"), IsEmpty());
  EXPECT_THAT(script.run("wait 1"), Contains("= RUNNING"));
  EXPECT_EQ(script.job().graph().at(0).attempt, 2u);
}

TEST(JobMasterTest, TasksLostWithATaskManagerAreOneFailure) {
  Configuration once = JobScript::deterministic();
  ASSERT_TRUE(once.set("restart-strategy.type", "fixed-delay").ok());
  ASSERT_TRUE(once.set("restart-strategy.fixed-delay.delay", "0 ms").ok());
  JobScript script = running_job(once);
  EXPECT_THAT(script.run("lose 2"), ElementsAre("cancel tm=1 0/0#0 1/0#0", "= RESTARTING"));
  // A second one falls while the first failure is dealt with: no failure of its own.
  EXPECT_THAT(script.run("lose 1"), ElementsAre("require_slots 2"));
  EXPECT_EQ(script.job().restarts(), 1u);
  script.run_all({"register 3", "slots 3:0 3:1"});
  EXPECT_EQ(script.job().state(), JobState::kRunning);
}

TEST(JobMasterTest, SpeaksOfOneSlotAndOfSeveral) {
  JobScript script(two_vertices(1, 1));
  script.run_all({"start", "slots cluster=0"});
  EXPECT_EQ(script.job().waiting_for(), "1 slot, the cluster has 0");
  script.run("wait 10000");
  EXPECT_THAT(script.job().cause().message(), HasSubstr("needs 1 slot, the cluster has 0"));
}

TEST(JobMasterTest, SlotTimeoutOfARestartNamesTheFailureBefore) {
  JobScript script = running_job();
  script.run_all({"lose 2", "all CANCELED", "slots 1:0 cluster=1"});
  EXPECT_THAT(script.run("wait 10000"), Contains("= FAILED"));
  EXPECT_THAT(script.job().cause().message(), HasSubstr("needs 2 slots, the cluster has 1"));
  EXPECT_THAT(script.job().cause().message(),
              HasSubstr("taskmanager-2 (tm-0000000000000002, 10.0.0.7:7002) was lost: gone"));
}

TEST(JobMasterTest, RefusalOfADeploymentIsNotRestarted) {
  JobScript script = running_job();
  script.run_all(
      {"refuse 0/0#0 another fingerprint", "state 0/1#0 CANCELED", "state 1/0#0 CANCELED"});
  EXPECT_THAT(script.run("state 1/1#0 CANCELED"), Contains("= FAILED"));
  EXPECT_EQ(script.job().cause().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(script.job().restarts(), 0u);
}

TEST(JobMasterTest, FailsWhenItsStrategyRefuses) {
  JobScript script = running_job(without_restart());
  EXPECT_THAT(script.run("fail 1/0#0 boom"), Contains("= FAILING"));
  EXPECT_THAT(script.run("all CANCELED"), Contains("= FAILED"));
  EXPECT_THAT(script.job().cause().message(),
              HasSubstr("sink (1/2) on taskmanager-1: boom (not restarted: none"));
}

TEST(JobMasterTest, IgnoresWhatIsStaleDoubledOrFromElsewhere) {
  JobScript script = running_job();
  script.run_all({"fail 0/1#0 it broke", "all CANCELED"});
  ASSERT_EQ(script.job().graph().at(0).attempt, 1u);
  for (const char* line : {"state 0/0#0 FAILED", "state 0/0#2 FAILED", "state 0/0#1@2 FAILED",
                           "state 7/0#1 FAILED", "state 0/9#1 FAILED", "state 0/0#1 CREATED",
                           "state 0/0#1 FINISHED", "commit_done 1 1 ok", "channels_lost 1/0#0"}) {
    EXPECT_THAT(script.run(line), IsEmpty()) << line;
  }
  EXPECT_EQ(script.job().state(), JobState::kRunning);
  script.run_all({"all RUNNING", "state 0/0#1 INITIALIZING"});  // Late.
  EXPECT_EQ(script.job().graph().at(0).state, TaskState::kRunning);
}

TEST(JobMasterTest, FailureOfATaskThatIsCanceledIsNoFailure) {
  JobScript script = running_job();
  script.run("fail 0/1#0 first");
  EXPECT_THAT(script.run("fail 0/0#0 second"), IsEmpty());
  EXPECT_EQ(script.job().cause().message(), "source (2/2) on taskmanager-2: first");
  EXPECT_EQ(script.job().restarts(), 1u);
}

TEST(JobMasterTest, LostChannelsFailTheirConsumerUnlessItHasEnded) {
  JobScript script = running_job();
  script.run("state 1/1#0 END_OF_DATA");
  EXPECT_THAT(script.run("channels_lost 1/1#0"), IsEmpty());
  EXPECT_THAT(script.run("channels_lost 1/0#0"), Contains("= RESTARTING"));
  EXPECT_THAT(script.job().cause().message(), HasSubstr("reset by peer"));
}

TEST(JobMasterTest, WrongBytesFailTheirConsumerAtOnceWhereverItIs) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("channels_lost 1/0#0@1"), IsEmpty());  // Does not hide what follows.
  EXPECT_THAT(script.run("channels_corrupt 1/0#0@1"), Contains("= RESTARTING"));
  EXPECT_THAT(script.job().cause().message(), HasSubstr("wrong hash"));
  script.run_all({"all CANCELED", "all RUNNING", "state 1/1#1 END_OF_DATA"});
  EXPECT_THAT(script.run("channels_corrupt 1/1#1@2"), Contains("= RESTARTING"));
}

TEST(JobMasterTest, LostChannelsWaitForTheReportOfTheFailureThatTheyAreATraceOf) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("channels_lost 1/0#0@1"), IsEmpty());
  EXPECT_THAT(script.run("fail 0/0#0 it broke"), Contains("= RESTARTING"));
  EXPECT_EQ(script.job().cause().message(), "source (1/2) on taskmanager-1: it broke");
  EXPECT_EQ(script.job().restarts(), 1u);
}

TEST(JobMasterTest, LostChannelsFailTheirConsumerWhenNoReportComes) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("channels_lost 1/0#0@2"), IsEmpty());
  EXPECT_THAT(script.run("wait 999"), IsEmpty());
  EXPECT_EQ(script.job().deadline(), script.now() + Duration(1ms));
  EXPECT_THAT(script.run("wait 1"), Contains("= RESTARTING"));
  EXPECT_EQ(script.job().cause().message(),
            "sink (1/2) on taskmanager-1: lost its channels from taskmanager-2 "
            "(tm-0000000000000002, 10.0.0.7:7002): reset by peer");
}

TEST(JobMasterTest, NothingThatAFailedAttemptLeftIsPublished) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA stale", "fail 0/1#0 it broke", "all CANCELED"});
  script.run("state 1/1#1 END_OF_DATA fresh");
  EXPECT_THAT(script.run("all END_OF_DATA"), ElementsAre("commit tm=2 id=1 fresh", "= COMMITTING"));
}

TEST(JobMasterTest, CancelEndsAJobInEveryStateBeforeItCommits) {
  JobScript waiting(two_vertices());
  waiting.run("start");
  EXPECT_THAT(waiting.run("cancel"), ElementsAre("release", "require_slots 0", "= CANCELED"));
  EXPECT_THAT(waiting.run("cancel"), ElementsAre(HasSubstr("has ended already: CANCELED")));

  JobScript running = running_job();
  EXPECT_THAT(running.run("cancel"),
              ElementsAre("cancel tm=1 0/0#0 1/0#0", "cancel tm=2 0/1#0 1/1#0", "= CANCELLING"));
  EXPECT_THAT(running.run("cancel"), IsEmpty());
  EXPECT_THAT(running.run("all CANCELED"), Contains("= CANCELED"));

  JobScript restarting = running_job();
  restarting.run("fail 0/0#0 it broke");
  EXPECT_THAT(restarting.run("cancel"), ElementsAre("= CANCELLING"));
  EXPECT_THAT(restarting.run("all CANCELED"), Contains("= CANCELED"));

  JobScript delayed = running_job();
  delayed.run_all(
      {"fail 0/1#0 one", "all CANCELED", "wait 5000", "fail 0/0#1 two", "all CANCELED"});
  EXPECT_THAT(delayed.run("cancel"), Contains("= CANCELED"));

  JobScript failing = running_job(without_restart());
  failing.run("fail 0/0#0 it broke");
  EXPECT_THAT(failing.run("cancel"), IsEmpty());
  EXPECT_THAT(failing.run("lose 1"), IsEmpty());
  EXPECT_THAT(failing.run("lose 2"), Contains("= FAILED"));
}

TEST(JobMasterTest, CancelIsRefusedWhileResultsArePublished) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA"});
  ASSERT_EQ(script.job().state(), JobState::kCommitting);
  EXPECT_THAT(script.run("cancel"), ElementsAre(HasSubstr("is publishing its results")));
  EXPECT_THAT(script.run("commit_done 1 1 ok"), Contains("= FINISHED"));
}

TEST(JobMasterTest, CommitsOfALostTaskManagerGoToAnother) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "state 1/1#0 END_OF_DATA b", "all END_OF_DATA"});
  ASSERT_EQ(script.job().state(), JobState::kCommitting);
  EXPECT_THAT(script.run("lose 1"), ElementsAre("commit tm=2 id=3 a"));
  EXPECT_THAT(script.run("commit_done 1 1 ok"), IsEmpty());  // Too late: it is gone.
  EXPECT_THAT(script.run("commit_done 2 2 ok"), IsEmpty());
  EXPECT_THAT(script.run("lose 2"), IsEmpty());
  EXPECT_EQ(script.job().waiting_for(), "a TaskManager");
  EXPECT_THAT(script.run("register 5"), ElementsAre("commit tm=5 id=4 a"));
  EXPECT_THAT(script.run("commit_done 5 4 ok"),
              ElementsAre("release", "require_slots 0", "= FINISHED"));
}

TEST(JobMasterTest, FailuresWhileCommittingChangeNothing) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA"});
  EXPECT_THAT(script.run("fail 1/1#0 connection reset"), IsEmpty());
  EXPECT_THAT(script.run("channels_lost 1/1#0"), IsEmpty());
  EXPECT_THAT(script.run("commit_done 1 1 ok"), Contains("= FINISHED"));
}

TEST(JobMasterTest, CommitThatFailsIsRepeatedAndThenFailsTheJob) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA"});
  EXPECT_THAT(script.run("commit_done 1 1 error"), IsEmpty());
  EXPECT_THAT(script.run("wait 199"), IsEmpty());
  EXPECT_THAT(script.run("wait 1"), ElementsAre("commit tm=1 id=2 a"));
  script.run_all({"commit_done 1 2 error", "wait 400", "commit_done 1 3 error", "wait 800",
                  "commit_done 1 4 error", "wait 1600"});
  EXPECT_THAT(script.run("commit_done 1 5 error"), Contains("= FAILING"));
  EXPECT_THAT(script.run("all CANCELED"), Contains("= FAILED"));
  EXPECT_THAT(script.job().cause().message(), HasSubstr("no space on /out"));
}

TEST(JobMasterTest, CommitThatFailedWaitsForATaskManagerWithoutADeadline) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA", "commit_done 1 1 error"});
  EXPECT_TRUE(script.job().deadline());
  script.run_all({"lose 1", "lose 2"});
  EXPECT_FALSE(script.job().deadline());
  script.run("wait 5000");
  EXPECT_EQ(script.job().waiting_for(), "a TaskManager");
  EXPECT_THAT(script.run("register 5"), ElementsAre("commit tm=5 id=2 a"));
  EXPECT_THAT(script.run("commit_done 5 2 ok"), Contains("= FINISHED"));
}

TEST(JobMasterTest, CommitThatIsNotAnsweredGoesToAnotherTaskManager) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA"});
  EXPECT_THAT(script.run("wait 59999"), IsEmpty());
  EXPECT_THAT(script.run("wait 1"), ElementsAre("commit tm=2 id=2 a"));
  EXPECT_THAT(script.run("commit_done 1 1 error"), IsEmpty());  // Too late.
  EXPECT_THAT(script.run("commit_done 2 2 ok"), Contains("= FINISHED"));
}

TEST(JobMasterTest, LateSuccessOfACommitCounts) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA", "wait 60000"});
  EXPECT_THAT(script.run("commit_done 1 1 ok"), Contains("= FINISHED"));
}

TEST(JobMasterTest, CommitThatNobodyAnswersFailsTheJob) {
  JobScript script = running_job();
  script.run_all({"state 1/0#0 END_OF_DATA a", "all END_OF_DATA"});
  EXPECT_THAT(script.run("wait 299999"), ElementsAre("commit tm=2 id=2 a", "commit tm=1 id=3 a",
                                                     "commit tm=2 id=4 a", "commit tm=1 id=5 a"));
  EXPECT_THAT(script.run("wait 1"), Contains("= FAILING"));
  EXPECT_THAT(script.job().cause().message(), HasSubstr("did not answer within"));
}

TEST(JobMasterTest, HeartbeatsReconcileWhatRuns) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("hosted 1 0/0#0 1/0#0"), IsEmpty());
  EXPECT_THAT(script.run("hosted 1 0/0#0 1/0#0 0/1#0 0/0#7"),
              ElementsAre("cancel tm=1 0/0#7 0/1#0"));
  EXPECT_THAT(script.run("hosted 1 0/0#0"), Contains("= RESTARTING"));
  EXPECT_THAT(script.job().cause().message(), HasSubstr("does not run tasks any more"));
}

TEST(JobMasterTest, HeartbeatThatCrossesADeploymentIsNoFailure) {
  JobScript script(two_vertices());
  script.run_all({"register 1", "register 2", "start", "slots 1:0 2:0"});
  EXPECT_THAT(script.run("hosted 1"), IsEmpty());
  EXPECT_EQ(script.job().state(), JobState::kRunning);
}

TEST(JobMasterTest, HeartbeatsThatOvertakeOrFollowAnAcknowledgementAreNoFailure) {
  JobScript script(two_vertices());
  script.run_all({"register 1", "register 2", "start", "slots 1:0 2:0"});
  EXPECT_THAT(script.run("hosted 1"), IsEmpty());                  // It crossed the deployment.
  EXPECT_THAT(script.run("hosted 1 0/0#0 1/0#0"), IsEmpty());      // It overtook what acknowledges.
  EXPECT_THAT(script.run("state 0/0#0 RUNNING"), IsEmpty());       // The acknowledgement is lost.
  EXPECT_THAT(script.run("hosted 1 0/0#0"), IsEmpty());            // 1/0 is not acknowledged.
  EXPECT_THAT(script.run("state 0/0#0 INITIALIZING"), IsEmpty());  // It comes late.
  EXPECT_EQ(script.job().graph().at(0).state, TaskState::kRunning);
  script.run("state 1/0#0 INITIALIZING");
  EXPECT_THAT(script.run("hosted 1 0/0#0"), Contains("= RESTARTING"));
}

TEST(JobMasterTest, TaskManagerThatCancelsByItselfFailsTheTask) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("state 0/0#0 CANCELED"), Contains("= RESTARTING"));
  EXPECT_EQ(script.job().graph().at(0).state, TaskState::kFailed);
}

TEST(JobMasterTest, CountsWhatItsSourcesRead) {
  JobScript script = running_job();
  auto& job = const_cast<JobMaster&>(script.job());
  job.on_progress(TimePoint{}, TaskManagerId{1}, {job.id(), {VertexId{0}, 0}, 0}, {0, 70, 0, 0, 7});
  job.on_progress(TimePoint{}, TaskManagerId{2}, {job.id(), {VertexId{0}, 1}, 0}, {0, 50, 0, 0, 5});
  job.on_progress(TimePoint{}, TaskManagerId{2}, {job.id(), {VertexId{1}, 1}, 0}, {9, 9, 0, 0, 0});
  job.on_progress(TimePoint{}, TaskManagerId{1}, {job.id(), {VertexId{0}, 1}, 0},
                  {0, 0, 0, 0, 99});  // Not its.
  EXPECT_EQ(job.source_records(), 12u);
}

TEST(JobMasterTest, HasOneTaskFailThatRuns) {
  JobScript script = running_job();
  EXPECT_THAT(script.run("fail_by_crash sink 1"), ElementsAre("provoke tm=2 1/1#0 crash"));
  EXPECT_THAT(script.run("fail_by_crash 0 0"), ElementsAre("provoke tm=1 0/0#0 crash"));
  EXPECT_THAT(script.run("fail_by_crash source 2"),
              ElementsAre(HasSubstr("no subtask 2 of vertex 'source'; they go from 0 to 1")));
  EXPECT_THAT(script.run("fail_by_crash 7 0"),
              ElementsAre(HasSubstr("there are 0 'source', 1 'sink'")));
  script.run("lose 2");
  EXPECT_THAT(script.run("fail_by_crash 1 0"),
              ElementsAre(HasSubstr("sink (1/2) is CANCELING, and the job RESTARTING")));
}

const std::vector<std::string> kSinksRun = {"register 1",
                                            "start",
                                            "slots 1:0 1:1",
                                            "all RUNNING",
                                            "state 0/0#0 END_OF_DATA",
                                            "state 0/1#0 END_OF_DATA",
                                            "state 0/0#0 FINISHED",
                                            "state 0/1#0 FINISHED",
                                            "state 1/0#0 RUNNING",
                                            "state 1/1#0 RUNNING"};

TEST(JobMasterBatchTest, MakesAgainWhatAConsumerDoesNotFind) {
  JobScript script(two_stages());
  script.run_all(kSinksRun);
  script.run("not_found 1/0#0 0 1 2");
  EXPECT_EQ(script.job().state(), JobState::kRestarting);
  EXPECT_FALSE(script.job().graph().at(0).output_lost);
  EXPECT_TRUE(script.job().graph().at(1).output_lost);
  EXPECT_EQ(script.job().graph().at(3).state, TaskState::kCanceling);  // It reads that, too.
}

/// A producer that is finished a second time starts who reads it, and touches nobody else.
TEST(JobMasterBatchTest, WhatIsMadeAgainStartsItsConsumerAlone) {
  JobScript script([] {
    JobGraph graph = two_vertices(4, 4, Partitioning::kForward);
    graph.edges[0].exchange = Exchange::kBlocking;
    graph.mode = RuntimeMode::kBatch;
    return graph;
  }());
  script.run_all({"register 1", "start", "slots 1:0 1:1 1:2 1:3", "all RUNNING"});
  for (const char* state : {"END_OF_DATA", "FINISHED"}) {
    for (const char* source : {"0/0#0", "0/1#0", "0/2#0", "0/3#0"})
      script.run(std::string("state ") + source + " " + state);
  }
  script.run_all({"all RUNNING", "state 1/0#0 END_OF_DATA", "state 1/0#0 FINISHED"});
  EXPECT_THAT(script.run("not_found 1/3#0 0 3 4"),
              ElementsAre("cancel tm=1 1/3#0", HasSubstr("release_partitions"), "= RESTARTING"));
  EXPECT_THAT(script.run("state 1/3#0 CANCELED"), Contains(HasSubstr("deploy tm=1 0/3#1")));
  script.run_all({"state 0/3#1 INITIALIZING", "state 0/3#1 RUNNING", "state 0/3#1 END_OF_DATA"});
  EXPECT_THAT(script.run("state 0/3#1 FINISHED"), ElementsAre(HasSubstr("deploy tm=1 1/3#1")));
  const auto& graph = script.job().graph();
  EXPECT_EQ(graph.at(SubtaskId{VertexId{1}, 0}).state, TaskState::kFinished);
  for (const uint32_t sink : {1u, 2u}) {
    EXPECT_EQ(graph.at(SubtaskId{VertexId{1}, sink}).state, TaskState::kRunning);
    EXPECT_EQ(graph.at(SubtaskId{VertexId{1}, sink}).attempt, 0u);
  }
}

TEST(JobMasterBatchTest, GivesBackSlotsThatItCannotUseAnyMoreAndAsksAgain) {
  JobScript script([] {
    JobGraph graph = two_vertices(3, 1);
    graph.edges[0].exchange = Exchange::kBlocking;
    graph.mode = RuntimeMode::kBatch;
    return graph;
  }());
  script.run_all({"register 1", "register 2", "start", "slots 1:0 1:1 2:0", "all RUNNING",
                  "state 0/0#0 END_OF_DATA", "state 0/1#0 END_OF_DATA", "state 0/2#0 END_OF_DATA"});
  EXPECT_THAT(script.run("state 0/0#0 FINISHED"), ElementsAre(HasSubstr("deploy tm=1 1/0#0")));
  EXPECT_THAT(script.run("state 0/1#0 FINISHED"),
              ElementsAre("require_slots 1 to 2 running returned=1:1"));
  EXPECT_THAT(script.run("state 0/2#0 FINISHED"), ElementsAre("require_slots 1 returned=2:0"));
  EXPECT_THAT(script.run("lose 1"), Contains("require_slots 1 to 3"));
}

/// No message may bring the JobManager down.
TEST(JobMasterBatchTest, WhatAConsumerNamesThatDoesNotExistIsNotLost) {
  for (const std::string named : {"0 0 4000000000", "0 7 9", "77 0 1", "4294967295 0 1", "0 2 1"}) {
    JobScript script(two_stages());
    script.run_all(kSinksRun);
    for (const std::string& line : script.run("not_found 1/0#0 " + named))
      EXPECT_NE(line[0], '!') << named << ": " << line;
    EXPECT_EQ(script.job().state(),
              JobState::kRestarting);  // The consumer has failed all the same.
  }
}

}  // namespace
}  // namespace freshet
