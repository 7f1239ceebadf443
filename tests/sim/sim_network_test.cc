#include "tests/sim/sim_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/sim/sim_world.h"

namespace freshet::sim {
namespace {

using testing::HasSubstr;

/// Remembers what happened; may act inside.
class Recorder final : public ConnectionHandler {
 public:
  Status on_bytes(std::string_view bytes) override {
    EXPECT_FALSE(closed.has_value());
    received += bytes;
    ++reads;
    return answer;
  }
  void on_sent() override {
    EXPECT_FALSE(closed.has_value());
    ++sent;
  }
  void on_closed(const Status& why) override {
    EXPECT_FALSE(closed.has_value());
    closed = why;
  }

  std::string received;
  int reads = 0;
  int sent = 0;
  Status answer;
  std::optional<Status> closed;
};

std::vector<OutgoingBytes> outgoing(std::string text) {
  auto owner = std::make_shared<std::string>(std::move(text));
  return {OutgoingBytes{*owner, owner}};
}

class SimNetworkTest : public testing::Test {
 protected:
  struct Pair {
    std::shared_ptr<Connection> client;
    std::shared_ptr<Connection> server;
    std::shared_ptr<Recorder> at_client = std::make_shared<Recorder>();
    std::shared_ptr<Recorder> at_server = std::make_shared<Recorder>();
  };

  void listen() {
    auto listener = server_.transport().listen(
        Address{"127.0.0.1", 0},
        [this](std::shared_ptr<Connection> c) { accepted_ = std::move(c); });
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
  }

  std::optional<Result<std::shared_ptr<Connection>>> connect(Duration timeout = 1s) {
    auto outcome = std::make_shared<std::optional<Result<std::shared_ptr<Connection>>>>();
    client_.transport().connect(listener_->address(), timeout,
                                [outcome](auto result) { outcome->emplace(std::move(result)); });
    EXPECT_FALSE(outcome->has_value());
    world_.queue().run_until([&] { return outcome->has_value(); }, 1min);
    return *outcome;
  }

  Pair make_pair() {
    if (!listener_) listen();
    auto connection = connect();
    EXPECT_TRUE(connection.has_value() && connection->ok());
    Pair pair{.client = **connection, .server = accepted_};
    pair.client->start(pair.at_client);
    pair.server->start(pair.at_server);
    return pair;
  }

  void settle() { world_.queue().run_until(world_.queue().now() + 1s); }

