#include "runtime/rest/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "runtime/rest/job_manager_metrics.h"
#include "tests/unit/rest/fake_cluster.h"

namespace freshet::rest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MetricsServerTest : public ::testing::Test {
 protected:
  MetricsServerTest() {
    level_->gauge({"level", MetricKind::kGauge, "", "how high"}, [] { return 0.5; });
    registry_->add(level_);
    server_ = start({0, 0}).value();
  }

  Result<std::unique_ptr<MetricsServer>> start(PortRange ports) {
    MetricsServer::Options options;
    options.host = "127.0.0.1";
    options.ports = ports;
    options.labels = {{"tm_id", "7"}};
    return MetricsServer::start(options, registry_, clock_);
  }
  httplib::Client client() const { return httplib::Client("127.0.0.1", server_->address().port); }

  ManualClock clock_;
  const std::shared_ptr<MetricRegistry> registry_ = std::make_shared<MetricRegistry>();
  const std::shared_ptr<MetricGroup> level_ =
      std::make_shared<MetricGroup>(MetricScope::kTaskManager, MetricLabels{{"tm_id", "7"}});
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, GivesAllThatIsInTheRegistryAndCountsItself) {
  auto client = this->client();
  const auto first = client.Get("/metrics");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(first->body, HasSubstr("\nflink_taskmanager_level{tm_id=\"7\"} 0.5\n"));
  EXPECT_THAT(first->body, HasSubstr("flink_taskmanager_Status_Metrics_numScrapes{tm_id=\"7\"} 0"));
  clock_.advance(10s);
  const std::string second = client.Get("/metrics")->body;
  EXPECT_THAT(second, HasSubstr("flink_taskmanager_Status_Metrics_numScrapes{tm_id=\"7\"} 1\n"));
  EXPECT_THAT(second, HasSubstr("numScrapesPerSecond{tm_id=\"7\"} 0.1"));
  EXPECT_THAT(second, HasSubstr("scrapeTimeMs_count{tm_id=\"7\"} 1\n"));
}

TEST_F(MetricsServerTest, HasNothingElse) {
  auto client = this->client();
  EXPECT_EQ(client.Get("/jobs")->status, 404);
  EXPECT_EQ(client.Post("/metrics", "x", "text/plain")->status, 405);
}

TEST_F(MetricsServerTest, TakesTheFirstPortOfARangeThatIsFree) {
  const uint16_t taken = server_->address().port;
  const auto none = start({taken, taken});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr(server_->address().to_string()));
  const auto other = start({taken, static_cast<uint16_t>(std::min(taken + 50, 65535))});
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_GT((*other)->address().port, taken);
}

TEST_F(MetricsServerTest, IdleScrapersHoldUpNobodyForLong) {
  std::vector<std::unique_ptr<httplib::Client>> idle;
  for (size_t i = 0; i < 2 * MetricsServer::kThreadsMax; ++i) {
    idle.push_back(std::make_unique<httplib::Client>("127.0.0.1", server_->address().port));
    idle.back()->set_keep_alive(true);
    EXPECT_EQ(idle.back()->Get("/metrics")->status, 200);
  }
  auto client = this->client();
  client.set_read_timeout(10);
  EXPECT_EQ(client.Get("/metrics")->status, 200);
}

TEST(JobManagerMetricsTest, AreOfTheClusterAndOfJobsThatRun) {
  FakeCluster cluster;
  JobManagerMetrics metrics({{"host", "127.0.0.1"}}, cluster);
  std::vector<MetricGroupReading> groups;
  metrics.read(TimePoint{}, &groups);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].scope, MetricScope::kJobManager);
  EXPECT_EQ(groups[0].metrics[0].name, "numRegisteredTaskManagers");
  EXPECT_EQ(groups[0].metrics[0].value, 1);
  EXPECT_EQ(groups[1].scope, MetricScope::kJob);
  EXPECT_THAT(groups[1].labels, ElementsAre(std::pair("host", "127.0.0.1"),
                                            std::pair("job_id", "00000000000000010000000000000002"),
                                            std::pair("job_name", "words")));
  EXPECT_EQ(groups[1].metrics[0].value, 2);
  groups.clear();
  cluster.job_view.summary.state = JobState::kFinished;
  metrics.read(TimePoint{}, &groups);
  EXPECT_EQ(groups.size(), 1u);
}

TEST(JobManagerMetricsTest, AreOfTheProcessWhenTheMainThreadDoesNotAnswer) {
  FakeCluster cluster;
  cluster.error = unavailable("it does not");
  std::vector<MetricGroupReading> groups;
  JobManagerMetrics({}, cluster).read(TimePoint{}, &groups);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].metrics[0].name, "Status.CPU.Load");
}

}  // namespace
}  // namespace freshet::rest
