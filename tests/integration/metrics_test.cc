#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runtime/app/port_file.h"
#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TestCluster::Options with_ports(const std::string& ports) {
  TestCluster::Options options;
  options.arguments = {"-D", "metrics.reporter.prom.port=" + ports, "-D",
                       "heartbeat.interval=200 ms"};
  return options;
}

/// The endpoints of a cluster of processes, as Prometheus and Flink's clients use them.
class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() { EXPECT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  PortFile ports_of(const std::string& process) const {
    const std::string path =
        cluster_.state_directory() + "/" + cluster_.name() + "/" + process + ".port";
    const auto ports = parse_port_file(read_file(path));
    EXPECT_TRUE(ports.ok() && ports->metrics) << process;
    return ports.ok() ? *ports : PortFile();
  }
  static std::string get(const Address& from, const std::string& path) {
    const auto response = httplib::Client(from.host, from.port).Get(path);
    EXPECT_TRUE(response && response->status == 200) << path;
    return response ? response->body : "";
  }
  std::string scrape(const std::string& process) const {
    return get(ports_of(process).metrics.value_or(Address{}), "/metrics");
  }
  std::string scrape_all() const { return scrape("taskmanager-1") + scrape("taskmanager-2"); }

  /// Of all lines of a metric whose labels hold `label`.
  static double sum(const std::string& text, const std::string& name,
                    const std::string& label = "") {
    double sum = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + "{") && line.find(label) != line.npos)
        sum += std::stod(line.substr(line.rfind(' ')));
    }
    return sum;
  }

  const TemporaryDirectory directory_;
  TestCluster cluster_{with_ports("0")};
};

constexpr const char* kTask = "flink_taskmanager_job_task_";

TEST_F(MetricsTest, RiseWhileAJobRuns) {
  GatedJob running(cluster_, directory_.path());
  ASSERT_TRUE(running.wait_until_in_the_middle()) << running.errors();
  const std::string records_out = "flink_taskmanager_job_task_operator_numRecordsOut";
  ASSERT_TRUE(wait_until([&] { return sum(scrape_all(), records_out) >= 5000; }, 20s));
  const std::string before = scrape_all();
  EXPECT_EQ(sum(before, records_out), 5000);  // It stays in the middle.
  EXPECT_GT(sum(before, kTask + std::string("numRecordsIn")), 0);
  EXPECT_GT(sum(before, kTask + std::string("numBuffersOut")), 0);
  const auto came = [&](const std::string& what) {
    const std::string name = kTask + std::string("Shuffle_Netty_Input_num") + what;
    return sum(before, name + "InLocal") + sum(before, name + "InRemote");
  };
  EXPECT_GT(came("Buffers"), 0);
  EXPECT_GT(came("Bytes"), came("Buffers"));
  EXPECT_THAT(before, ContainsRegex("flink_taskmanager_job_task_numRecordsIn\\{host=\"127_0_0_1\","
                                    "tm_id=\"tm_[0-9a-f]*\",job_id=\"[0-9a-f]*\","
                                    "job_name=\"gated_count\",task_id=\"[0-9a-f]*\","
                                    "task_name=\"[^\"]*\",task_attempt_num=\"0\","
                                    "subtask_index=\"[0-9]\"\\}"));
  EXPECT_GT(sum(before, "flink_taskmanager_Status_Memory_RSS"), 2 << 20);
  EXPECT_GT(sum(before, "flink_taskmanager_Status_Shuffle_Netty_TotalMemorySegments"), 100);
  const auto idle = [](const std::string& text) {
    return sum(text, kTask + std::string("accumulateIdleTimeMs"));
  };
  EXPECT_TRUE(wait_until([&] { return idle(scrape_all()) > idle(before) + 100; }, 20s));

  const std::string job_manager = scrape("jobmanager");
  EXPECT_EQ(sum(job_manager, "flink_jobmanager_numRunningJobs"), 1);
  EXPECT_EQ(sum(job_manager, "flink_jobmanager_taskSlotsTotal"), 4);
  EXPECT_EQ(sum(job_manager, "flink_jobmanager_taskSlotsAvailable"), 0);
  EXPECT_EQ(sum(job_manager, "flink_jobmanager_job_numRestarts", "job_name=\"gated_count\""), 0);
  EXPECT_GT(sum(job_manager, "flink_jobmanager_job_uptime"), 0);

  running.open_gate();
  EXPECT_EQ(running.run().wait(30s), 0) << running.errors();
  EXPECT_TRUE(wait_until([&] { return sum(scrape_all(), records_out) == 0; }, 20s));  // Gone.
  EXPECT_EQ(sum(scrape("jobmanager"), "flink_jobmanager_numRunningJobs"), 0);
  EXPECT_GE(sum(scrape_all(), "flink_taskmanager_Status_Metrics_numScrapes"), 2);
}

