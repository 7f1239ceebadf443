#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TestCluster::Options options_with(std::vector<std::string> settings) {
  TestCluster::Options options;
  options.task_managers = 1;
  options.slots = 4;
  for (std::string& setting : settings) {
    options.arguments.push_back("-D");
    options.arguments.push_back(std::move(setting));
  }
  return options;
}

/// Whose command lines have that text.
size_t processes_that_name(const std::string& text) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    count += line.find(text) != line.npos;
  }
  return count;
}

/// Jobs by HTTP alone, as with Flink's jars.
class RestUploadsTest : public ::testing::Test {
 protected:
  explicit RestUploadsTest(std::vector<std::string> settings = {"rest.build-timeout=2 s"})
      : cluster_(options_with(std::move(settings))), port_(cluster_.rest_port()) {
    EXPECT_TRUE(cluster_.ok()) << cluster_.started().errors;
  }

  httplib::Client client() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_read_timeout(60);
    return client;
  }

  httplib::Result send_file(const std::string& bytes, const std::string& name) const {
    return client().Post(
        "/jars/upload",
        httplib::MultipartFormDataItems{{"jarfile", bytes, name, "application/x-java-archive"}});
  }
  /// Its id.
  std::string upload(const std::string& bytes, const std::string& name) const {
    const auto response = send_file(bytes, name);
    if (!response || response->status != 200) {
      ADD_FAILURE() << (response ? response->body : "no answer");
      return {};
    }
    const json answer = json::parse(response->body);
    EXPECT_EQ(answer["status"], "success");
    const std::string file = answer["filename"];
    return file.substr(file.rfind('/') + 1);
  }
  httplib::Result run(const std::string& id, const json& body) const {
    return client().Post("/v1/jars/" + id + "/run", body.dump(), "application/json");
  }
  /// The one message of an answer.
  static std::string error(const httplib::Result& response, int status) {
    if (!response) return "no answer";
    EXPECT_EQ(response->status, status) << response->body;
    const json body = json::parse(response->body);
    EXPECT_EQ(body["errors"].size(), 1u);
    return body["errors"][0];
  }
  json failing(const std::string& where) const {
    return {{"programArgsList", {"--where", where, "--output", directory_ / "out"}}};
  }

  const TemporaryDirectory directory_;
  TestCluster cluster_;
  const int port_;
};

TEST_F(RestUploadsTest, RunsAJobThatWasUploaded) {
  const std::string bytes = read_file(job_module("wordcount"));
  const std::string id = upload(bytes, "wordcount.so");
  EXPECT_THAT(id, EndsWith("_wordcount.so"));
  EXPECT_EQ(json::parse(client().Get("/jars")->body)["files"][0]["id"], id);

  const std::string output = directory_ / "counts";
  json job = {{"parallelism", 3}, {"programArgsList", {"--output", output, "--input"}}};
  for (const std::string& file : license_files()) job["programArgsList"].push_back(file);
  job["flinkConfiguration"] = {{"execution.buffer-timeout.interval", "5 ms"}};
  const auto plan = client().Post("/jars/" + id + "/plan", job.dump(), "application/json");
  ASSERT_EQ(plan->status, 200) << plan->body;
  EXPECT_EQ(json::parse(plan->body)["plan"]["name"], "wordcount");
  EXPECT_EQ(json::parse(plan->body)["plan"]["nodes"][0]["parallelism"], 3);
  EXPECT_THAT(cluster_.jobs(), IsEmpty());

  const auto started = run(id, job);
  ASSERT_EQ(started->status, 200) << started->body;
  const std::string path = "/jobs/" + json::parse(started->body)["jobid"].get<std::string>();
  ASSERT_TRUE(wait_until(
      [&] { return json::parse(client().Get(path + "/status")->body)["status"] == "FINISHED"; },
      30s));
  EXPECT_EQ(read_word_counts(output), count_words(license_files()));
  EXPECT_EQ(json::parse(client().Get(path + "/config")->body)["execution-config"]["user-config"]
                                                             ["execution.buffer-timeout.interval"],
            "5 ms");

  EXPECT_EQ(client().Delete("/jars/" + id)->status, 200);
  EXPECT_THAT(json::parse(client().Get("/jars")->body)["files"], IsEmpty());
  EXPECT_THAT(error(run(id, job), 404), HasSubstr("there is no module"));
}

