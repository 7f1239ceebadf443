#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/contract/recording_handler.h"
#include "tests/sim/sim_world.h"

namespace freshet::sim {
namespace {

/// What tests/contract/transport_contract_test.cc asks of every Transport, of the simulated one:
/// in virtual time, so that nothing is waited for, and with many seeds instead of threads.
class SimTransportContractTest : public testing::TestWithParam<uint64_t> {
 protected:
  struct Pair {
    std::shared_ptr<Connection> client;
    std::shared_ptr<Connection> server;
    std::shared_ptr<RecordingHandler> client_events = std::make_shared<RecordingHandler>();
    std::shared_ptr<RecordingHandler> server_events = std::make_shared<RecordingHandler>();

    void start() {
      server->start(server_events);
      client->start(client_events);
    }
  };

  void listen() {
    auto listener = server_.transport().listen(
        Address{"127.0.0.1", 0},
        [this](std::shared_ptr<Connection> c) { accepted_ = std::move(c); });
    ASSERT_TRUE(listener.ok()) << listener.status().to_string();
    listener_ = std::move(listener).value();
  }

  Pair make_pair() {
    if (!listener_) listen();
    Pair pair;
    client_.transport().connect(listener_->address(), 1s, [&pair](auto result) {
      ASSERT_TRUE(result.ok()) << result.status().to_string();
      pair.client = *result;
    });
    settle();
    pair.server = std::move(accepted_);
    return pair;
  }

  /// Whatever is under way arrives.
  void settle() { world_.queue().run_until(world_.queue().now() + 1s); }

