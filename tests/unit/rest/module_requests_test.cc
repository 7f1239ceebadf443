#include "runtime/rest/module_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/rest/rest_api.h"
#include "tests/unit/rest/fake_cluster.h"
#include "tests/unit/rest/fake_modules.h"

namespace freshet::rest {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kRun = "/jars/id_words.so/run";

class ModuleRequestsTest : public ::testing::Test {
 protected:
  ModuleRequestsTest() { modules_.modules["words.so"] = "ELF"; }

  /// As a server does it.
  Response send(Request request) {
    request.content_length = request.body.size();
    if (auto refused = api_.admit(request)) return *refused;
    auto receiver = api_.open_body(request);
    if (!receiver.ok())
      return error_response(http_status_of(receiver.status().code()), receiver.status().message());
    if (request.receiver = *receiver; request.receiver) {
      const Status taken = request.receiver->take(std::exchange(request.body, ""));
      if (!taken.ok()) return error_response(http_status_of(taken.code()), taken.message());
    }
    return api_.handle(request);
  }
  Response post(const std::string& path, const std::string& body,
                const std::string& content_type = "application/json") {
    Request request{"POST", path};
    request.body = body;
    request.content_type = content_type;
    return send(request);
  }
  Response upload(const std::string& parts) {
    return post("/v1/jars/upload", parts + "--b--", "multipart/form-data; boundary=b");
  }
  static std::string part(const std::string& field, const std::string& bytes) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + field +
           "\"; filename=\"other.so\"\r\n\r\n" + bytes + "\r\n";
  }
  static std::string error(const Response& response, int status) {
    EXPECT_EQ(response.status, status) << response.body;
    const json body = json::parse(response.body);
    EXPECT_EQ(body["errors"].size(), 1u);
    return body["errors"][0];
  }

  FakeCluster cluster_;
  FakeModules modules_;
  RestApi api_{cluster_, &modules_};
};

TEST_F(ModuleRequestsTest, KeepsAnUploadAndListsIt) {
  const Response response = upload(part("other", "?") + part("jarfile", "bytes\r\n--of it"));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(json::parse(response.body),
            (json{{"filename", "/uploads/other.so"}, {"status", "success"}}));
  EXPECT_EQ(modules_.modules["other.so"], "bytes\r\n--of it");
  Request request{"GET", "/jars"};
  request.host = "localhost:8081";
  const json list = json::parse(send(request).body);
  EXPECT_EQ(list["address"], "http://localhost:8081");
  EXPECT_EQ(list["files"][1], (json{{"id", "id_words.so"},
                                    {"name", "words.so"},
                                    {"uploaded", 1234},
                                    {"entry", {{{"name", "words"}, {"description", nullptr}}}}}));
}

