#include "runtime/rest/rest_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runtime/base/clock.h"
#include "runtime/rest/request_threads.h"
#include "tests/unit/rest/fake_cluster.h"

namespace freshet::rest {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RestServerTest : public ::testing::Test {
 protected:
  RestServerTest() : server_(RestServer::start({"127.0.0.1", 0}, cluster_).value()) {}

  httplib::Client client() const { return httplib::Client("127.0.0.1", server_->address().port); }

  /// A connection that sends `bytes` and stays open.
  int open_connection(const std::string& bytes) {
    return open_connection(bytes, server_->address().port);
  }
  static int open_connection(const std::string& bytes, uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::send(socket, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return socket;
  }

  /// All that comes until the other side ends it.
  static std::string read_all(int socket) {
    std::string answer(64 << 10, '\0');
    size_t size = 0;
    for (ssize_t read = 1; read > 0 && size < answer.size(); size += static_cast<size_t>(read)) {
      read = ::recv(socket, answer.data() + size, answer.size() - size, 0);
      if (read <= 0) break;
    }
    ::close(socket);
    answer.resize(size);
    return answer;
  }

  static std::string read_until(int socket, const std::string& end) {
    std::string answer;
    for (char one = 0; !answer.ends_with(end) && ::recv(socket, &one, 1, 0) == 1;) answer += one;
    return answer;
  }

  FakeCluster cluster_;
  const std::unique_ptr<RestServer> server_;
};

TEST_F(RestServerTest, AnswersOverHttp) {
  auto client = this->client();
  const auto response = client.Get("/v1/jobs/overview");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_THAT(response->get_header_value("Content-Type"), HasSubstr("application/json"));
  EXPECT_EQ(json::parse(response->body)["jobs"][0]["name"], "words");
  const auto metrics = client.Get(
      "/jobs/00000000000000010000000000000002/vertices/000000000000000000000000000000bb/subtasks/"
      "metrics?get=numRecordsIn&agg=sum");
  EXPECT_EQ(json::parse(metrics->body)[0]["sum"], 21.0);
}

TEST_F(RestServerTest, CancelsByPatchWithOrWithoutABody) {
  auto client = this->client();
  const std::string path = "/jobs/00000000000000010000000000000002?mode=cancel";
  EXPECT_EQ(client.Patch(path)->status, 202);
  EXPECT_EQ(client.Patch(path, "{}", "application/json")->status, 202);
  EXPECT_EQ(cluster_.cancelled.size(), 2u);
}

TEST_F(RestServerTest, AnswersRequestsThatAreUnusual) {
  const std::string job = "/jobs/00000000000000010000000000000002";
  const std::string host = " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  for (const auto& [request, status] : std::vector<std::pair<std::string, std::string>>{
           {"PATCH " + job + "?mode=cancel" + host + "\r\n", "202"},  // As curl sends it.
           {"GET /jobs" + host + ranges + "\r\n\r\n", "200"},
           {"GET /jobs HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
           {"GET /jobs HTTP/1.1\r\nHost: localhost:8081\r\n\r\n", "200"},
           // As proxies are asked; the name in the target is the one that counts.
           {"GET http://localhost:8081/jobs" + host + "\r\n", "200"},
           {"GET HTTP://127.0.0.1/v1/jobs?x=1 HTTP/1.1\r\nHost: evil.example\r\n\r\n", "200"},
           {"GET http://evil.example/jobs" + host + "\r\n", "403"},
           {"GET http://localhost@evil.example/jobs" + host + "\r\n", "403"},
           {"GET http://localhost" + host + "\r\n", "404"},
           {"GET https://localhost/jobs" + host + "\r\n", "404"},
           {"POST /jobs" + host + "Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n",
            "403"},
           {"POST /jobs" + host + "Origin: null\r\nContent-Length: 0\r\n\r\n", "403"},
           {"POST /jobs" + host + "Sec-Fetch-Site: cross-site\r\n\r\n", "403"},
           {"POST /jobs" + host + "Origin: http://127.0.0.1\r\nContent-Length: 0\r\n\r\n", "405"},
           {"GET /jobs" + host + "Sec-Fetch-Site: same-origin\r\n\r\n", "200"},
           {"POST /jobs" + host + "Transfer-Encoding: chunked\r\n\r\n", "411"},
           {"POST /jobs" + host + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n", "411"},
           {"POST /jobs" + host + "Content-Length: 99999999999\r\n\r\n", "413"},
           {"POST /jobs" + host + "Content-Length: 5\r\n\r\nhello", "405"}}) {
    std::string only = request;
    only.insert(only.find("\r\n"), "\r\nConnection: close");
    EXPECT_THAT(read_all(open_connection(only)), StartsWith("HTTP/1.1 " + status))
        << request.substr(0, 100);
  }
  EXPECT_EQ(cluster_.cancelled.size(), 1u);
  cluster_.job_view.summary.state = JobState::kFinished;
  const auto late = client().Patch(job + "?mode=cancel");
  EXPECT_EQ(late->status, 409);
  EXPECT_THAT(late->body, HasSubstr("ended already"));
}

TEST_F(RestServerTest, StopsThoughAClientFellSilentInTheMiddle) {
  std::unique_ptr<RestServer> server;
  server = RestServer::start({"127.0.0.1", 0}, cluster_).value();
  const int silent = open_connection("GET /jo", server->address().port);
  EXPECT_EQ(httplib::Client("127.0.0.1", server->address().port).Get("/jobs")->status, 200);
  server = nullptr;
  ::close(silent);
}

TEST_F(RestServerTest, RefusesWhatIsWrongWithAMessage) {
  auto client = this->client();
  for (const auto& [response, status] :
       {std::pair{client.Get("/nothing"), 404}, std::pair{client.Delete("/jobs"), 405},
        std::pair{client.Post("/jobs", std::string(HttpServer::kBodyBytesMax + 1, 'x'), "text/x"),
                  413},
        std::pair{client.Get("/" + std::string(10'000, 'x')), 414}}) {
    ASSERT_TRUE(response) << status;
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(json::parse(response->body)["errors"].size(), 1u);
  }
  EXPECT_EQ(client.Get("/jobs")->status, 200);
}

TEST_F(RestServerTest, GarbageEndsItsConnectionOnly) {
  const std::string garbage[] = {
      std::string(5000, '\xff') + "\r\n\r\n", "GET\r\n\r\n", "GET /jobs HTTP/9.9\r\n\r\n",
      "POST /jobs HTTP/1.1\r\nContent-Length: -5\r\n\r\n", "GET /%%%zz%00 HTTP/1.1\r\n\r\n"};
  for (const std::string& bytes : garbage) ::close(open_connection(bytes));
  EXPECT_EQ(client().Get("/jobs")->status, 200);
}

TEST_F(RestServerTest, AnswersSeveralRequestsOnOneConnection) {
  const std::string request = "GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const int socket = open_connection(request + request);  // The second is there already.
  for (int i = 0; i < 2; ++i) {
    const std::string head = read_until(socket, "\r\n\r\n");
    EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(head, HasSubstr("Keep-Alive: timeout=2"));
    EXPECT_THAT(read_until(socket, "]}"), StartsWith("{"));
  }
  const std::string last = "GET /jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(socket, last.data(), last.size(), 0), static_cast<ssize_t>(last.size()));
  EXPECT_THAT(read_all(socket), HasSubstr("Connection: close"));
}

/// A client that acknowledges late, as all do who ask again, is not waited for in the middle.
TEST_F(RestServerTest, AnswersTheNextRequestOfAConnectionAtOnce) {
  const std::string request = "GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const int socket = open_connection("");
  const auto clock = make_system_clock();
  std::vector<Duration> took;
  for (int i = 0; i < 51; ++i) {
    const TimePoint begin = clock->now();
    ASSERT_EQ(::send(socket, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    ASSERT_THAT(read_until(socket, "]}"), StartsWith("HTTP/1.1 200"));
    took.push_back(clock->now() - begin);
  }
  ::close(socket);
  std::ranges::nth_element(took, took.begin() + 25);
  EXPECT_LT(took[25], 30ms);  // Acknowledgements take 40 ms.
}

/// What is behind a request that was refused before its body was read is no other request.
TEST_F(RestServerTest, ABodyThatIsNotReadEndsItsConnection) {
  const std::string body = "GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string answer = read_all(
      open_connection("POST /nothing HTTP/1.1\r\nHost: elsewhere.example\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(answer, Not(HasSubstr("HTTP/1.1 200")));
}

TEST_F(RestServerTest, WhoWaitsForNothingIsNotWaitedForAtTheEnd) {
  auto server = RestServer::start({"127.0.0.1", 0}, cluster_);
  ASSERT_TRUE(server.ok()) << server.status().to_string();
  const int socket =
      open_connection("GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n", (*server)->address().port);
  EXPECT_THAT(read_until(socket, "}"), HasSubstr("200"));
  const auto clock = make_system_clock();
  const TimePoint begin = clock->now();
  server->reset();
  EXPECT_LT(clock->now() - begin, 1500ms);
  ::close(socket);
}

TEST_F(RestServerTest, IdleConnectionsHoldUpNobodyForLong) {
  std::vector<int> idle;
  for (size_t i = 0; i < RestServer::kThreadsMax + 4; ++i) idle.push_back(open_connection(""));
  auto client = this->client();
  client.set_read_timeout(10);
  const auto response = client.Get("/jobs");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  for (const int socket : idle) ::close(socket);
}

/// Whoever sends a byte now and then is never silent, and never done.
TEST_F(RestServerTest, ClientsThatSendByteByByteHoldUpNobodyForLong) {
  for (const std::string& begin :
       {std::string("GET /"), std::string("POST /jobs HTTP/1.1\r\nHost: localhost\r\n"
                                          "Content-Length: 1000000\r\n\r\n")}) {
    std::vector<int> slow;
    for (size_t i = 0; i < RestServer::kThreadsMax; ++i) slow.push_back(open_connection(begin));
    auto answer = std::async(std::launch::async, [this] {
      auto client = this->client();
      client.set_read_timeout(20);
      const auto response = client.Get("/jobs");
      return response ? response->status : 0;
    });
    while (answer.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
      for (const int socket : slow) (void)::send(socket, "a", 1, MSG_NOSIGNAL);
    }
    EXPECT_EQ(answer.get(), 200);
    for (const int socket : slow) ::close(socket);
  }
}

TEST_F(RestServerTest, ClientsThatTakeNoAnswerHoldUpNobodyForLong) {
  cluster_.log = std::string(4 << 20, 'x');
  std::vector<int> slow;
  for (size_t i = 0; i < RestServer::kThreadsMax; ++i)
    slow.push_back(open_connection("GET /jobmanager/log HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  auto client = this->client();
  client.set_read_timeout(20);
  const auto response = client.Get("/jobs");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  for (const int socket : slow) ::close(socket);
}

TEST_F(RestServerTest, GivesUpWhoSaysMoreThanARequest) {
  const std::string much(HttpServer::kBodyBytesMax, 'x');
  for (const std::string& begin :
       {std::string("GET /"), std::string("GET / HTTP/1.1\r\nHost: localhost\r\nX: ")}) {
    const int socket = open_connection(begin);
    size_t sent = 0;
    for (ssize_t part = 1; part > 0 && sent < (200u << 20); sent += static_cast<size_t>(part)) {
      part = ::send(socket, much.data(), much.size(), MSG_NOSIGNAL);
      if (part <= 0) break;
    }
    EXPECT_LT(sent, 100u << 20) << begin;
    ::close(socket);
  }
}

TEST_F(RestServerTest, SaysWhenABodyDidNotCome) {
  const int socket =
      open_connection("POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhello");
  ::shutdown(socket, SHUT_WR);
  EXPECT_THAT(read_all(socket), HasSubstr("the request did not come in time"));
}

TEST_F(RestServerTest, TellsEventsToAFewWhileOthersAreAnswered) {
  const std::string request = "GET /jobs/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<int> followers;
  for (size_t i = 0; i < JobEvents::kStreamsMax; ++i) {
    followers.push_back(open_connection(request));
    const std::string begin = read_until(followers.back(), "}\n\n");
    EXPECT_THAT(begin, HasSubstr("Content-Type: text/event-stream"));
    EXPECT_THAT(begin, HasSubstr("event: job\ndata: {\"jid\""));
  }
  auto client = this->client();
  const auto refused = client.Get("/jobs/events");
  EXPECT_EQ(refused->status, 503);
  EXPECT_THAT(refused->body, HasSubstr("32 clients follow events"));
  std::vector<int> idle;
  for (size_t i = 0; i < RestServer::kThreadsMax - 1; ++i) idle.push_back(open_connection("GET /"));
  EXPECT_EQ(client.Get("/jobs")->status, 200);
  // Whoever goes makes room.
  ::close(followers.back());
  followers.pop_back();
  cluster_.set_state(JobState::kFailing, 60'000);
  int next = -1;
  for (std::string answer; !answer.starts_with("HTTP/1.1 200");) {
    if (next >= 0) ::close(next);
    next = open_connection(request);
    answer = read_until(next, "\r\n\r\n");
  }
  ::close(next);
  EXPECT_THAT(read_until(followers.front(), "}\n\n"), HasSubstr("\"state\":\"FAILING\""));
  for (const int socket : idle) ::close(socket);
  for (const int socket : followers) ::close(socket);
}

TEST_F(RestServerTest, EndsWithItsStreamsOfEvents) {
  auto server = RestServer::start({"127.0.0.1", 0}, cluster_).value();
  const int follower = open_connection("GET /jobs/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                       server->address().port);
  (void)read_until(follower, "}\n\n");
  server = nullptr;
  (void)read_all(follower);
}

TEST_F(RestServerTest, SaysWhereItCannotListen) {
  const auto second = RestServer::start(server_->address(), cluster_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr(server_->address().to_string()));
}

TEST(RequestThreadsTest, AreMadeWhenNeededAndNotMore) {
  constexpr size_t kMost = 3;
  RequestThreads threads(kMost, 10);
  EXPECT_EQ(threads.threads(), 0u);
  std::mutex mutex;
  std::condition_variable changed;
  size_t inside = 0;
  size_t done = 0;
  bool go = false;
  for (int i = 0; i < 10; ++i) {
    threads.enqueue([&] {
      std::unique_lock lock(mutex);
      ++inside;
      changed.notify_all();
      changed.wait(lock, [&] { return go; });
      ++done;
      changed.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside == kMost; });
    EXPECT_EQ(threads.threads(), kMost);
    go = true;
    changed.notify_all();
    changed.wait(lock, [&] { return done == 10; });
  }
  threads.shut_down();
}

}  // namespace
}  // namespace freshet::rest