TEST_F(MetricsTest, AreListedAndGivenByTheRestApi) {
  GatedJob running(cluster_, directory_.path());
  ASSERT_TRUE(running.wait_until_in_the_middle()) << running.errors();
  const Address rest = ports_of("jobmanager").rest.value_or(Address{});
  const auto ask = [&](const std::string& path) { return json::parse(get(rest, path)); };
  const std::string id = ask("/jobs")["jobs"][0]["id"];
  const json vertex = ask("/jobs/" + id)["vertices"][0];
  const std::string path =
      "/jobs/" + id + "/vertices/" + vertex["id"].get<std::string>() + "/subtasks/metrics";
  // As Nexmark's client looks for it.
  std::string name;
  for (const json& one : ask(path)) {
    const std::string listed = one["id"];
    if (listed.starts_with("Source__") && listed.ends_with(".numRecordsOutPerSecond"))
      name = listed;
  }
  ASSERT_NE(name, "");
  EXPECT_TRUE(wait_until(
      [&] { return ask(path + "?agg=sum&get=" + name)[0]["sum"].get<double>() > 0; }, 20s));
  EXPECT_TRUE(wait_until(
      [&] {
        const json sums = ask("/taskmanagers/metrics?agg=sum,min&get=Status.Memory.RSS");
        return sums[0]["min"].get<double>() > 1 << 20;
      },
      20s));
  const std::string one = ask("/taskmanagers")["taskmanagers"][0]["id"];
  EXPECT_GT(ask("/taskmanagers/" + one + "/metrics").size(), 10u);
  EXPECT_EQ(ask("/jobmanager/metrics?get=numRunningJobs")[0]["value"], "1");
  EXPECT_EQ(ask("/jobs/metrics?agg=max&get=numRestarts")[0]["max"], 0.0);
  EXPECT_EQ(ask("/jobs/" + id + "/metrics?get=numRestarts")[0]["value"], "0");
}

TEST_F(MetricsTest, AreWhereStatusAndLogsSayThatTheyAre) {
  const std::string status = run_freshet({"cluster", "status", "--name", cluster_.name(),
                                          "--state-dir", cluster_.state_directory()})
                                 .output;
  for (const char* process : {"jobmanager", "taskmanager-1", "taskmanager-2"}) {
    const std::string url = metrics_url(ports_of(process).metrics.value_or(Address{}));
    EXPECT_THAT(status, HasSubstr(std::string("Metrics of ") + process + " at " + url));
    EXPECT_THAT(cluster_.log(process), HasSubstr("metrics_started"));
    EXPECT_THAT(cluster_.output(process), HasSubstr("Metrics at " + url));
  }
}

TEST(MetricsOfProcessTest, AreOffUnlessTheyAreAskedFor) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  EXPECT_EQ(cluster.count_in_log("taskmanager-1", "metrics_started"), 0u);
}

TEST(MetricsOfProcessTest, OnePortIsNotEnoughForACluster) {
  for (const char* ports : {"9249", "9249-9250"}) {
    TestCluster cluster(with_ports(ports));
    EXPECT_FALSE(cluster.ok());
    EXPECT_THAT(cluster.started().errors,
                HasSubstr("metrics.reporter.prom.port: 3 processes on one machine"));
  }
}

TEST(MetricsOfProcessTest, ProcessesOfAClusterShareARange) {
  TestCluster cluster(with_ports("39249-39349"));
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  EXPECT_THAT(cluster.started().output, ContainsRegex("Metrics of taskmanager-2 at "
                                                      "http://127.0.0.1:39[23][0-9][0-9]/metrics"));
}

}  // namespace
}  // namespace freshet::testing