TEST_F(RestUploadsTest, SaysWhyAJobCannotBeBuiltAndGoesOn) {
  const std::string id = upload(read_file(test_job("failing")), "failing.so");
  EXPECT_THAT(error(run(id, failing("build")), 400), HasSubstr("this job cannot be built"));
  EXPECT_THAT(error(run(id, failing("build-crash")), 400), HasSubstr("crashed: SIGSEGV"));
  EXPECT_THAT(error(run(id, failing("build-hang")), 400), HasSubstr("did not return within 2 s"));
  EXPECT_THAT(error(run(id, failing("build-differently")), 400), HasSubstr("job"));
  EXPECT_THAT(error(run(id, json::object()), 400), HasSubstr("--where"));
  EXPECT_THAT(error(run(id, {{"programArgsList", {"--help"}}}), 400), HasSubstr("--where"));
  json job = failing("nowhere");
  job["parallelism"] = 0;
  EXPECT_THAT(error(run(id, job), 400), HasSubstr("-p"));
  job["parallelism"] = 1;
  job["flinkConfiguration"] = {{"rest.port", "1"}};
  EXPECT_THAT(error(run(id, job), 400), HasSubstr("rest.port is a setting of a process"));
  job["flinkConfiguration"] = {{"no.such", "1"}};
  EXPECT_THAT(error(run(id, job), 400), HasSubstr("no setting is called 'no.such'"));
  job["flinkConfiguration"] = {{"security.secret", "x"}};
  EXPECT_THAT(error(run(id, job), 400), HasSubstr("security.secret is nothing for a job"));
  EXPECT_TRUE(cluster_.alive("jobmanager"));
  EXPECT_EQ(run(id, failing("nowhere"))->status, 200);
}

TEST_F(RestUploadsTest, SaysWhatIsNoModule) {
  const json job = failing("nowhere");
  EXPECT_THAT(error(run(upload("text", "text.so"), job), 400), HasSubstr("text.so"));
  EXPECT_THAT(error(run(upload(read_file(test_job("other_abi")), "other_abi.so"), job), 400),
              HasSubstr("another ABI"));
  EXPECT_THAT(error(send_file("int main() {}", "job.cc"), 400),
              HasSubstr("'job.cc' is no name of a job module: it must end with .so"));
  EXPECT_THAT(error(client().Post("/jars/upload", "bytes", "text/plain"), 400),
              HasSubstr("the body must be multipart/form-data"));
}

class LongRestUploadsTest : public RestUploadsTest {
 protected:
  LongRestUploadsTest() : RestUploadsTest({}) {}

  /// Of a build that does not end; with the one that tries it, two.
  std::future<int> start_a_build() {
    id_ = upload(read_file(test_job("failing")), "failing.so");
    auto status = std::async(std::launch::async, [this] {
      const auto response = run(id_, failing("build-hang"));
      return response ? response->status : 0;
    });
    EXPECT_TRUE(wait_until([this] { return processes_that_name(id_) == 2; }, 20s));
    return status;
  }

  std::string id_;
};

TEST_F(LongRestUploadsTest, EndABuildWithTheJobManager) {
  auto status = start_a_build();
  EXPECT_EQ(cluster_.stop().exit_code, 0);
  EXPECT_NE(status.get(), 200);
  EXPECT_EQ(processes_that_name(id_), 0u);
}

TEST_F(LongRestUploadsTest, EndABuildWhenTheJobManagerIsKilled) {
  auto status = start_a_build();
  const std::string uploads =
      cluster_.state_directory() + "/" + cluster_.name() + "/jobmanager/uploads";
  EXPECT_TRUE(exists(uploads + "/" + id_));
  cluster_.kill("jobmanager");
  EXPECT_TRUE(wait_until([this] { return processes_that_name(id_) == 0; }, 10s));
  EXPECT_EQ(status.get(), 0);
  // The one that is started again knows nothing of it.
  EXPECT_TRUE(wait_until([&] { return !exists(uploads + "/" + id_); }, 20s));
}

class SmallRestUploadsTest : public RestUploadsTest {
 protected:
  SmallRestUploadsTest() : RestUploadsTest({"rest.server.max-content-length=1 mb"}) {}
};

TEST_F(SmallRestUploadsTest, RefuseWhatIsTooLargeBeforeItComes) {
  EXPECT_THAT(error(send_file(std::string(4 << 20, 'x'), "large.so"), 413),
              HasSubstr("the module is larger than 1048576 bytes"));
  EXPECT_THAT(error(send_file(std::string((1 << 20) + 1, 'x'), "large.so"), 400),
              HasSubstr("the module is larger than 1048576 bytes"));
  EXPECT_FALSE(upload(std::string(1 << 20, 'x'), "fits.so").empty());
}

TEST(RestWithoutUploadsTest, RefusesJobsWhenItIsToldTo) {
  for (const std::string setting : {"web.submit.enable", "jobmanager.submit.enable"}) {
    TestCluster cluster(options_with({setting + "=false"}));
    ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
    httplib::Client client("127.0.0.1", cluster.rest_port());
    EXPECT_FALSE(json::parse(client.Get("/config")->body)["features"]["web-submit"]);
    const auto refused = client.Get("/jars");
    EXPECT_EQ(refused->status, 403);
    EXPECT_THAT(refused->body, HasSubstr("no jobs are taken here: " + setting + " is false"));
    EXPECT_EQ(client.Get("/jobs")->status, 200);
  }
}

}  // namespace
}  // namespace freshet::testing
