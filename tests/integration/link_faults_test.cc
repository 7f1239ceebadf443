#include <gtest/gtest.h>

#include "tests/integration/breakable_cluster.h"
#include "tests/integration/gated_job.h"

namespace freshet::testing {
namespace {

using chaos::Fault;
using chaos::FaultKind;

Fault fault(FaultKind kind, const std::string& link) {
  Fault result;
  result.kind = kind;
  result.link = chaos::parse_link_name(link).value();
  return result;
}

const std::string kData = "taskmanager-1 <-> taskmanager-2";
const std::string kControl = "taskmanager-1 <-> jobmanager";

/// Jobs on two TaskManagers whose links break in the middle.
class LinkFaultsClusterTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.wait_until_ready()); }

  TestCluster& cluster() { return cluster_.cluster(); }

  uint32_t restarts() {
    const auto jobs = cluster().jobs();
    return jobs.empty() ? 0 : jobs.front().restarts;
  }
  bool wait_for_restarts(uint32_t count) {
    return wait_until([&] { return restarts() >= count; }, 20s);
  }

  void expect_end(GatedJob& job) {
    job.open_gate();
    ASSERT_EQ(job.run().wait(60s), 0) << job.errors();
    job.expect_exact_result();
  }

  const TemporaryDirectory directory_;
  BreakableCluster cluster_{{"-D", "heartbeat.interval=100 ms", "-D", "heartbeat.timeout=1 s"}};
};

TEST_F(LinkFaultsClusterTest, DataIsCutInTheMiddle) {
  GatedJob job(cluster(), directory_.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  EXPECT_GE(cluster_.break_link(fault(FaultKind::kCut, kData)).connections, 1u);
  ASSERT_TRUE(wait_for_restarts(2)) << job.errors();  // In vain.
  cluster_.links().heal_all();
  expect_end(job);
}

TEST_F(LinkFaultsClusterTest, DataStandsStillForLongerThanAnyTimeout) {
  GatedJob job(cluster(), directory_.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  EXPECT_GE(cluster_.break_link(fault(FaultKind::kHalfOpen, kData)).connections, 1u);
  job.open_gate();
  EXPECT_EQ(job.run().wait(3s), std::nullopt);
  cluster_.links().heal_all();
  expect_end(job);
  EXPECT_EQ(restarts(), 0u);  // Nothing was lost.
}

/// Of the only TaskManager with tasks of the job.
class ControlFaultsTest : public LinkFaultsClusterTest {
 protected:
  void SetUp() override {
    LinkFaultsClusterTest::SetUp();
    job_ =
        std::make_unique<GatedJob>(cluster(), directory_.path(), std::vector<std::string>(), "2");
    ASSERT_TRUE(job_->wait_until_in_the_middle()) << job_->errors();
    const bool first = cluster().count_in_log("taskmanager-1", "to=RUNNING") > 0;
    zombie_ = first ? "taskmanager-1" : "taskmanager-2";
  }

  void hold(const std::string& arrow) {
    const auto parts = arrow == "<-" ? std::pair("jobmanager", zombie_.c_str())
                                     : std::pair(zombie_.c_str(), "jobmanager");
    const std::string link =
        std::string(parts.first) + (arrow == "<->" ? " <-> " : " -> ") + parts.second;
    EXPECT_EQ(cluster_.break_link(fault(FaultKind::kHalfOpen, link)).connections, 1u);
    ASSERT_TRUE(job_->wait_until_in_the_middle(1)) << job_->errors();
  }

  void expect_that_it_comes_back() {
    EXPECT_TRUE(
        wait_until([&] { return cluster().count_in_log(zombie_, " registered ") >= 2; }, 20s))
        << cluster().log(zombie_);
    EXPECT_EQ(cluster().process(zombie_).restarts, 0u);
    const TemporaryDirectory other;
    GatedJob next(cluster(), other.path());  // Needs all slots.
    next.open_gate();
    EXPECT_EQ(next.run().wait(30s), 0) << next.errors();
    next.expect_exact_result();
    job_->expect_exact_result();
  }

  std::unique_ptr<GatedJob> job_;
  std::string zombie_;
};

TEST_F(ControlFaultsTest, AZombieIsFencedWhenItsLinkComesBackWhileTheJobRuns) {
  hold("<->");
  cluster_.links().heal_all();
  expect_end(*job_);
  expect_that_it_comes_back();
}

TEST_F(ControlFaultsTest, AZombieIsFencedWhenItsLinkComesBackAfterTheEnd) {
  hold("<->");
  expect_end(*job_);
  cluster_.links().heal_all();
  expect_that_it_comes_back();
}

TEST_F(ControlFaultsTest, AZombieIsFencedThatIsHeardByNobody) {
  hold("->");
  expect_end(*job_);
  cluster_.links().heal_all();
  expect_that_it_comes_back();
}

TEST_F(ControlFaultsTest, AZombieIsFencedThatHearsNobody) {
  hold("<-");
  expect_end(*job_);
  cluster_.links().heal_all();
  expect_that_it_comes_back();
}

/// A word count of real text that takes a while, in streaming mode.
class WordCountOverLinksTest : public LinkFaultsClusterTest {
 protected:
  void start(size_t lines) {
    files_ = license_files();
    files_.push_back(directory_ / "words");
    write_words(files_.back(), lines, 7);
    std::vector<std::string> arguments = {job_module("wordcount"), "-p",     "4", "--", "--output",
                                          directory_ / "counts",   "--input"};
    arguments.insert(arguments.end(), files_.begin(), files_.end());
    run_ = std::make_unique<FreshetProcess>(cluster().command("run", arguments));
    ASSERT_TRUE(wait_until(
        [&] {
          const auto jobs = cluster().jobs();
          return !jobs.empty() && jobs[0].state == "RUNNING" && jobs[0].records > 0;
        },
        20s))
        << run_->errors();
  }

  void expect_exact_counts() {
    ASSERT_EQ(run_->wait(120s), 0) << run_->errors();
    EXPECT_EQ(read_word_counts(directory_ / "counts"), count_with_coreutils(files_));
  }

  std::vector<std::string> files_;
  std::unique_ptr<FreshetProcess> run_;
};

TEST_F(WordCountOverLinksTest, IsExactWhenDataIsCut) {
  start(60'000);
  const auto broken = cluster_.break_link(fault(FaultKind::kCut, kData));
  EXPECT_GE(broken.connections, 1u);
  ASSERT_TRUE(wait_for_restarts(1)) << run_->errors();
  cluster_.links().heal_all();
  expect_exact_counts();
}

TEST_F(WordCountOverLinksTest, IsExactWhenAllLinksFlap) {
  start(300'000);
  Fault flap = fault(FaultKind::kFlap, kData);
  flap.period = 300ms;
  cluster_.break_link(flap);
  flap.link = chaos::parse_link_name("taskmanager <-> jobmanager").value();
  cluster_.break_link(flap);
  ASSERT_TRUE(wait_for_restarts(2)) << run_->errors();
  cluster_.links().heal_all();
  expect_exact_counts();
}

TEST_F(WordCountOverLinksTest, IsExactAndIsNotDisturbedWhenLinksAreSlow) {
  Fault slow = fault(FaultKind::kSlow, kData);
  slow.delay = 20ms;
  slow.bytes_per_second = 10'000'000;
  cluster_.break_link(slow);
  slow.link = chaos::parse_link_name(kControl).value();
  slow.delay = 200ms;
  cluster_.break_link(slow);
  start(20'000);
  expect_exact_counts();
  EXPECT_EQ(restarts(), 0u);
}

}  // namespace
}  // namespace freshet::testing