  SimWorld world_{11};
  SimHost& host_ = world_.add_host("host");
  SimProcess& client_ = world_.start_process(host_, "client");
  SimProcess& server_ = world_.start_process(host_, "server");
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Connection> accepted_;
};

TEST_F(SimNetworkTest, CarriesBytesInOrderInPieces) {
  Pair pair = make_pair();
  std::string all;
  for (int i = 0; i < 50; ++i) {
    const std::string text(100, static_cast<char>('a' + i % 26));
    all += text;
    pair.client->send(outgoing(text));
    ASSERT_TRUE(world_.queue().run_until([&] { return pair.at_client->sent == i + 1; }, 1s));
  }
  EXPECT_EQ(pair.at_server->received, all);
  EXPECT_GT(pair.at_server->reads, 60);
  EXPECT_EQ(pair.client->remote_address(), listener_->address());
}

TEST_F(SimNetworkTest, KeepsWhatCameBeforeStart) {
  listen();
  const std::shared_ptr<Connection> client = *connect().value();
  auto at_client = std::make_shared<Recorder>();
  client->start(at_client);
  client->send(outgoing("early"));
  settle();
  auto at_server = std::make_shared<Recorder>();
  accepted_->start(at_server);
  EXPECT_EQ(at_server->received, "");
  settle();
  EXPECT_EQ(at_server->received, "early");
}

TEST_F(SimNetworkTest, TellsBothSidesOfAClose) {
  Pair pair = make_pair();
  pair.client->close();
  EXPECT_FALSE(pair.at_client->closed.has_value());
  pair.client->close();
  settle();
  EXPECT_EQ(pair.at_client->closed->code(), StatusCode::kAborted);
  EXPECT_TRUE(pair.at_server->closed->ok());
  EXPECT_EQ(world_.network().open_connections(), 0u);
}

TEST_F(SimNetworkTest, ClosesWithTheErrorOfItsHandler) {
  Pair pair = make_pair();
  pair.at_server->answer = data_loss("garbage");
  pair.client->send(outgoing("x"));
  settle();
  EXPECT_EQ(pair.at_server->closed->code(), StatusCode::kDataLoss);
  EXPECT_TRUE(pair.at_client->closed.has_value());
}

TEST_F(SimNetworkTest, RefusesWhenNobodyListens) {
  listen();
  server_.crash();
  const auto result = connect();
  EXPECT_EQ(result->status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(result->status().message(), HasSubstr(listener_->address().to_string()));
}

TEST_F(SimNetworkTest, RefusesASecondListenerOnAPortUntilTheFirstIsGone) {
  listen();
  const Address address = listener_->address();
  const auto second = client_.transport().listen(address, [](auto) {});
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  listener_ = nullptr;
  EXPECT_TRUE(client_.transport().listen(address, [](auto) {}).ok());
}

TEST_F(SimNetworkTest, ResetsWhenTheOtherProcessDies) {
  Pair pair = make_pair();
  server_.crash();
  settle();
  EXPECT_EQ(pair.at_client->closed->code(), StatusCode::kUnavailable);
  EXPECT_FALSE(pair.at_server->closed.has_value());
}

TEST_F(SimNetworkTest, TellsNobodyWhenAMachineVanishes) {
  Pair pair = make_pair();
  server_.vanish();
  pair.client->send(outgoing("into the dark"));
  settle();
  EXPECT_FALSE(pair.at_client->closed.has_value());
  EXPECT_EQ(pair.at_client->sent, 0);
}

TEST_F(SimNetworkTest, CutsAtExactlyTheGivenByte) {
  const std::string text = "0123456789";
  for (size_t bytes = 0; bytes <= text.size(); ++bytes) {
    Pair pair = make_pair();
    world_.network().cut_after(client_.id(), server_.id(), bytes);
    pair.client->send(outgoing(text));
    settle();
    EXPECT_EQ(pair.at_server->received, text.substr(0, bytes));
    EXPECT_EQ(pair.at_server->closed->code(), StatusCode::kUnavailable);
    EXPECT_EQ(pair.at_client->closed->code(), StatusCode::kUnavailable);
  }
}

TEST_F(SimNetworkTest, ResetsLeaveAPrefixOfWhatWasSent) {
  std::set<size_t> lengths;
  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  for (int i = 0; i < 50; ++i) {
    Pair pair = make_pair();
    pair.client->send(outgoing(text));
    EXPECT_EQ(world_.network().reset(client_.id(), server_.id()), 1u);
    settle();
    EXPECT_EQ(pair.at_server->received, text.substr(0, pair.at_server->received.size()));
    EXPECT_TRUE(pair.at_server->closed.has_value() && pair.at_client->closed.has_value());
    lengths.insert(pair.at_server->received.size());
  }
  EXPECT_GT(lengths.size(), 10u);
}

TEST_F(SimNetworkTest, HoldsBackWhatIsClogged) {
  Pair pair = make_pair();
  world_.network().clog(client_.id(), server_.id(), 10s);
  pair.client->send(outgoing("late"));
  settle();
  EXPECT_EQ(pair.at_server->received, "");
  EXPECT_EQ(connect(2s)->status().code(), StatusCode::kDeadlineExceeded);
  world_.queue().run_until(TimePoint(12s));
  EXPECT_EQ(pair.at_server->received, "late");
  EXPECT_EQ(pair.at_client->sent, 1);
}

TEST_F(SimNetworkTest, HeldConnectionIsOvertakenByANewerOneAndStillArrivesWhole) {
  Pair held = make_pair();
  held.client->send(outgoing("old"));
  EXPECT_EQ(world_.network().hold(client_.id(), server_.id(), 10s), 1u);
  held.server->send(outgoing("the other way"));
  settle();
  EXPECT_EQ(held.at_server->received, "");
  EXPECT_EQ(held.at_client->received, "the other way");
  EXPECT_EQ(held.at_client->sent, 1);
  held.client->close();
  Pair newer = make_pair();
  newer.client->send(outgoing("new"));
  settle();
  EXPECT_EQ(newer.at_server->received, "new");
  EXPECT_FALSE(held.at_server->closed.has_value());
  world_.queue().run_until(TimePoint(12s));
  EXPECT_EQ(held.at_server->received, "old");
  EXPECT_TRUE(held.at_server->closed.has_value());
}

TEST_F(SimNetworkTest, LeavesConnectionsHalfOpenWhenSplit) {
  Pair pair = make_pair();
  world_.network().split(client_.id(), server_.id());
  pair.client->send(outgoing("lost"));
  EXPECT_EQ(connect(2s)->status().code(), StatusCode::kDeadlineExceeded);
  pair.server->close();
  settle();
  EXPECT_EQ(pair.at_server->received, "");
  EXPECT_FALSE(pair.at_client->closed.has_value());
  world_.network().heal(client_.id(), server_.id());
  settle();
  EXPECT_EQ(pair.at_client->closed->code(), StatusCode::kUnavailable);
  Pair later = make_pair();
  later.client->send(outgoing("arrives"));
  settle();
  EXPECT_EQ(later.at_server->received, "arrives");
}

TEST_F(SimNetworkTest, RefusesConnectionsOnAWayThatIsCut) {
  Pair pair = make_pair();
  world_.network().set_way(server_.id(), client_.id(), {.refused = true});
  settle();
  EXPECT_EQ(pair.at_client->closed->code(), StatusCode::kUnavailable);
  EXPECT_EQ(pair.at_server->closed->code(), StatusCode::kUnavailable);
  EXPECT_THAT(connect()->status().message(), HasSubstr("refused"));
  world_.network().set_way(server_.id(), client_.id(), {});
  Pair later = make_pair();
  later.client->send(outgoing("arrives"));
  settle();
  EXPECT_EQ(later.at_server->received, "arrives");
}

TEST_F(SimNetworkTest, HoldsOneWayUntilItIsHealedAlsoOfNewConnections) {
  Pair old = make_pair();
  world_.network().set_way(client_.id(), server_.id(), {.held = true});
  old.client->send(outgoing("old"));
  old.server->send(outgoing("the other way"));
  Pair newer = make_pair();
  newer.client->send(outgoing("new"));
  newer.client->close();
  world_.queue().run_until(TimePoint(1h));
  EXPECT_EQ(old.at_server->received, "");
  EXPECT_EQ(old.at_client->received, "the other way");
  EXPECT_EQ(newer.at_server->received, "");
  EXPECT_FALSE(newer.at_server->closed.has_value());
  world_.network().set_way(client_.id(), server_.id(), {});
  settle();
  EXPECT_EQ(old.at_server->received, "old");
  EXPECT_TRUE(newer.at_server->closed.has_value());
}

TEST_F(SimNetworkTest, DelaysAndBoundsTheRateOfAWay) {
  Pair pair = make_pair();
  world_.network().set_way(client_.id(), server_.id(), {.delay = 2s, .bytes_per_second = 100});
  const TimePoint begin = world_.queue().now();
  const auto received = [&](const Recorder& at, size_t bytes) {
    return world_.queue().run_until([&] { return at.received.size() == bytes; }, 1min);
  };
  pair.client->send(outgoing(std::string(300, 'x')));
  pair.server->send(outgoing("quick"));
  ASSERT_TRUE(received(*pair.at_client, 5));
  EXPECT_LT(world_.queue().now(), begin + 10ms);
  ASSERT_TRUE(received(*pair.at_server, 300));
  EXPECT_GE(world_.queue().now(), begin + 5s);
  EXPECT_LT(world_.queue().now(), begin + 5100ms);
}

}  // namespace
}  // namespace freshet::sim
