#include <gtest/gtest.h>

#include "tests/integration/gated_job.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

std::vector<std::string> word_count(const std::string& input, const std::string& output) {
  return {job_module("wordcount"), "-p", "2", "--", "--input", input, "--output", output};
}

/// Each job needs all slots of the only TaskManager: one after the other runs, and none may find
/// its slots still occupied by the one before.
TEST(CompetingJobsTest, RunOneAfterTheOtherInTheSameSlots) {
  const TemporaryDirectory directory;
  const std::string words = directory / "words";
  write_words(words, 2000, 5);
  const WordCounts expected = count_words({words});
  TestCluster::Options options;
  options.task_managers = 1;
  options.slots = 2;
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  for (int round = 0; round < 5; round++) {
    const std::string name = directory / ("counts-" + std::to_string(round));
    FreshetProcess first(cluster.command("run", word_count(words, name + "-first")));
    FreshetProcess second(cluster.command("run", word_count(words, name + "-second")));
    FreshetProcess third(cluster.command("run", word_count(words, name + "-third")));
    for (FreshetProcess* run : {&first, &second, &third}) {
      ASSERT_EQ(run->wait(60s), 0) << run->errors();
      EXPECT_EQ(run->errors().find("restart"), std::string::npos) << run->errors();
    }
    for (const char* which : {"-first", "-second", "-third"}) {
      EXPECT_EQ(read_word_counts(name + which), expected);
    }
  }
  EXPECT_EQ(cluster.log("taskmanager-1").find("still held"), std::string::npos);
}

TEST(CompetingJobsTest, SecondIsRefusedTheOutputOfTheFirst) {
  const TemporaryDirectory directory;
  TestCluster::Options options;
  options.slots = 4;
  TestCluster cluster(options);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  GatedJob first(cluster, directory.path());
  ASSERT_TRUE(first.wait_until_in_the_middle()) << first.errors();
  const std::string words = directory / "more-words";
  write_words(words, 100, 5);
  FreshetProcess second(cluster.command("run", word_count(words, first.output())));
  EXPECT_EQ(second.wait(20s), 1);
  EXPECT_NE(second.errors().find("output '" + first.output() + "' has unfinished files of job"),
            std::string::npos)
      << second.errors();
  first.open_gate();
  ASSERT_EQ(first.run().wait(60s), 0) << first.errors();
  first.expect_exact_result();
}

}  // namespace
}  // namespace freshet::testing
