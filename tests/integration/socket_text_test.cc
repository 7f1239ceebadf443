#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <mutex>

#include "network/asio_transport.h"
#include "tests/integration/results.h"
#include "tests/integration/test_cluster.h"

namespace freshet::testing {
namespace {

using ::testing::HasSubstr;

/// One who listens on loopback and sends what the test says to the last who came.
class TextServer {
 public:
  TextServer() {
    auto listener = transport_->listen({"127.0.0.1", 0}, [this](std::shared_ptr<Connection> peer) {
      peer->start(std::make_shared<Handler>(sent_));
      std::lock_guard lock(mutex_);
      peer_ = std::move(peer);
      connections_++;
    });
    EXPECT_TRUE(listener.ok()) << listener.status().to_string();
    listener_ = *std::move(listener);
  }

  std::string port() const { return std::to_string(listener_->address().port); }
  bool wait_for_connection(int number) {
    return wait_until(
        [&] {
          std::lock_guard lock(mutex_);
          return connections_ == number;
        },
        30s);
  }
  /// Returns when it has left.
  void say(std::string text) {
    const auto owner = std::make_shared<const std::string>(std::move(text));
    const int before = sent_;
    {
      std::lock_guard lock(mutex_);
      peer_->send({{*owner, owner}});
    }
    EXPECT_TRUE(wait_until([&] { return sent_ > before; }, 30s));
  }
  void hang_up() {
    std::lock_guard lock(mutex_);
    peer_->close();
  }

 private:
  struct Handler final : ConnectionHandler {
    explicit Handler(std::atomic<int>& count) : sent(count) {}
    Status on_bytes(std::string_view) override { return Status(); }
    void on_sent() override { sent++; }
    void on_closed(const Status&) override {}
    std::atomic<int>& sent;
  };

  std::atomic<int> sent_{0};

  std::mutex mutex_;
  std::shared_ptr<Connection> peer_;
  int connections_ = 0;
  const std::unique_ptr<Transport> transport_ = make_asio_transport({});
  std::unique_ptr<freshet::Listener> listener_;
};

bool prints(FreshetProcess& run, const std::string& text) {
  return wait_until([&] { return run.output().find(text) != std::string::npos; }, 30s);
}

std::vector<std::string> count_words(const std::string& port) {
  return {"run",
          "--local",
          "-D",
          "restart-strategy.type=none",
          job_module("socket_wordcount"),
          "-p",
          "1",
          "--",
          "--port",
          port};
}

TEST(SocketTextTest, CountsWordsWhileTheyComeAndEndsWithThePeer) {
  TextServer server;
  FreshetProcess run(count_words(server.port()));
  ASSERT_TRUE(server.wait_for_connection(1)) << run.errors();
  server.say("to be or\r\nnot");
  ASSERT_TRUE(prints(run, "to 1\nbe 1\nor 1\n")) << run.output() << run.errors();
  server.say(" to\n");
  ASSERT_TRUE(prints(run, "not 1\nto 2\n")) << run.output() << run.errors();
  server.say("be");
  server.hang_up();
  EXPECT_EQ(run.wait(30s), 0) << run.errors();
  EXPECT_EQ(run.output(), "to 1\nbe 1\nor 1\nnot 1\nto 2\nbe 2\n");
}

TEST(SocketTextTest, RunsInACluster) {
  TestCluster::Options one;
  one.task_managers = 1;
  TestCluster cluster(one);
  ASSERT_TRUE(cluster.ok()) << cluster.started().errors;
  TextServer server;
  FreshetProcess run(cluster.command(
      "run", {job_module("socket_wordcount"), "-p", "2", "--", "--port", server.port()}));
  ASSERT_TRUE(server.wait_for_connection(1)) << run.errors();
  server.say("one two two\n");
  const auto printed = [&] { return cluster.output("taskmanager-1"); };
  EXPECT_TRUE(wait_until([&] { return printed().find("two 2\n") != std::string::npos; }, 30s))
      << printed();
  server.hang_up();
  EXPECT_EQ(run.wait(30s), 0) << run.errors();
  EXPECT_THAT(printed(), HasSubstr("one 1\n"));
}

TEST(SocketTextTest, IsCanceledWhileItWaitsForText) {
  TextServer server;
  FreshetProcess run(count_words(server.port()));
  ASSERT_TRUE(server.wait_for_connection(1)) << run.errors();
  run.send_signal(SIGINT);
  EXPECT_TRUE(run.wait(30s).has_value());
}

TEST(SocketTextTest, FailsWithTheAddressWhenNobodyListens) {
  std::string port;
  {
    const TextServer gone;
    port = gone.port();
  }
  auto arguments = count_words(port);
  arguments.insert(arguments.end(), {"--retries", "2"});
  const TimePoint begin = monotonic_now();
  const Outcome outcome = run_freshet(arguments);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              HasSubstr("cannot connect to localhost:" + port +
                        ": Connection refused (tried 3 times); see that somebody listens there"));
  EXPECT_GE(monotonic_now() - begin, 1s);
}

}  // namespace
}  // namespace freshet::testing
