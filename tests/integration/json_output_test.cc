#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Standard output as the one document that it is; nothing else stands there.
json document_of(const Outcome& outcome) {
  json document = json::parse(outcome.output, nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << outcome.output << outcome.errors;
  return document.is_discarded() ? json::object() : document;
}

/// The one error of a command, which stands on standard error too.
std::string error_of(const Outcome& outcome) {
  const json document = document_of(outcome);
  const json errors = document.value("errors", json::array());
  EXPECT_THAT(errors, SizeIs(1)) << outcome.output;
  if (errors.size() != 1) return "";
  EXPECT_THAT(outcome.errors, HasSubstr(errors[0].get<std::string>()));
  return errors[0];
}

class JsonOutputTest : public ::testing::Test {
 protected:
  Outcome cluster(const std::string& what, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {
        "cluster", what, "--json", "--name", "test", "--state-dir", cluster_.state_directory()};
    for (std::string& word : more) words.push_back(std::move(word));
    return run_freshet(words);
  }
  Outcome run(std::vector<std::string> words) const {
    words.insert(words.begin(), "--json");
    return cluster_.run(std::move(words));
  }

  TestCluster cluster_{TestCluster::Options{.task_managers = 1, .arguments = {"--json"}}};
};

TEST_F(JsonOutputTest, ClusterCommandsGiveOneDocument) {
  const json started = document_of(cluster_.started());
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  EXPECT_EQ(started["name"], "test");
  ASSERT_THAT(started["processes"], SizeIs(3));
  EXPECT_EQ(started["processes"][2]["address"],
            cluster_.process("taskmanager-1").address->to_string());
  EXPECT_EQ(document_of(cluster("status"))["processes"], started["processes"]);
  EXPECT_EQ(document_of(cluster("add"))["added"], json({"taskmanager-2"}));
  const json killed = document_of(cluster("kill", {"taskmanager-2"}));
  EXPECT_EQ(killed["killed"], "taskmanager-2");
  EXPECT_THAT(error_of(cluster("kill", {"nobody"})), HasSubstr("has no process 'nobody'"));
  EXPECT_THAT(error_of(cluster("start")), HasSubstr("is running already"));
  const Outcome bad = cluster("add", {"--count", "0"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(error_of(bad), HasSubstr("--count: '0'"));
  EXPECT_EQ(document_of(cluster("stop")), json({{"name", "test"}, {"stopped", true}}));
  const Outcome gone = cluster("stop");
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(error_of(gone), HasSubstr("no cluster is called 'test'"));
}

TEST_F(JsonOutputTest, LogsAreAnObjectPerLine) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  std::istringstream lines(cluster("logs", {"-n", "2"}).output);
  std::vector<std::string> processes;
  for (std::string line; std::getline(lines, line);) {
    const json one = json::parse(line, nullptr, false);
    ASSERT_TRUE(one.is_object()) << line;
    processes.push_back(one["process"]);
    EXPECT_THAT(one["line"].get<std::string>(), HasSubstr("I "));
  }
  EXPECT_THAT(processes, ElementsAre("supervisor", "supervisor", "jobmanager", "jobmanager",
                                     "taskmanager-1", "taskmanager-1"));
  EXPECT_THAT(error_of(cluster("logs", {"nobody"})), HasSubstr("no process 'nobody'"));
}

TEST_F(JsonOutputTest, RunSaysWhatBecameOfTheJob) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  const json finished = document_of(run({job_module("wordcount"), "-p", "2"}));
  EXPECT_EQ(finished["state"], "FINISHED");
  EXPECT_EQ(finished["jid"], cluster_.jobs().front().id);
  EXPECT_EQ(finished["source-records"], 9);
  EXPECT_EQ(finished["restarts"], 0);
  EXPECT_GE(finished["duration"], 0);
  EXPECT_FALSE(finished.contains("errors"));

  const TemporaryDirectory directory;
  const Outcome failed = run({"-D", "restart-strategy.type=none", test_job("failing"), "--",
                              "--where", "map", "--output", directory / "out"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(error_of(failed), HasSubstr("there is no number 500"));
  EXPECT_EQ(document_of(failed)["state"], "FAILED");

  const Outcome refused = run({job_module("wordcount"), "--", "--inputs", "x"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(error_of(refused), HasSubstr("there is no option --inputs"));
}

TEST_F(JsonOutputTest, AJobThatIsDetachedAndCancelledIsTheSameOne) {
  ASSERT_TRUE(cluster_.ok()) << cluster_.started().errors;
  const TemporaryDirectory directory;
  const json detached =
      document_of(run({"-d", test_job("failing"), "--", "--where", "map-stuck", "--once",
                       directory / "stuck", "--output", directory / "out"}));
  EXPECT_EQ(detached["name"], "failing");
  const std::string id = detached["jid"];
  ASSERT_TRUE(wait_until([&] { return exists(directory / "stuck"); }, 20s));
  const json cancelled = document_of(run_freshet(cluster_.command("cancel", {"--json", id})));
  EXPECT_EQ(cancelled["jid"], id);
  EXPECT_EQ(cancelled["state"], "CANCELLING");
  const Outcome unknown = run_freshet(cluster_.command("cancel", {"--json", std::string(32, '1')}));
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(error_of(unknown), HasSubstr("no job has the id"));
}

TEST(JsonOutputOfOneProcessTest, IsNotMixedWithWhatTheJobPrints) {
  const Outcome run = run_freshet({"run", "--local", "--json", job_module("wordcount")});
  EXPECT_EQ(document_of(run)["state"], "FINISHED");
  EXPECT_THAT(run.errors, HasSubstr("question 1"));
  const Outcome info = run_freshet({"info", "--json", job_module("wordcount")});
  EXPECT_EQ(document_of(info)["name"], "wordcount");
  const Outcome help =
      run_freshet({"run", "--local", "--json", job_module("wordcount"), "--", "--help"});
  EXPECT_THAT(document_of(help)["help"].get<std::string>(), HasSubstr("--discard"));
  const TemporaryDirectory directory;
  const Outcome crash = run_freshet({"run", "--local", "--json", job_module("fragile"), "--",
                                     "--how", "segfault", "--output", directory / "out"});
  EXPECT_THAT(error_of(crash), HasSubstr("operator 'fragile' of the job brings this process down"));
}

TEST(JsonOutputOfOneProcessTest, SaysWhatIsWrongWithACommand) {
  for (const auto& [words, what] :
       {std::pair(std::vector<std::string>{"list", "--json", "--frobnicate"}, "not expected"),
        std::pair(std::vector<std::string>{"run", "--json"}, "MODULE is required"),
        std::pair(std::vector<std::string>{"config", "--json", "no.such.key"}, "no setting"),
        std::pair(std::vector<std::string>{"list", "--json", "--", "x"}, "belong to a job"),
        std::pair(std::vector<std::string>{"fail", "--json", "1", "1/0"}, "")}) {
    const Outcome outcome = run_freshet(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.errors;
    EXPECT_THAT(error_of(outcome), HasSubstr(what));
  }
  const Outcome build = run_freshet({"build", "--json", "nothing.cc"});
  EXPECT_EQ(build.exit_code, 1);
  EXPECT_THAT(error_of(build), HasSubstr("nothing.cc"));
}

TEST(JsonOutputOfOneProcessTest, AProcessSaysWhereItsPortsAre) {
  const TemporaryDirectory directory;
  FreshetProcess process({"jobmanager", "--json", "--port", "0", "--state-dir", directory.path()});
  ASSERT_TRUE(wait_until([&] { return json::accept(process.output()); }, 20s)) << process.errors();
  const json ports = json::parse(process.output());
  EXPECT_EQ(ports["process"], "JobManager");
  EXPECT_THAT(ports["address"].get<std::string>(), HasSubstr("127.0.0.1:"));
  EXPECT_THAT(ports["rest"].get<std::string>(), HasSubstr("http://127.0.0.1:"));
}

TEST(JsonOutputOfOneProcessTest, BuildNamesTheModule) {
  const TemporaryDirectory directory;
  write_file(directory / "tiny.cc",
             "#include \"runtime/api/job.h\"\n#include \"runtime/connectors/discard_sink.h\"\n"
             "#include \"runtime/connectors/sequence.h\"\n"
             "FRESHET_JOB(tiny) {\n  env.from_source(freshet::sequence(1, 2))"
             ".sink_to(freshet::discard_sink<int64_t>());\n}\n");
  const Outcome built =
      run_freshet({"build", "--json", directory / "tiny.cc", "-o", directory / "tiny.so"}, 120s);
  EXPECT_EQ(document_of(built),
            json({{"module", directory / "tiny.so"}, {"sources", {directory / "tiny.cc"}}}));
}

}  // namespace
}  // namespace freshet::testing
