#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>

#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The REST API of a cluster of processes, as Flink's clients use it.
class RestTest : public ::testing::Test {
 protected:
  RestTest() {
    EXPECT_TRUE(cluster_.ok()) << cluster_.started().errors;
    EXPECT_NE(port_, 0);
  }

  json get(const std::string& path) {
    const auto response = httplib::Client("127.0.0.1", port_).Get(path);
    EXPECT_TRUE(response) << path;
    if (!response) return {};
    EXPECT_EQ(response->status, 200) << path << ": " << response->body;
    return json::parse(response->body);
  }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
  const int port_ = cluster_.rest_port();
};

TEST_F(RestTest, ShowsAJobThatRunsAndCancelsIt) {
  GatedJob running(cluster_, directory_.path());
  ASSERT_TRUE(running.wait_until_in_the_middle()) << running.errors();
  EXPECT_EQ(get("/overview")["taskmanagers"], 2);
  EXPECT_EQ(get("/overview")["jobs-running"], 1);
  const std::string id = get("/jobs")["jobs"][0]["id"];
  const std::string job = "/v1/jobs/" + id;
  const json shown = get(job);
  EXPECT_EQ(shown["state"], "RUNNING");
  EXPECT_THAT(shown["vertices"][0]["name"].get<std::string>(), StartsWith("Source: "));
  EXPECT_EQ(shown["vertices"].size(), shown["plan"]["nodes"].size());
  EXPECT_GT(shown["timestamps"]["RUNNING"].get<int64_t>(),
            shown["timestamps"]["CREATED"].get<int64_t>() - 1);
  const std::string vertex = job + "/vertices/" + shown["vertices"][0]["id"].get<std::string>();
  const json subtask = get(vertex)["subtasks"][0];
  EXPECT_EQ(subtask["status"], "RUNNING");
  EXPECT_GT(subtask["start-time"].get<int64_t>(), 0);
  // Numbers come with heartbeats.
  EXPECT_TRUE(wait_until(
      [&] {
        const json sum = get(vertex + "/subtasks/metrics?get=accumulateIdleTimeMs&agg=sum");
        return sum[0]["sum"].get<double>() > 0;
      },
      20s));
  EXPECT_EQ(get(vertex + "/backpressure")["status"], "ok");
  const json task_manager = get("/taskmanagers")["taskmanagers"][0];
  EXPECT_THAT(task_manager["id"].get<std::string>(), StartsWith("tm-"));
  EXPECT_GT(task_manager["timeSinceLastHeartbeat"].get<int64_t>(), 0);
  EXPECT_GE(task_manager["hardware"]["cpuCores"].get<int>(), 1);
  EXPECT_GT(task_manager["hardware"]["physicalMemory"].get<uint64_t>(),
            task_manager["hardware"]["freeMemory"].get<uint64_t>());
  EXPECT_EQ(task_manager["hardware"]["managedMemory"], 256 << 20);  // The default.
  EXPECT_GT(task_manager["memoryConfiguration"]["networkMemory"].get<uint64_t>(), 0u);
  EXPECT_EQ(task_manager["slotsNumber"].get<int>() - task_manager["freeSlots"].get<int>(),
            static_cast<int>(task_manager["allocatedSlots"].size()));

  httplib::Client client("127.0.0.1", port_);
  const auto cancelled = client.Patch(job + "?mode=cancel");
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->status, 202);
  EXPECT_EQ(running.run().wait(20s), 1) << running.errors();
  EXPECT_EQ(get(job + "/status")["status"], "CANCELED");
  EXPECT_EQ(get("/overview")["jobs-cancelled"], 1);
  const auto again = client.Patch(job + "?mode=cancel");
  EXPECT_EQ(again->status, 409);
  EXPECT_THAT(again->body, HasSubstr("ended already"));
}

TEST_F(RestTest, ShowsWhyAJobFailed) {
  const Outcome outcome = cluster_.run(
      {"-D", "restart-strategy.type=fixed-delay", "-D", "restart-strategy.fixed-delay.attempts=1",
       "-D", "restart-strategy.fixed-delay.delay=1 ms", test_job("failing"), "-p", "2", "--",
       "--where", "map", "--output", directory_ / "out"});
  EXPECT_EQ(outcome.exit_code, 1);
  const json jobs = get("/jobs/overview")["jobs"];
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0]["state"], "FAILED");
  const json history =
      get("/jobs/" + jobs[0]["jid"].get<std::string>() + "/exceptions")["exceptionHistory"];
  ASSERT_EQ(history["entries"].size(), 2u);  // The first try, and the restart.
  for (const json& entry : history["entries"]) {
    EXPECT_EQ(entry["exceptionName"], "user_error");
    EXPECT_FALSE(entry["taskName"].is_null());
    EXPECT_THAT(entry["endpoint"].get<std::string>(), StartsWith("127.0.0.1:"));
    EXPECT_THAT(entry["taskManagerId"].get<std::string>(), StartsWith("tm-"));
  }
}