  SimWorld world_{GetParam()};
  SimHost& host_ = world_.add_host("host");
  SimProcess& client_ = world_.start_process(host_, "client");
  SimProcess& server_ = world_.start_process(host_, "server");
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Connection> accepted_;
};

INSTANTIATE_TEST_SUITE_P(Seeds, SimTransportContractTest, testing::Range<uint64_t>(1, 11));

TEST_P(SimTransportContractTest, CarriesBytesBothWays) {
  Pair pair = make_pair();
  pair.server_events->bytes_hook = [&](std::string_view bytes) {
    if (bytes.ends_with('!')) pair.server->send(outgoing("heard"));
    return Status();
  };
  pair.start();
  pair.client->send(outgoing("hello!"));
  settle();
  EXPECT_EQ(pair.server_events->received(), "hello!");
  EXPECT_EQ(pair.client_events->received(), "heard");
  EXPECT_EQ(pair.client->remote_address(), listener_->address());
  EXPECT_EQ(pair.server->remote_address().host, "127.0.0.1");
  EXPECT_NE(pair.server->remote_address().port, 0);
}

TEST_P(SimTransportContractTest, KeepsOrderOfManySends) {
  constexpr int kSends = 300;
  Pair pair = make_pair();
  int next = 1;
  pair.client_events->sent_hook = [&] {
    if (next < kSends) pair.client->send(outgoing(std::to_string(next) + "\n"));
    ++next;
  };
  std::string expected;
  for (int i = 0; i < kSends; ++i) expected += std::to_string(i) + "\n";
  pair.start();
  pair.client->send(outgoing("0\n"));
  settle();
  EXPECT_EQ(pair.server_events->received(), expected);
  EXPECT_EQ(pair.client_events->sent(), kSends);
}

TEST_P(SimTransportContractTest, GathersPiecesAndLetsGoOfThem) {
  Pair pair = make_pair();
  pair.start();
  std::string expected;
  std::vector<OutgoingBytes> pieces;
  std::weak_ptr<const void> some_owner;
  for (int i = 0; i < 500; ++i) {  // Every seventh is empty.
    auto text = std::make_shared<std::string>(
        i % 7 == 0 ? "" : std::string(1 + i % 50, static_cast<char>('a' + i % 26)));
    expected += *text;
    pieces.push_back({*text, text});
    if (i == 250) some_owner = text;
  }
  pair.client->send(std::move(pieces));
  settle();
  EXPECT_EQ(pair.server_events->received(), expected);
  EXPECT_EQ(pair.client_events->sent(), 1);
  EXPECT_TRUE(some_owner.expired());
}

TEST_P(SimTransportContractTest, ConfirmsAnEmptySend) {
  Pair pair = make_pair();
  pair.start();
  pair.client->send({});
  settle();
  EXPECT_EQ(pair.client_events->sent(), 1);
  pair.client->send(outgoing("x"));
  settle();
  EXPECT_EQ(pair.client_events->sent(), 2);
  EXPECT_EQ(pair.server_events->received(), "x");
}

TEST_P(SimTransportContractTest, DeliversConfirmedBytesAndThenAnOrderlyEnd) {
  Pair pair = make_pair();
  pair.client_events->sent_hook = [&] { pair.client->close(); };
  pair.start();
  const std::string text(30'000, 'x');
  pair.client->send(outgoing(text));
  settle();
  EXPECT_EQ(pair.server_events->received(), text);
  EXPECT_EQ(pair.server_events->closed(), Status());
  EXPECT_EQ(pair.client_events->closed()->code(), StatusCode::kAborted);
}

TEST_P(SimTransportContractTest, ClosesWithTheStatusOfItsHandler) {
  Pair pair = make_pair();
  pair.server_events->bytes_hook = [](std::string_view) { return data_loss("bad magic"); };
  pair.start();
  pair.client->send(outgoing("garbage"));
  settle();
  EXPECT_EQ(pair.server_events->closed(), data_loss("bad magic"));
  EXPECT_TRUE(pair.client_events->closed().has_value());
  EXPECT_EQ(pair.server_events->events_after_close(), 0);
}

TEST_P(SimTransportContractTest, MayBeClosedInsideEveryEvent) {
  for (const std::string event : {"bytes", "sent", "both"}) {
    Pair pair = make_pair();
    if (event != "sent") {
      pair.server_events->bytes_hook = [&](std::string_view) {
        pair.server->close();
        return Status();
      };
    }
    if (event != "bytes") pair.server_events->sent_hook = [&] { pair.server->close(); };
    pair.start();
    pair.server->send(outgoing("a"));
    pair.client->send(outgoing("b"));
    settle();
    EXPECT_EQ(pair.server_events->closed()->code(), StatusCode::kAborted) << event;
    EXPECT_TRUE(pair.client_events->closed().has_value()) << event;
    EXPECT_EQ(pair.server_events->events_after_close(), 0) << event;
    EXPECT_EQ(pair.client_events->events_after_close(), 0) << event;
  }
}

TEST_P(SimTransportContractTest, TellsAHandlerThatComesAfterClose) {
  Pair pair = make_pair();
  pair.client->close();
  pair.client->close();
  pair.client->start(pair.client_events);
  pair.server->start(pair.server_events);
  settle();
  ASSERT_TRUE(pair.client_events->closed().has_value());
  EXPECT_EQ(pair.client_events->closed()->code(), StatusCode::kAborted);
  EXPECT_EQ(pair.server_events->closed(), Status());
  pair.client->send(outgoing("into the void"));
  settle();
  EXPECT_EQ(pair.client_events->sent(), 0);
}

TEST_P(SimTransportContractTest, ClosesAConnectionThatIsDroppedUnstarted) {
  Pair pair = make_pair();
  pair.client->start(pair.client_events);
  pair.server.reset();
  settle();
  EXPECT_TRUE(pair.client_events->closed().has_value());
}

TEST_P(SimTransportContractTest, LetsGoOfItsHandlerAfterTheEnd) {
  Pair pair = make_pair();
  pair.start();
  const std::weak_ptr<RecordingHandler> client = pair.client_events;
  const std::weak_ptr<RecordingHandler> server = pair.server_events;
  pair.client->close();
  settle();
  EXPECT_TRUE(pair.client_events->closed().has_value());
  EXPECT_TRUE(pair.server_events->closed().has_value());
  pair.client_events.reset();
  pair.server_events.reset();
  EXPECT_TRUE(client.expired());
  EXPECT_TRUE(server.expired());
}

TEST_P(SimTransportContractTest, KeepsConnectionsWhenTheListenerGoes) {
  Pair pair = make_pair();
  listener_.reset();
  pair.start();
  pair.client->send(outgoing("still here"));
  settle();
  EXPECT_EQ(pair.server_events->received(), "still here");
}

TEST_P(SimTransportContractTest, DeliversAPrefixWhereverItIsCut) {
  const std::string text = "each byte of this may be the last";
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    Pair pair = make_pair();
    pair.start();
    world_.network().cut_after(server_.id(), client_.id(), bytes);
    for (size_t i = 0; i < text.size() && !pair.server_events->closed(); i += 5) {
      pair.server->send(outgoing(text.substr(i, 5)));
      settle();
    }
    EXPECT_EQ(pair.client_events->received(), text.substr(0, bytes));
    // Neither end takes a cut for an end.
    EXPECT_EQ(pair.client_events->closed()->code(), StatusCode::kUnavailable) << bytes;
    EXPECT_EQ(pair.server_events->closed()->code(), StatusCode::kUnavailable) << bytes;
    EXPECT_EQ(pair.client_events->events_after_close(), 0);
  }
}

}  // namespace
}  // namespace freshet::sim
