#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

class ExampleJobsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors; }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
};

TEST_F(ExampleJobsTest, WordCountPrintsItsBuiltInTextToTheOutputOfTaskManagers) {
  const Outcome outcome = cluster_.run({job_module("wordcount"), "-p", "4"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr(".out"));
  const auto printed = [&] {
    std::string all;
    for (const std::string name : {"taskmanager-1", "taskmanager-2"}) {
      all += read_file(cluster_.state_directory() + "/test/" + name + ".out");
    }
    return all;
  };
  EXPECT_TRUE(wait_until([&] { return printed().find("question 1\n") != std::string::npos; }, 5s))
      << printed();
  EXPECT_THAT(printed(), HasSubstr("\nto 9\n"));
}

TEST_F(ExampleJobsTest, WordCountShowsRunningCountsWhenAskedTo) {
  write_file(directory_ / "text", "one two two two\n");
  const Outcome outcome =
      cluster_.run({job_module("wordcount"), "-p", "2", "--", "--updates", "--input",
                    directory_ / "text", "--output", directory_ / "counts"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_lines(directory_ / "counts"),
            (std::vector<std::string>{"one 1", "two 1", "two 2", "two 3"}));
}

TEST_F(ExampleJobsTest, OrdersJoinsTwoInputs) {
  const std::string data = std::string(FRESHET_SOURCE) + "/examples/orders/data";
  const Outcome outcome =
      cluster_.run({job_module("orders"), "-p", "2", "--", "--customers", data + "/customers.csv",
                    "--orders", data + "/orders.csv", "--output", directory_ / "joined"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_lines(directory_ / "joined"),
            (std::vector<std::string>{"order 10: 2 x cup for Tony Hoare (UK), 6.20",
                                      "order 1: 12 x notebook for Edsger Dijkstra (NL), 54.00",
                                      "order 2: 1 x teapot for Ada Lovelace (UK), 19.99",
                                      "order 3: 2 x compass for Grace Hopper (US), 14.50",
                                      "order 4: 6 x cup for Ada Lovelace (UK), 18.60",
                                      "order 5: 1 x chessboard for Tony Hoare (UK), 45.00",
                                      "order 6: nobody is customer 9",
                                      "order 7: 100 x pencil for Edsger Dijkstra (NL), 35.00",
                                      "order 8: 2 x bookshelf for Barbara Liskov (US), 178.00",
                                      "order 9: 1 x clock for Grace Hopper (US), 32.40"}));
}

}  // namespace
}  // namespace freshet::testing