TEST_F(RestTest, ShowsLogsOfAllProcesses) {
  httplib::Client client("127.0.0.1", port_);
  EXPECT_EQ(get("/jobmanager/logs")["logs"][0]["name"], "jobmanager.log");
  EXPECT_THAT(client.Get("/jobmanager/log")->body, HasSubstr("task_manager_registered"));
  EXPECT_THAT(client.Get("/jobmanager/stdout")->body, StartsWith("JobManager at "));
  const std::string path =
      "/taskmanagers/" + get("/taskmanagers")["taskmanagers"][0]["id"].get<std::string>();
  EXPECT_THAT(client.Get(path + "/log")->body, HasSubstr("task_manager_started"));
  EXPECT_THAT(client.Get(path + "/stdout")->body, StartsWith("TaskManager at "));
  EXPECT_EQ(client.Get(path + "/logs/..%2Fstate")->status, 404);
  EXPECT_EQ(client.Get(path + "/logs/state")->status, 404);
  const json log = get(path + "/logs")["logs"][0];
  constexpr int64_t kThisCentury = 1'000'000'000'000;
  EXPECT_GT(log["mtime"].get<int64_t>(), kThisCentury);
}

TEST_F(RestTest, ShowsThreadsOfAllProcesses) {
  const auto names = [this](const std::string& process) {
    const json dump = get(process + "/thread-dump");
    std::vector<std::string> names;
    for (const json& one : dump["threadInfos"]) names.push_back(one["threadName"]);
    return names;
  };
  EXPECT_THAT(names("/jobmanager"), Contains("jm-main"));
  const json task_managers = get("/taskmanagers");
  for (const json& one : task_managers["taskmanagers"])
    EXPECT_THAT(names("/taskmanagers/" + one["id"].get<std::string>()), Contains("tm-main"));
  EXPECT_FALSE(get("/jobmanager/environment")["jvm"]["options"].empty());
}

TEST_F(RestTest, EndsTheCluster) {
  EXPECT_EQ(httplib::Client("127.0.0.1", port_).Delete("/cluster")->status, 200);
  EXPECT_TRUE(wait_until(
      [&] {
        return !cluster_.alive("jobmanager") && !cluster_.alive("taskmanager-1") &&
               !cluster_.alive("taskmanager-2");
      },
      20s));
  EXPECT_EQ(cluster_.stop().exit_code, 0);  // Removes what it left.
}

/// The last line is the status of HTTP.
std::string curl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"-s", "-w", "\n%{http_code}"});
  return run_program("/usr/bin/curl", arguments, 60s).output;
}

TEST(RestOfProcessTest, DemandsTheSecretAsHttpDigest) {
  TestCluster::Options options;
  options.arguments = {"-D", "security.secret=rain"};
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const std::string url = fmt::format("http://127.0.0.1:{}", cluster.rest_port());
  EXPECT_THAT(curl({url + "/jobs"}), AllOf(HasSubstr("curl --digest -u"), EndsWith("\n401")));
  EXPECT_THAT(curl({"-X", "DELETE", url + "/cluster"}), EndsWith("\n401"));
  EXPECT_THAT(curl({"--digest", "-u", "freshet:snow", url + "/jobs"}), EndsWith("\n401"));
  EXPECT_THAT(curl({"-u", "freshet:rain", url + "/jobs"}), EndsWith("\n401"));  // In clear.
  const std::string wrong =
      curl({"--digest", "-u", "freshet:rain", "-F",
            "jarfile=@" + job_module("wordcount") + ";filename=x", url + "/jars/upload"});
  EXPECT_THAT(wrong, AllOf(HasSubstr("is no name of a job module"), EndsWith("\n400")));
  EXPECT_THAT(curl({"--digest", "-u", "freshet:rain", url + "/jobs?x=1"}),
              AllOf(HasSubstr("{\"jobs\":[]}"), EndsWith("\n200")));
  EXPECT_THAT(curl({"--digest", "-u", "freshet:rain", "-I", url + "/jobs"}), EndsWith("\n200"));

  const std::string answer = curl({"--digest", "-u", "freshet:rain", "-F",
                                   "jarfile=@" + job_module("wordcount"), url + "/jars/upload"});
  ASSERT_THAT(answer, EndsWith("\n200"));
  const std::string file = json::parse(answer.substr(0, answer.rfind('\n')))["filename"];
  const TemporaryDirectory directory;
  const json job = {{"programArgsList", {"--output", directory / "counts"}}};
  EXPECT_THAT(curl({"--digest", "-u", "freshet:rain", "-d", job.dump(),
                    url + "/jars" + file.substr(file.rfind('/')) + "/run"}),
              AllOf(HasSubstr("jobid"), EndsWith("\n200")));
}

TEST(RestOfProcessTest, NamesThePortThatItWasToHaveAndThatIsInUse) {
  TestCluster first;
  ASSERT_TRUE(first.ok());
  const std::string port = std::to_string(first.rest_port());
  const TemporaryDirectory directory;
  const Outcome second = run_freshet(
      {"jobmanager", "--port", "0", "--state-dir", directory / "state", "-D", "rest.port=" + port});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_THAT(second.errors, HasSubstr("rest.port: cannot listen for HTTP at 127.0.0.1:" + port));
}

}  // namespace
}  // namespace freshet::testing