TEST_F(ModuleRequestsTest, SaysWhatIsNoUpload) {
  EXPECT_THAT(error(upload(part("other", "?")), 400), HasSubstr("no file in a field 'jarfile'"));
  EXPECT_THAT(error(upload(part("jarfile", "?") + part("jarfile", "?")), 400),
              HasSubstr("more than one field 'jarfile'"));
  EXPECT_THAT(error(upload("--b\r\nContent-Disposition: form-data; name=jarfile\r\n\r\n\r\n"), 400),
              HasSubstr("it has no name"));
  EXPECT_THAT(error(post("/jars/upload", "{}"), 400), HasSubstr("must be multipart/form-data"));
  EXPECT_THAT(error(post("/jars/upload", ""), 400), HasSubstr("must be multipart/form-data"));
  modules_.refuse_bytes = failed_precondition("there is no room");
  EXPECT_EQ(error(upload(part("jarfile", "?")), 409), "there is no room");
  EXPECT_THAT(error(upload(part("jarfile", std::string(70'000, '?'))), 413),
              HasSubstr("the module is larger than 1000 bytes"));
  EXPECT_EQ(modules_.modules.size(), 1u);
}

TEST_F(ModuleRequestsTest, RunsAJobAsTheBodyOrTheQuerySays) {
  const Response response =
      post(kRun, R"({"programArgsList": ["--input", "a b"], "parallelism": 3, "entryClass": "Main",
              "savepointPath": null, "allowNonRestoredState": false,
              "flinkConfiguration": {"pipeline.x": "10 ms", "y": true, "z": 5}})");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(json::parse(response.body), (json{{"jobid", "00000000000000010000000000000002"}}));
  EXPECT_EQ(modules_.jobs[0].parallelism, "3");
  EXPECT_THAT(modules_.jobs[0].arguments, ElementsAre("--input", "a b"));
  EXPECT_THAT(modules_.jobs[0].settings,
              ElementsAre(Pair("pipeline.x", "10 ms"), Pair("y", "true"), Pair("z", "5")));
  EXPECT_EQ(send({"POST", kRun, {{"parallelism", "2"}, {"programArg", "--input,words"}}}).status,
            200);
  EXPECT_EQ(modules_.jobs[1].parallelism, "2");
  EXPECT_THAT(modules_.jobs[1].arguments, ElementsAre("--input", "words"));
  EXPECT_EQ(send({"POST", kRun}).status, 200);
  EXPECT_EQ(modules_.jobs[2].parallelism, "1");
}

TEST_F(ModuleRequestsTest, SaysWhichFieldOfAJobIsWrong) {
  for (const auto& [body, message] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "must be an object of JSON"},
           {"{\"parallelism\": ", "must be an object of JSON"},
           {R"({"parallelism": "three"})", "parallelism: must be a whole number"},
           {R"({"parallelism": -1})", "parallelism: must be a whole number"},
           {R"({"programArgsList": "--input x"})", "programArgsList: must be a list of texts"},
           {R"({"programArgsList": [1]})", "programArgsList: must be a list of texts"},
           {R"({"programArgsList": ["a\u0000b"]})", "a text has a zero byte in it"},
           {R"({"flinkConfiguration": []})", "flinkConfiguration: must be an object of settings"},
           {R"({"flinkConfiguration": {"a": {}}})", "flinkConfiguration: 'a' must be a text"},
           {R"({"savepointPath": "/there"})", "savepointPath: a job cannot begin with a state"},
           {R"({"jobId": "00"})", "jobId: a job is given its id"},
           {R"({"programArgs": "--input x"})", "there is no field 'programArgs'"},
           {R"({"programArgsList": [")" + std::string(70'000, 'x') + R"("]})",
            "larger than 256 KiB, or one of them than 64"}})
    EXPECT_THAT(error(post(kRun, body), 400), HasSubstr(message)) << body.substr(0, 99);
  EXPECT_THAT(error(send({"POST", kRun, {{"savepointPath", "/there"}}}), 400),
              HasSubstr("savepointPath"));
  for (const char* unknown : {"program-args", "paralelism", "allowNonRestoredState"}) {
    EXPECT_THAT(error(send({"POST", kRun, {{unknown, "true"}}}), 400),
                HasSubstr(std::string("there is no parameter '") + unknown + "'; there are"));
  }
  EXPECT_TRUE(modules_.jobs.empty());
}

TEST_F(ModuleRequestsTest, ShowsAPlanAndRemovesAModule) {
  for (const char* method : {"GET", "POST"})
    EXPECT_EQ(json::parse(send({method, "/jars/id_words.so/plan"}).body)["plan"]["name"], "words");
  EXPECT_EQ(send({"DELETE", "/jars/id_words.so"}).status, 200);
  EXPECT_TRUE(modules_.modules.empty());
  for (const auto& [method, path] : {std::pair{"DELETE", "/jars/id_words.so"},
                                     {"POST", kRun},
                                     {"GET", "/jars/id_words.so/plan"}})
    EXPECT_EQ(error(send({method, path}), 404), "there is no module");
  EXPECT_EQ(send({"GET", kRun}).status, 405);
}

TEST_F(ModuleRequestsTest, RefusesAllOfThemWhereNoJobsAreTaken) {
  EXPECT_TRUE(json::parse(send({"GET", "/config"}).body)["features"]["web-submit"]);
  modules_.allowed = failed_precondition("no jobs are taken here");
  EXPECT_FALSE(json::parse(send({"GET", "/config"}).body)["features"]["web-submit"]);
  EXPECT_EQ(error(send({"GET", "/jars"}), 403), "no jobs are taken here");
  EXPECT_EQ(error(upload(part("jarfile", "?")), 403), "no jobs are taken here");
  EXPECT_EQ(error(send({"POST", "/v1/jars/id_words.so/run"}), 403), "no jobs are taken here");
  EXPECT_EQ(send({"GET", "/jobs"}).status, 200);
  const RestApi without(cluster_);
  EXPECT_THAT(error(without.handle({"GET", "/jars"}), 409),
              HasSubstr("no modules can be uploaded"));
}

}  // namespace
}  // namespace freshet::rest
