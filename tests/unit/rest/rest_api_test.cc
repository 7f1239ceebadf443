#include "runtime/rest/rest_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/rest/fake_cluster.h"

namespace freshet::rest {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kJob = "/jobs/00000000000000010000000000000002";
constexpr const char* kSource = "/vertices/000000000000000000000000000000aa";
constexpr const char* kSink = "/vertices/000000000000000000000000000000bb";

class RestApiTest : public ::testing::Test {
 protected:
  json get(const std::string& path, const std::map<std::string, std::string>& query = {}) {
    const Response response = api_.handle({"GET", path, query});
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_THAT(response.content_type, HasSubstr("application/json"));
    return json::parse(response.body);
  }
  /// The one message of an answer with this status.
  std::string error(int status, const std::string& path,
                    const std::map<std::string, std::string>& query = {},
                    const std::string& method = "GET") {
    const Response response = api_.handle({method, path, query});
    EXPECT_EQ(response.status, status) << response.body;
    const json body = json::parse(response.body);
    EXPECT_EQ(body["errors"].size(), 1u);
    return body["errors"][0];
  }
  std::string job(const std::string& rest = "") const { return kJob + rest; }
  std::string sink(const std::string& rest = "") const { return std::string(kJob) + kSink + rest; }

  FakeCluster cluster_;
  const RestApi api_{cluster_};
};

TEST_F(RestApiTest, ShowsTheClusterInNumbers) {
  const json overview = get("/overview");
  EXPECT_EQ(overview["taskmanagers"], 1);
  EXPECT_EQ(overview["slots-total"], 3);
  EXPECT_EQ(overview["slots-available"], 1);
  EXPECT_EQ(overview["jobs-running"], 1);
  EXPECT_EQ(overview["jobs-failed"], 0);
  cluster_.job_view.summary.state = JobState::kFailed;
  EXPECT_EQ(get("/overview")["jobs-running"], 0);
  EXPECT_EQ(get("/overview")["jobs-failed"], 1);
  EXPECT_TRUE(get("/config")["features"]["web-cancel"]);
}

TEST_F(RestApiTest, ListsJobs) {
  EXPECT_EQ(
      get("/jobs"),
      (json{{"jobs", {{{"id", "00000000000000010000000000000002"}, {"status", "RUNNING"}}}}}));
  const json job = get("/v1/jobs/overview")["jobs"][0];
  EXPECT_EQ(job["jid"], "00000000000000010000000000000002");
  EXPECT_EQ(job["name"], "words");
  EXPECT_EQ(job["start-time"], 40'000);
  EXPECT_EQ(job["end-time"], -1);
  EXPECT_EQ(job["duration"], 60'000);
  EXPECT_EQ(job["tasks"]["total"], 4);
  EXPECT_EQ(job["tasks"]["running"], 3);
  EXPECT_EQ(job["tasks"]["finished"], 1);  // At the end of its data.
}

TEST_F(RestApiTest, ShowsAJobWithItsVerticesTimesAndPlan) {
  const json shown = get(job());
  EXPECT_EQ(shown["state"], "RUNNING");
  EXPECT_EQ(shown["job-type"], "STREAMING");
  EXPECT_EQ(shown["timestamps"]["RUNNING"], 45'000);
  EXPECT_EQ(shown["timestamps"]["FAILED"], 0);
  EXPECT_EQ(shown["timestamps"]["SUSPENDED"], 0);
  EXPECT_EQ(shown["timestamps"].size(), 11u);  // All of Flink's.
  ASSERT_EQ(shown["vertices"].size(), 2u);
  const json& source = shown["vertices"][0];
  EXPECT_EQ(source["name"], "Source: text");
  EXPECT_EQ(source["status"], "RUNNING");
  EXPECT_EQ(source["start-time"], 45'000);
  EXPECT_EQ(source["duration"], 55'000);
  EXPECT_EQ(source["tasks"]["RUNNING"], 2);
  EXPECT_EQ(source["metrics"]["read-records"], 21);
  EXPECT_EQ(source["metrics"]["accumulated-busy-time"], 100);
  EXPECT_EQ(shown["status-counts"]["RUNNING"], 2);
  EXPECT_EQ(shown["plan"], get(job("/plan"))["plan"]);
  EXPECT_EQ(shown["plan"]["nodes"].size(), 2u);
  EXPECT_EQ(get(job("/status"))["status"], "RUNNING");
  EXPECT_EQ(
      get(job("/config"))["execution-config"]["user-config"]["execution.buffer-timeout.interval"],
      "10 ms");
}

TEST_F(RestApiTest, ShowsStatesThatFlinkKnowsOnly) {
  cluster_.job_view.summary.state = JobState::kCommitting;
  cluster_.job_view.entered.push_back({JobState::kCommitting, 46'000});
  EXPECT_EQ(get(job())["state"], "RUNNING");
  EXPECT_FALSE(get(job())["timestamps"].contains("COMMITTING"));
  cluster_.job_view.vertices[1].subtasks[0].state = TaskState::kEndOfData;
  EXPECT_EQ(get(sink())["subtasks"][0]["status"], "FINISHED");
}

TEST_F(RestApiTest, CancelsAJob) {
  EXPECT_EQ(api_.handle({"PATCH", job(), {{"mode", "cancel"}}}).status, 202);
  EXPECT_THAT(cluster_.cancelled, ElementsAre(JobId{1, 2}));
  EXPECT_THAT(error(400, job(), {{"mode", "stop"}}, "PATCH"), HasSubstr("mode='stop'"));
  cluster_.job_view.summary.state = JobState::kFinished;
  EXPECT_THAT(error(409, job(), {{"mode", "cancel"}}, "PATCH"), HasSubstr("ended already"));
  EXPECT_EQ(cluster_.cancelled.size(), 1u);
}

TEST_F(RestApiTest, ShowsLogs) {
  EXPECT_EQ(get("/jobmanager/logs")["logs"][0]["name"], "jobmanager.log");
  EXPECT_EQ(get("/jobmanager/logs")["logs"][0]["size"], 12);
  EXPECT_EQ(get("/jobmanager/logs")["logs"][0]["mtime"], 99'000);
  EXPECT_FALSE(get("/jobmanager/logs")["logs"][1].contains("mtime"));  // It is not known.
  const std::string one = "/taskmanagers/" + to_string(TaskManagerId{7});
  EXPECT_EQ(get(one + "/logs")["logs"][1]["name"], "taskmanager-7.out");
  const auto text = [&](const std::string& path) {
    const Response response = api_.handle({"GET", path, {}});
    EXPECT_EQ(response.content_type, "text/plain; charset=UTF-8");
    return response.body;
  };
  EXPECT_EQ(text("/jobmanager/log"), "jm log\n");
  EXPECT_EQ(text("/v1/jobmanager/stdout"), "jm stdout\n");
  EXPECT_EQ(text(one + "/log"), "7 log\n");
  EXPECT_EQ(text(one + "/logs/taskmanager-1.1.log"), "7 taskmanager-1.1.log\n");
  EXPECT_THAT(error(404, one + "/logs/none.log"), HasSubstr("no log 'none.log'"));
  EXPECT_THAT(error(404, "/taskmanagers/nobody/log"), HasSubstr("no TaskManager 'nobody'"));
  EXPECT_THAT(error(404, one + "/other"), HasSubstr("nothing at"));
}

TEST_F(RestApiTest, EndsTheCluster) {
  EXPECT_EQ(api_.handle({"DELETE", "/cluster", {}}).status, 200);
  EXPECT_EQ(cluster_.shut_downs, 1);
  EXPECT_THAT(error(405, "/cluster"), HasSubstr("not for GET"));
  EXPECT_EQ(cluster_.shut_downs, 1);
}

TEST_F(RestApiTest, ShowsTheLatestFailures) {
  EXPECT_THAT(get(job("/exceptions"))["exceptionHistory"]["entries"], IsEmpty());
  cluster_.job_view.failures = {
      {90'000, "user_error", "count (2/4): no such word", "\n\tat count()", "count (2/4)",
       "taskmanager-1 (tm-0000000000000007, 127.0.0.1:4711)", TaskManagerId{7}, "127.0.0.1:4711"},
      {80'000, "unavailable", "taskmanager-2 was lost", "", "", "taskmanager-2"}};
  const json history = get(job("/exceptions"))["exceptionHistory"];
  ASSERT_EQ(history["entries"].size(), 2u);
  EXPECT_EQ(history["entries"][0]["exceptionName"], "user_error");
  EXPECT_EQ(history["entries"][0]["stacktrace"], "count (2/4): no such word\n\tat count()");
  EXPECT_EQ(history["entries"][0]["taskName"], "count (2/4)");
  EXPECT_EQ(history["entries"][0]["timestamp"], 90'000);
  EXPECT_EQ(history["entries"][0]["taskManagerId"], "tm-0000000000000007");
  EXPECT_EQ(history["entries"][0]["endpoint"], "127.0.0.1:4711");
  EXPECT_TRUE(history["entries"][1]["taskManagerId"].is_null());
  EXPECT_TRUE(history["entries"][1]["endpoint"].is_null());
  EXPECT_TRUE(history["entries"][1]["taskName"].is_null());
  EXPECT_FALSE(history["truncated"]);
  const json one = get(job("/exceptions"), {{"maxExceptions", "1"}})["exceptionHistory"];
  EXPECT_EQ(one["entries"].size(), 1u);
  EXPECT_TRUE(one["truncated"]);
  EXPECT_THAT(error(400, job("/exceptions"), {{"maxExceptions", "-1"}}), HasSubstr("'-1'"));
}

TEST_F(RestApiTest, ShowsTheSubtasksOfAVertex) {
  const json vertex = get(sink());
  EXPECT_EQ(vertex["name"], "Sink: files");
  const json& subtask = vertex["subtasks"][1];
  EXPECT_EQ(subtask["subtask"], 1);
  EXPECT_EQ(subtask["attempt"], 0);
  EXPECT_EQ(subtask["endpoint"], "127.0.0.1:4711");
  EXPECT_EQ(subtask["taskmanager-id"], "tm-0000000000000007");
  EXPECT_EQ(subtask["start-time"], 45'001);
  EXPECT_EQ(subtask["duration"], 54'999);
  EXPECT_EQ(subtask["metrics"]["read-records"], 11);
  cluster_.job_view.vertices[1].subtasks[1].task_manager = TaskManagerId();
  EXPECT_EQ(get(sink())["subtasks"][1]["endpoint"], "(unassigned)");
}

/// To the last byte: texts that are written at once are what a tree of values would be.
TEST_F(RestApiTest, WritesManySubtasksAsItWritesOne) {
  const std::string path = sink();
  cluster_.job_view.vertices[1].name = "a \"b\" \\ \n ü \xff";
  const auto body = [&](const std::string& rest) {
    return api_.handle({"GET", path + rest, {}}).body;
  };
  const std::string one = body("/subtasks/1");
  EXPECT_EQ(one, R"({"subtask":1,"status":"RUNNING","attempt":0,"endpoint":"127.0.0.1:4711",)"
                 R"("start-time":45001,"end-time":-1,"duration":54999,"metrics":{"read-bytes":0,)"
                 R"("read-bytes-complete":true,"write-bytes":0,"write-bytes-complete":true,)"
                 R"("read-records":11,"read-records-complete":true,"write-records":0,)"
                 R"("write-records-complete":true,"accumulated-backpressured-time":0,)"
                 R"("accumulated-idle-time":0,"accumulated-busy-time":50},)"
                 R"("taskmanager-id":"tm-0000000000000007","status-duration":{"CREATED":4000,)"
                 R"("SCHEDULED":1001,"DEPLOYING":99,"INITIALIZING":201,"RUNNING":54699}})");
  const std::string name = R"("a \"b\" \\ \n ü )"
                           "\xef\xbf\xbd\"";
  const std::string all = body("");
  EXPECT_THAT(all, StartsWith(R"({"id":"000000000000000000000000000000bb","name":)" + name));
  EXPECT_THAT(all, HasSubstr(R"("now":100000,"subtasks":[)" + body("/subtasks/0") + "," + one +
                             R"(],"aggregated":{"metrics":{"read-bytes":{"min":0,)"));
  EXPECT_EQ(body("/subtasktimes"),
            R"({"id":"000000000000000000000000000000bb","name":)" + name +
                R"(,"now":100000,"subtasks":[{"subtask":0,"endpoint":"127.0.0.1:4711",)"
                R"("duration":55000,"timestamps":{"CREATED":40000,"SCHEDULED":44000,)"
                R"("DEPLOYING":45000,"INITIALIZING":45100,"RUNNING":45300,"FINISHED":0,)"
                R"("CANCELING":0,"CANCELED":0,"FAILED":0,"RECONCILING":0}},{"subtask":1,)"
                R"("endpoint":"127.0.0.1:4711","duration":54999,"timestamps":{"CREATED":40000,)"
                R"("SCHEDULED":44000,"DEPLOYING":45001,"INITIALIZING":45100,"RUNNING":45301,)"
                R"("FINISHED":0,"CANCELING":0,"CANCELED":0,"FAILED":0,"RECONCILING":0}}]})");
  EXPECT_EQ(json::parse(all), get(path));
}

TEST_F(RestApiTest, ShowsASubtaskByItself) {
  const json all = get(sink())["subtasks"];
  EXPECT_EQ(get(sink("/subtasks/1")), all[1]);
  EXPECT_EQ(get(sink("/subtasks/1/attempts/0")), all[1]);
  EXPECT_EQ(all[1]["status-duration"], (json{{"CREATED", 4'000},
                                             {"SCHEDULED", 1'001},
                                             {"DEPLOYING", 99},
                                             {"INITIALIZING", 201},
                                             {"RUNNING", 54'699}}));
  EXPECT_THAT(error(404, sink("/subtasks/1/attempts/1")),
              HasSubstr("attempt '1' of subtask 1 is not kept; the present one is 0"));
  EXPECT_THAT(error(400, sink("/subtasks/2")), HasSubstr("there are 2"));
  EXPECT_THAT(error(400, sink("/subtasks/x")), HasSubstr("'x'"));
}

TEST_F(RestApiTest, CountsNoTimeInAStateThatASubtaskDidNotComeToOrHasLeft) {
  SubtaskView& subtask = cluster_.job_view.vertices[1].subtasks[1];
  subtask.state = TaskState::kFailed;
  subtask.entered[static_cast<size_t>(TaskState::kInitializing)] = kNever;
  subtask.entered[static_cast<size_t>(TaskState::kRunning)] = kNever;
  subtask.entered[static_cast<size_t>(TaskState::kFailed)] = subtask.ended = 47'001;
  const json shown = get(sink("/subtasks/1"))["status-duration"];
  EXPECT_EQ(shown["DEPLOYING"], 2'000);
  EXPECT_EQ(shown["INITIALIZING"], -1);
  EXPECT_EQ(shown["RUNNING"], -1);
}

TEST_F(RestApiTest, SaysWhatIsTypicalForTheSubtasksOfAVertex) {
  const json shown = get(sink())["aggregated"];
  EXPECT_EQ(shown["metrics"]["read-records"], (json{{"min", 10},
                                                    {"max", 11},
                                                    {"avg", 10},
                                                    {"sum", 21},
                                                    {"median", 10},
                                                    {"p25", 10},
                                                    {"p75", 11},
                                                    {"p95", 11}}));
  EXPECT_EQ(shown["metrics"].size(), 7u);
  EXPECT_EQ(shown["status-duration"]["DEPLOYING"]["max"], 100);
  EXPECT_EQ(shown["status-duration"]["RUNNING"]["min"], 54'699);
}

TEST_F(RestApiTest, ShowsWhenSubtasksCameToWhichState) {
  cluster_.job_view.vertices[1].subtasks[0].entered[static_cast<size_t>(TaskState::kEndOfData)] =
      60'000;
  const json shown = get(sink("/subtasktimes"));
  EXPECT_EQ(shown["name"], "Sink: files");
  EXPECT_EQ(shown["subtasks"][1]["endpoint"], "127.0.0.1:4711");
  EXPECT_EQ(shown["subtasks"][1]["timestamps"]["DEPLOYING"], 45'001);
  EXPECT_EQ(shown["subtasks"][1]["timestamps"]["FINISHED"], 0);
  EXPECT_EQ(shown["subtasks"][0]["timestamps"]["FINISHED"], 60'000);
  EXPECT_EQ(shown["subtasks"][0]["timestamps"].size(), 10u);  // Flink's.
}

TEST_F(RestApiTest, ShowsOnWhichTaskManagersAVertexRuns) {
  json shown = get(sink("/taskmanagers"))["taskmanagers"];
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0]["taskmanager-id"], "tm-0000000000000007");
  EXPECT_EQ(shown[0]["endpoint"], "127.0.0.1:4711");
  EXPECT_EQ(shown[0]["metrics"]["read-records"], 21);
  EXPECT_EQ(shown[0]["status-counts"]["RUNNING"], 2);
  cluster_.job_view.vertices[1].subtasks[0].task_manager = TaskManagerId{};
  cluster_.job_view.vertices[1].subtasks[0].state = TaskState::kCreated;
  shown = get(sink("/taskmanagers"))["taskmanagers"];
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0]["taskmanager-id"], "(unassigned)");
  EXPECT_EQ(shown[0]["status"], "CREATED");
  EXPECT_EQ(shown[1]["status"], "RUNNING");
  EXPECT_EQ(shown[1]["aggregated"]["metrics"]["read-records"]["sum"], 11);
}

TEST_F(RestApiTest, HasNoWatermarks) {
  EXPECT_EQ(get(sink("/watermarks")), json::array());
  EXPECT_THAT(error(404, job("/vertices/x/watermarks")), HasSubstr("'x'"));
}

TEST_F(RestApiTest, ShowsBackPressureAsTheWorstSubtaskHasIt) {
  const json shown = get(sink("/backpressure"));
  EXPECT_EQ(shown["status"], "ok");
  EXPECT_EQ(shown["backpressureLevel"], "high");
  EXPECT_EQ(shown["subtasks"][0]["backpressureLevel"], "low");
  EXPECT_EQ(shown["subtasks"][0]["busyRatio"], 0.25);
  EXPECT_EQ(shown["subtasks"][1]["ratio"], 0.75);
}

TEST_F(RestApiTest, ListsAndGivesMetrics) {
  const json names = get(sink("/subtasks/1/metrics"));
  EXPECT_EQ(names[0], (json{{"id", "numRecordsIn"}}));
  EXPECT_EQ(get(sink("/subtasks/1/metrics"), {{"get", "numRecordsIn,busyTimeMsPerSecond,none"}}),
            (json{{{"id", "numRecordsIn"}, {"value", "11"}},
                  {{"id", "busyTimeMsPerSecond"}, {"value", "250"}}}));
  EXPECT_EQ(get(sink("/metrics"), {{"get", "0.numRecordsIn,1.numRecordsInPerSecond"}}),
            (json{{{"id", "0.numRecordsIn"}, {"value", "10"}},
                  {{"id", "1.numRecordsInPerSecond"}, {"value", "0.5"}}}));
  EXPECT_EQ(get(job("/metrics"), {{"get", "uptime"}}),
            (json{{{"id", "uptime"}, {"value", "55000"}}}));
}

TEST_F(RestApiTest, GivesMetricsOfOperatorsWithTheirNames) {
  const std::string source = job(kSource);
  EXPECT_EQ(get(source + "/metrics", {{"get", "1.Source__text.numRecordsOut"}}),
            (json{{{"id", "1.Source__text.numRecordsOut"}, {"value", "200"}}}));
  EXPECT_EQ(
      get(source + "/subtasks/metrics", {{"get", "Source__text.numRecordsOut"}, {"agg", "sum"}}),
      (json{{{"id", "Source__text.numRecordsOut"}, {"sum", 300.0}}}));
}

TEST_F(RestApiTest, GivesMetricsOfProcessesAndJobs) {
  const std::string one = "/taskmanagers/tm-0000000000000007/metrics";
  EXPECT_THAT(get(one).dump(), HasSubstr(R"({"id":"Status.JVM.Memory.Heap.Used"})"));
  EXPECT_EQ(get(one, {{"get", "Status.Memory.RSS,Status.Shuffle.Netty.UsedMemorySegments"}}),
            (json{{{"id", "Status.Memory.RSS"}, {"value", "52428800"}},
                  {{"id", "Status.Shuffle.Netty.UsedMemorySegments"}, {"value", "6"}}}));
  EXPECT_THAT(error(404, "/taskmanagers/tm-1/metrics"), HasSubstr("'tm-1'"));
  EXPECT_EQ(get("/jobmanager/metrics", {{"get", "taskSlotsTotal,Status.Threads.Count"}}),
            (json{{{"id", "taskSlotsTotal"}, {"value", "3"}},
                  {{"id", "Status.Threads.Count"}, {"value", "9"}}}));
  EXPECT_THAT(get("/jobmanager/metrics").dump(), HasSubstr(R"({"id":"numRunningJobs"})"));
  EXPECT_EQ(get(job("/metrics"), {{"get", "numRestarts"}}),
            (json{{{"id", "numRestarts"}, {"value", "2"}}}));
}

TEST_F(RestApiTest, AggregatesMetricsOverProcessesAndJobs) {
  TaskManagerView second = cluster_.task_manager_views.front();
  second.id = TaskManagerId{8};
  second.numbers.process.resident_bytes = 30 << 20;
  cluster_.task_manager_views.push_back(second);
  EXPECT_EQ(get("/taskmanagers/metrics", {{"get", "Status.Memory.RSS"}, {"agg", "sum,max"}}),
            (json{{{"id", "Status.Memory.RSS"}, {"max", 52428800.0}, {"sum", 83886080.0}}}));
  EXPECT_EQ(
      get("/taskmanagers/metrics", {{"get", "Status.Memory.RSS"},
                                    {"agg", "sum"},
                                    {"taskmanagers", "tm-0000000000000008,tm-0000000000000009"}}),
      (json{{{"id", "Status.Memory.RSS"}, {"sum", 31457280.0}}}));
  EXPECT_EQ(get("/jobs/metrics", {{"get", "numRestarts"}, {"agg", "avg"}}),
            (json{{{"id", "numRestarts"}, {"avg", 2.0}}}));
  EXPECT_EQ(get("/jobs/metrics", {{"get", "numRestarts"}, {"jobs", std::string(32, '0')}}),
            json::array());
  EXPECT_THAT(error(400, "/jobs/metrics", {{"agg", "median"}}), HasSubstr("'median'"));
}

TEST_F(RestApiTest, AggregatesMetricsOverSubtasks) {
  const std::string path = sink("/subtasks/metrics");
  EXPECT_EQ(get(path)[0], (json{{"id", "numRecordsIn"}}));
  EXPECT_EQ(
      get(path, {{"get", "numRecordsIn"}}),
      (json{{{"id", "numRecordsIn"}, {"min", 10.0}, {"max", 11.0}, {"avg", 10.5}, {"sum", 21.0}}}));
  EXPECT_EQ(get(path, {{"get", "numRecordsIn"}, {"agg", "max"}, {"subtasks", "0"}}),
            (json{{{"id", "numRecordsIn"}, {"max", 10.0}}}));
  EXPECT_EQ(get(path, {{"get", "numRecordsIn"}, {"agg", "sum"}, {"subtasks", "0-1"}}),
            (json{{{"id", "numRecordsIn"}, {"sum", 21.0}}}));
  EXPECT_THAT(error(400, path, {{"agg", "median"}}), HasSubstr("'median'"));
  for (const char* bad : {"2", "x", "0-", "1-0", "0,,1", "0-99999999999"})
    error(400, path, {{"subtasks", bad}});
}

TEST_F(RestApiTest, ShowsTaskManagersAndSettings) {
  const json one = get("/taskmanagers")["taskmanagers"][0];
  EXPECT_EQ(one["id"], "tm-0000000000000007");
  EXPECT_EQ(one["path"], "127.0.0.1:4711");
  EXPECT_EQ(one["slotsNumber"], 3);
  EXPECT_EQ(one["freeSlots"], 1);
  EXPECT_EQ(one["allocatedSlots"].size(), 2u);
  json details = get("/taskmanagers/tm-0000000000000007");
  EXPECT_EQ(details["metrics"]["nettyShuffleMemorySegmentsAvailable"], 4);
  EXPECT_EQ(details["metrics"]["nettyShuffleMemorySegmentsUsed"], 6);
  EXPECT_EQ(details["metrics"]["nettyShuffleMemoryTotal"], 10 * (32 << 10));
  details.erase("metrics");
  EXPECT_EQ(details, one);
  EXPECT_THAT(error(404, "/taskmanagers/tm-1"), HasSubstr("'tm-1'"));
  EXPECT_EQ(get("/jobmanager/config"), (json{{{"key", "heartbeat.interval"}, {"value", "2 s"}}}));
}

TEST_F(RestApiTest, ShowsWhatTaskManagersHaveOnceTheyHaveSaidSo) {
  TaskManagerView& view = cluster_.task_manager_views[0];
  view.numbers.network_bytes = 64 << 20;
  view.numbers.network_bytes_free = 10 << 20;
  json one = get("/taskmanagers")["taskmanagers"][0];
  EXPECT_EQ(one["hardware"], (json{{"cpuCores", 8},
                                   {"physicalMemory", uint64_t{16} << 30},
                                   {"freeMemory", uint64_t{5} << 30},
                                   {"managedMemory", 96 << 20}}));
  EXPECT_EQ(one["memoryConfiguration"],
            (json{{"managedMemory", 96 << 20}, {"networkMemory", 64 << 20}}));
  const json none = json::object();
  EXPECT_EQ(one["totalResource"],
            (json{{"managedMemory", 96}, {"networkMemory", 64}, {"extendedResources", none}}));
  EXPECT_EQ(one["freeResource"],  // One of three slots.
            (json{{"managedMemory", 32}, {"networkMemory", 10}, {"extendedResources", none}}));
  EXPECT_FALSE(one["blocked"]);
  view.withheld = true;
  view.numbers = {};
  one = get("/taskmanagers/tm-0000000000000007");
  EXPECT_TRUE(one["blocked"]);
  for (const char* unknown : {"hardware", "memoryConfiguration", "freeResource", "metrics"})
    EXPECT_FALSE(one.contains(unknown)) << unknown;
}

TEST_F(RestApiTest, ShowsThreadsAndTheEnvironment) {
  EXPECT_EQ(get("/jobmanager/thread-dump"),
            (json{{"threadInfos",
                   {{{"threadName", "jm-main"},
                     {"stringifiedThreadInfo", "\"jm-main\" Id=12 SLEEPING cpu=5ms\n"}}}}}));
  EXPECT_EQ(get("/taskmanagers/tm-0000000000000007/thread-dump")["threadInfos"][0]["threadName"],
            "tm-main");
  EXPECT_THAT(error(404, "/taskmanagers/tm-1/thread-dump"), HasSubstr("'tm-1'"));
  const json environment = get("/jobmanager/environment")["jvm"];
  EXPECT_THAT(environment["version"].get<std::string>(), StartsWith("freshet "));
  EXPECT_EQ(environment["arch"], "x86_64");
  EXPECT_EQ(environment["options"], json::array({"-Dheartbeat.interval=2 s"}));
}

TEST_F(RestApiTest, SaysWhatIsWrongWithARequest) {
  EXPECT_THAT(error(404, "/nothing"), HasSubstr("/nothing"));
  EXPECT_THAT(error(404, "/"), HasSubstr("/"));
  EXPECT_THAT(error(404, std::string(10'000, 'x')), HasSubstr("xxx"));
  EXPECT_THAT(error(405, "/jobs", {}, "DELETE"), HasSubstr("DELETE"));
  EXPECT_THAT(error(400, "/jobs/12"), HasSubstr("12"));
  EXPECT_THAT(error(404, "/jobs/" + std::string(32, 'f')), HasSubstr("ffff"));
  EXPECT_THAT(error(404, job("/vertices/x")), HasSubstr("'x'"));
  EXPECT_THAT(error(400, sink("/subtasks/2/metrics")), HasSubstr("there are 2"));
  EXPECT_THAT(error(400, sink("/subtasks/0,1/metrics")), HasSubstr("'0,1'"));
  cluster_.error = Status(StatusCode::kDeadlineExceeded, "the JobManager did not answer");
  for (const char* path : {"/jobs", "/overview", "/jobs/overview", "/taskmanagers"})
    EXPECT_EQ(error(503, path), "the JobManager did not answer");
}

}  // namespace
}  // namespace freshet::rest
