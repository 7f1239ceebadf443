#include "runtime/rest/rest_api.h"

#include <nlohmann/json.hpp>

#include "runtime/base/check.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/rest/fake_cluster.h"

namespace freshet::fuzz {

namespace {

constexpr const char* kJob = "/jobs/00000000000000010000000000000002";
constexpr const char* kVertex = "/vertices/000000000000000000000000000000bb";

rest::Request request_of(std::string_view line) {
  rest::Request request;
  const size_t blank = line.find(' ');
  request.method = line.substr(0, blank);
  if (blank == line.npos) return request;
  line.remove_prefix(blank + 1);
  const size_t question = line.find('?');
  request.path = line.substr(0, question);
  while (!line.empty() && question != line.npos) {
    line.remove_prefix(line.find_first_of("?&") == line.npos ? line.size()
                                                             : line.find_first_of("?&") + 1);
    const std::string_view one = line.substr(0, line.find('&'));
    const size_t equals = one.find('=');
    request.query[std::string(one.substr(0, equals))] =
        equals == one.npos ? "" : one.substr(equals + 1);
  }
  return request;
}

}  // namespace

/// input := (method " " path ["?" query])*, one a line. Each answer is JSON, with a status that
/// fits.
void rest_api(std::string_view bytes) {
  Input input(bytes);
  rest::FakeCluster cluster;
  const rest::RestApi api(cluster);
  while (!input.empty()) {
    const size_t cancelled = cluster.cancelled.size();
    const std::string_view line = input.line();
    if (line == "down") cluster.error = unavailable("no answer");
    const rest::Request request = request_of(line);
    const rest::Response response = api.handle(request);
    const auto json = nlohmann::json::parse(response.body);
    if (response.status >= 400) {
      CHECK(json.at("errors").size() == 1 && !json["errors"][0].get<std::string>().empty());
      CHECK(response.status < 500 || response.status == 503);
      CHECK(response.status != 503 || !cluster.error.ok());
      CHECK(response.body.size() < 2000 + 6 * 256);  // However long the request.
    }
    CHECK(cluster.cancelled.size() == cancelled || request.method == "PATCH");
    CHECK(response.content_type.starts_with("application/json"));
  }
}

Seeds rest_api_seeds() {
  std::string all, jobs;
  for (const char* path : {"/config", "/overview", "/jobs", "/jobs/overview", "/taskmanagers",
                           "/taskmanagers/0000000000000007", "/jobmanager/config", "/nothing"})
    all += std::string("GET /v1") + path + "\n";
  for (const char* path : {"", "/plan", "/status", "/config", "/exceptions?maxExceptions=1",
                           "/metrics?get=uptime,numRestarts", "/metrics"})
    jobs += std::string("GET ") + kJob + path + "\n";
  std::string vertices;
  for (const char* path : {"", "/backpressure", "/metrics?get=0.numRecordsIn", "/metrics",
                           "/subtasks/metrics?subtasks=0-1&get=numRecordsIn&agg=min,max",
                           "/subtasks/1/metrics", "/subtasks/metrics", "/subtasks/1-0/metrics"})
    vertices += std::string("GET ") + kJob + kVertex + path + "\n";
  const std::string cancel = std::string("PATCH ") + kJob + "?mode=cancel\nPATCH " + kJob +
                             "?mode=stop\nDELETE " + kJob + "\n";
  return {all, jobs, vertices, cancel, "down\n" + all + jobs};
}

}  // namespace freshet::fuzz
