#include "runtime/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cli/command.h"

namespace freshet::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    add_cluster_commands(parser_, commands_);
    add_supervisor_command(parser_, commands_);
    add_job_commands(parser_, commands_);
    add_fail_command(parser_, commands_);
    add_config_command(parser_, commands_);
    add_run_command(parser_, invocation_, commands_);
    add_completion_command(parser_, invocation_, commands_);
  }

  std::vector<std::string> complete(std::vector<std::string> words) {
    return completions(parser_, std::move(words),
                       [](CompletionSubject subject, const CompletionScope& scope) {
                         const ClusterSelection& cluster = scope.cluster;
                         const std::string of = cluster.cluster + "@" + cluster.state_directory;
                         if (subject == CompletionSubject::kSubtasks)
                           return std::vector<std::string>{"subtask of " + scope.job + " of " + of};
                         if (subject == CompletionSubject::kClusters)
                           return std::vector<std::string>{"one", "two"};
                         if (subject == CompletionSubject::kProcesses)
                           return std::vector<std::string>{"process of " + of};
                         return std::vector<std::string>{"job of " + of};
                       });
  }

  CLI::App parser_{"", "freshet"};
  const Invocation invocation_;
  std::vector<Command> commands_;
};

TEST_F(CompletionTest, OffersCommandsOrOptionsOfTheInnermostCommand) {
  EXPECT_THAT(complete({}), AllOf(Contains("cluster"), Not(Contains("supervisor"))));
  EXPECT_THAT(complete({"-"}), ElementsAre("--help", "-h"));
  EXPECT_THAT(complete({"cluster", ""}),
              ElementsAre("add", "kill", "logs", "start", "status", "stop"));
  EXPECT_THAT(complete({"cluster", "logs", "-n", "5", "--"}),
              AllOf(Contains("--follow"), Not(Contains("add"))));
  EXPECT_THAT(complete({"supervisor", ""}), Contains("cluster"));  // Hidden.
  EXPECT_THAT(complete({"run", "x.so", "--", ""}), IsEmpty());
  EXPECT_THAT(complete({"run", ""}), IsEmpty());  // Files.
}

TEST_F(CompletionTest, OffersValuesOfOptions) {
  EXPECT_THAT(complete({"list", "--cluster", ""}), ElementsAre("one", "two"));
  EXPECT_THAT(complete({"cluster", "stop", "--name", "t"}), ElementsAre("one", "two"));
  EXPECT_THAT(complete({"run", "--mode", ""}), ElementsAre("automatic", "batch", "streaming"));
  EXPECT_THAT(complete({"fail", "id", "1/0", "--how", ""}),
              ElementsAre("crash", "exception", "hang"));
  EXPECT_THAT(complete({"run", "-D", "restart"}), Contains("restart-strategy.type="));
  EXPECT_THAT(complete({"run", "--state-dir", ""}), IsEmpty());  // Files.
}

TEST_F(CompletionTest, OffersArgumentsOfTheClusterThatWasNamed) {
  EXPECT_THAT(complete({"cancel", ""}), ElementsAre("job of @"));
  EXPECT_THAT(complete({"cancel", "--cluster", "one", "--state-dir", "/d", ""}),
              ElementsAre("job of one@/d"));
  EXPECT_THAT(complete({"fail", ""}), ElementsAre("job of @"));
  EXPECT_THAT(complete({"fail", "id", ""}), ElementsAre("subtask of id of @"));
  EXPECT_THAT(complete({"fail", "--cluster", "one", "id", "1"}),
              ElementsAre("subtask of id of one@"));
  EXPECT_THAT(complete({"fail", "id", "1/0", ""}), IsEmpty());
  EXPECT_THAT(complete({"cancel", "id", ""}), IsEmpty());
  EXPECT_THAT(complete({"cluster", "kill", "--name", "two", ""}), ElementsAre("process of two@"));
  EXPECT_THAT(complete({"cluster", "logs", "-f", "jobmanager", ""}),
              ElementsAre("process of @", "supervisor"));
  EXPECT_THAT(complete({"config", "heart"}), Contains("heartbeat.interval"));
  EXPECT_THAT(complete({"completion", ""}), ElementsAre("bash", "zsh"));
}

}  // namespace
}  // namespace freshet::cli
