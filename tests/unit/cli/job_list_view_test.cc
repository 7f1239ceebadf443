#include "runtime/cli/job_list_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace freshet::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TaskReport task(uint32_t vertex, const std::string& name, uint32_t subtask, uint64_t busy_ms,
                uint64_t idle_ms, uint64_t back_pressured_ms) {
  TaskReport report;
  report.attempt = {{1, 2}, {VertexId{vertex}, subtask}, 3};
  report.name = name;
  report.state = TaskState::kRunning;
  report.task_manager = TaskManagerId{7 + vertex};
  report.records_in = 1000 * vertex + subtask;
  report.records_out = 10;
  report.busy_ms = busy_ms;
  report.idle_ms = idle_ms;
  report.back_pressured_ms = back_pressured_ms;
  return report;
}

JobDetails some_job() {
  JobDetails details;
  details.job.id = {1, 2};
  details.job.name = "count";
  details.job.state = JobState::kRunning;
  details.job.submitted = 5000;
  details.job.tasks = 3;
  details.job.tasks_running = 3;
  details.job.restarts = 1;
  details.job.cause = unavailable("taskmanager-2 went away");
  details.tasks = {task(0, "text", 0, 1, 0, 3), task(1, "count", 0, 998, 1, 1),
                   task(1, "count", 1, 0, 0, 0)};
  return details;
}

JobDetails job_that_would_paint() {
  JobDetails details = some_job();
  details.job.cause = user_error("\x1b[31mred");
  for (TaskReport& task : details.tasks) task.name = "two\nlines";
  return details;
}

const TaskManagerNames kNames = {{TaskManagerId{7}, "taskmanager-1"}};

TEST(JobListViewTest, ShowsAJobAndWhatItLastFailedOf) {
  EXPECT_EQ(job_list_text({some_job().job}),
            "JOB                               STATE           TASKS  RESTARTS    RECORDS READ  "
            "NAME\n"
            "00000000000000010000000000000002  RUNNING           3/3         1               0  "
            "count\n"
            "    taskmanager-2 went away\n");
}

TEST(JobListViewTest, ObeysNothingThatNamesAndCausesHold) {
  EXPECT_THAT(job_list_text({job_that_would_paint().job}), HasSubstr("    \\x1b[31mred\n"));
  EXPECT_THAT(task_list_text(job_that_would_paint(), kNames), HasSubstr("    0: two\\x0alines  "));
}

TEST(JobListViewTest, ShowsVerticesWithTheirSubtasksAndTheLargestShares) {
  EXPECT_EQ(task_list_text(some_job(), kNames),
            "    VERTEX, SUBTASK                    STATE        ATTEMPT     RECORD"
            "S IN    RECORDS OUT  BUSY BACKPR.  TASKMANAGER\n"
            "    0: text                                                           "
            "   0             10  25 %    75 %\n"
            "      0/0                              RUNNING            3           "
            "   0             10  25 %    75 %  taskmanager-1\n"
            "    1: count                                                          "
            "2001             20 100 %     0 %\n"
            "      1/0                              RUNNING            3           "
            "1000             10 100 %     0 %  tm-0000000000000008\n"
            "      1/1                              RUNNING            3           "
            "1001             10   0 %     0 %  tm-0000000000000008\n");
}

TEST(JobListViewTest, SaysHowManyTasksItDoesNotShow) {
  JobDetails details = some_job();
  details.job.tasks = 10'003;
  EXPECT_THAT(task_list_text(details, kNames), HasSubstr("... and 10000 tasks more\n"));
}

TEST(JobListViewTest, WritesJsonWithTheKeysOfFlink) {
  const json list = json::parse(job_list_json({some_job()}, true, kNames));
  const json& job = list["jobs"][0];
  EXPECT_EQ(job["jid"], "00000000000000010000000000000002");
  EXPECT_EQ(job["state"], "RUNNING");
  EXPECT_EQ(job["start-time"], 5000);
  EXPECT_EQ(job["end-time"], -1);  // As Flink says of one that runs.
  EXPECT_EQ(job["tasks"], (json{{"total", 3}, {"running", 3}, {"finished", 0}}));
  EXPECT_EQ(job["failure-cause"], "taskmanager-2 went away");
  ASSERT_EQ(job["vertices"].size(), 2u);
  const json& subtask = job["vertices"][1]["subtasks"][0];
  EXPECT_EQ(subtask["status"], "RUNNING");
  EXPECT_EQ(subtask["attempt"], 3);
  EXPECT_EQ(subtask["metrics"]["read-records"], 1000);
  EXPECT_EQ(subtask["metrics"]["accumulated-busy-time"], 998);
  EXPECT_EQ(job["vertices"][0]["subtasks"][0]["taskmanager"], "taskmanager-1");
}

TEST(JobListViewTest, WritesJsonWithoutJobsAndWithoutTasks) {
  EXPECT_EQ(json::parse(job_list_json({}, true, {})), (json{{"jobs", json::array()}}));
  EXPECT_FALSE(json::parse(job_list_json({some_job()}, false, {}))["jobs"][0].contains("vertices"));
}

}  // namespace
}  // namespace freshet::cli
