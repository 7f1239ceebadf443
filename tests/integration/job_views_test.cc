#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(InfoCommandTest, ShowsThePlanOfAJobWithoutRunningIt) {
  const TemporaryDirectory directory;
  const Outcome info =
      run_freshet({"info", job_module("wordcount"), "-p", "3", "--mode", "automatic", "--",
                   "--input", "/no/such/file", "--output", directory / "counts"});
  ASSERT_EQ(info.exit_code, 0) << info.errors;
  const json plan = json::parse(info.output);
  EXPECT_EQ(plan["name"], "wordcount");
  EXPECT_EQ(plan["type"], "BATCH");
  ASSERT_EQ(plan["nodes"].size(), 2u);
  EXPECT_EQ(plan["nodes"][0]["description"], "Source: text files -&gt; split -&gt; pre-count");
  EXPECT_EQ(plan["nodes"][1]["parallelism"], 3);
  EXPECT_EQ(plan["nodes"][1]["inputs"][0]["ship_strategy"], "HASH");
  EXPECT_FALSE(exists(directory / "counts"));
}

TEST(InfoCommandTest, RefusesWhatRunWouldRefuse) {
  const Outcome no_module = run_freshet({"info", "/no/such/module.so"});
  EXPECT_EQ(no_module.exit_code, 1);
  EXPECT_THAT(no_module.errors, HasSubstr("/no/such/module.so"));
  const Outcome option = run_freshet({"info", job_module("wordcount"), "--", "--inptu", "x"});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_THAT(option.errors, HasSubstr("inptu"));
  const Outcome parallelism = run_freshet({"info", job_module("wordcount"), "-p", "0"});
  EXPECT_EQ(parallelism.exit_code, 2);
  const Outcome extra = run_freshet({"info", job_module("wordcount"), "more"});
  EXPECT_EQ(extra.exit_code, 2);
  EXPECT_THAT(extra.errors, HasSubstr("freshet info MODULE -- ARGS"));
  const Outcome help = run_freshet({"info", job_module("wordcount"), "--", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("--input"));
}

TEST(ListCommandTest, ShowsTheTasksOfARunningJob) {
  const TemporaryDirectory directory;
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  GatedJob job(cluster, directory.path());
  ASSERT_TRUE(job.wait_until_in_the_middle()) << job.errors();
  json shown;
  // What tasks have done comes with heartbeats.
  const auto has_progress = [&] {
    const Outcome list = run_freshet(cluster.command("list", {"-v", "--json"}));
    if (list.exit_code != 0) return false;
    shown = json::parse(list.output)["jobs"][0];
    for (const json& vertex : shown["vertices"]) {
      for (const json& subtask : vertex["subtasks"]) {
        const json& metrics = subtask["metrics"];
        const bool lived = metrics["accumulated-busy-time"].get<uint64_t>() +
                               metrics["accumulated-idle-time"].get<uint64_t>() !=
                           0;
        if (lived && metrics["read-records"].get<uint64_t>() != 0) return true;
      }
    }
    return false;
  };
  ASSERT_TRUE(wait_until(has_progress, 20s)) << shown.dump(2);
  EXPECT_EQ(shown["state"], "RUNNING");
  for (const json& vertex : shown["vertices"]) {
    for (const json& subtask : vertex["subtasks"]) {
      EXPECT_EQ(subtask["status"], "RUNNING");
      EXPECT_THAT(subtask["taskmanager"].get<std::string>(), HasSubstr("taskmanager-"));
    }
  }
  const Outcome text = run_freshet(cluster.command("list", {"-v"}));
  EXPECT_THAT(text.output, HasSubstr("VERTEX, SUBTASK"));
  EXPECT_THAT(text.output, HasSubstr("taskmanager-"));
  EXPECT_EQ(json::parse(run_freshet(cluster.command("list", {"--json"})).output)["jobs"].size(),
            1u);
  job.run().send_signal(SIGINT);
  EXPECT_EQ(job.run().wait(20s), 1) << job.errors();
}

TEST(ListCommandTest, IsEmptyJsonWithoutJobs) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  const Outcome list = run_freshet(cluster.command("list", {"--json"}));
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(json::parse(list.output), (json{{"jobs", json::array()}}));
}

}  // namespace
}  // namespace freshet::testing
