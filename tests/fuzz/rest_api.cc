#include "runtime/rest/rest_api.h"

#include <nlohmann/json.hpp>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/random.h"
#include "runtime/rest/digest_authentication.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/unit/rest/fake_cluster.h"
#include "tests/unit/rest/fake_modules.h"

namespace freshet::fuzz {

namespace {

constexpr const char* kJob = "/jobs/00000000000000010000000000000002";
constexpr const char* kVertex = "/vertices/000000000000000000000000000000bb";

rest::Request request_of(std::string_view line) {
  rest::Request request;
  const size_t tab = std::min(line.find('\t'), line.size());
  request.body = line.substr(std::min(tab + 1, line.size()));
  line = line.substr(0, tab);
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

/// What came of an upload whose body arrives in pieces.
std::string upload(std::string_view body, uint8_t seed) {
  rest::FakeCluster cluster;
  rest::FakeModules modules;
  const rest::RestApi api(cluster, &modules);
  rest::Request request;
  request.method = "POST";
  request.path = "/jars/upload";
  request.content_type = body.substr(0, body.find('\n'));
  body.remove_prefix(std::min(request.content_type.size() + 1, body.size()));
  const auto receiver = api.open_body(request);
  if (!receiver.ok()) return receiver.status().to_string();
  request.receiver = *receiver;
  for (Cuts cuts(seed); !body.empty();) {
    const size_t size = cuts.next(body.size());
    if (const Status taken = request.receiver->take(body.substr(0, size)); !taken.ok())
      return taken.to_string();
    body.remove_prefix(size);
  }
  std::string outcome = api.handle(request).body;
  for (const auto& [name, bytes] : modules.modules) outcome += "\n" + name + "\n" + bytes;
  return outcome;
}

std::string authorization_of(const std::map<std::string, std::string>& fields) {
  std::string text = "Digest ";
  for (const auto& [name, value] : fields) {
    text += (text.ends_with(' ') ? "" : ",") + name + "=\"";
    for (const char c : value) text += std::string(c == '"' || c == '\\' ? "\\" : "") + c;
    text += '"';
  }
  return text;
}

/// What is read from a header is the same when it is written and read again; nothing proves
/// anything, also when the secret is known: all nonces are foreign.
void digest(std::string_view header) {
  auto fields = rest::parse_digest(header);
  if (!fields) return;
  CHECK(rest::parse_digest(authorization_of(*fields)) == fields);
  const ManualClock clock;
  rest::DigestAuthentication who("rain", clock, make_seeded_random(1));
  rest::Request request;
  request.authorization = header;
  CHECK(who.check(request)->status == 401);
  auto& said = *fields;
  request.sent_method = "GET";
  request.target = said["uri"];
  said["response"] =
      rest::digest_response({said["username"], said["realm"], "rain", "GET", said["uri"],
                             said["nonce"], said["nc"], said["cnonce"]});
  request.authorization = authorization_of(said);
  CHECK(who.check(request)->status == 401);
}

}  // namespace

/// input := (method " " path ["?" query] ["\t" body])*, one a line; or
///          "upload" byte content-type "\n" body; or
///          what stands in a header "Authorization: Digest ...".
/// Each answer is JSON, with a status that fits; what an upload gives is the same however it comes.
void rest_api(std::string_view bytes) {
  constexpr std::string_view kUpload = "upload";
  if (bytes.starts_with(kUpload) && bytes.size() > kUpload.size()) {
    const std::string_view body = bytes.substr(kUpload.size() + 1);
    CHECK(upload(body, 0) == upload(body, static_cast<uint8_t>(bytes[kUpload.size()])));
    return;
  }
  if (bytes.starts_with("Digest ")) return digest(bytes);
  Input input(bytes);
  rest::FakeCluster cluster;
  rest::FakeModules modules;
  modules.modules["words.so"] = "ELF";
  const rest::RestApi api(cluster, &modules);
  while (!input.empty()) {
    const size_t cancelled = cluster.cancelled.size();
    const std::string_view line = input.line();
    if (line == "down") cluster.error = unavailable("no answer");
    const rest::Request request = request_of(line);
    const rest::Response response = api.handle(request);
    const auto json = nlohmann::json::parse(response.body);
    for (const ModuleJob& job : modules.jobs) {
      CHECK(job.parallelism.find('\0') == std::string::npos);
      for (const std::string& one : job.arguments) CHECK(one.find('\0') == std::string::npos);
    }
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
  const std::string run = "POST /jars/id_words.so/run";
  const std::string modules =
      "GET /jars\n" + run + "?parallelism=2&programArg=--input,a\n" + run +
      "\t{\"parallelism\": 3, \"programArgsList\": [\"a b\"], \"flinkConfiguration\": "
      "{\"a\": 1}}\nGET /jars/id_words.so/plan\nDELETE /jars/id_words.so\n";
  const std::string upload =
      "upload\x07multipart/form-data; boundary=\"b\"\n--b\r\nContent-Disposition: form-data; "
      "name=\"jarfile\"; filename=\"a\\\"b.so\"\r\n\r\nbytes\r\n-\r\n--b\r\n"
      "content-disposition: form-data; name=other\r\n\r\n\r\n--b--\r\n";
  const std::string authorization =
      "Digest username=\"freshet\", realm=\"freshet\", uri=\"/\\\\a\\\"\", algorithm=SHA-256, "
      "nonce=\"0\", nc=00000001, cnonce=\"c\", qop=auth, response=\"0\"";
  return {all, jobs, vertices, cancel, "down\n" + all + jobs, modules, upload, authorization};
}

}  // namespace freshet::fuzz
