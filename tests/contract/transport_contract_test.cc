#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "network/asio_transport.h"
#include "network/local_transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread_executor.h"
#include "tests/contract/recording_handler.h"

namespace freshet {
namespace {

using testing::HasSubstr;

/// What every Transport promises; the parameter chooses one.
class TransportContractTest : public testing::TestWithParam<const char*> {
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

  TransportContractTest() {
    transport_ = make_transport();
    if (GetParam() != std::string("unix")) return;
    directory_ = testing::TempDir() + "freshet-transport-XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    any_address_ = Address::parse("unix:" + directory_ + "/socket").value();
  }
  ~TransportContractTest() override {
    listener_.reset();
    // Nothing is left in it.
    if (!directory_.empty()) {
      EXPECT_EQ(rmdir(directory_.c_str()), 0) << directory_;
    }
  }

  std::unique_ptr<Transport> make_transport() {
    if (GetParam() == std::string("local")) return std::make_unique<LocalTransport>(executor_);
    return make_asio_transport({.threads = 2});
  }

  void listen() {
    auto listener = transport_->listen(any_address_, accepted_.handler());
    ASSERT_TRUE(listener.ok()) << listener.status().to_string();
    listener_ = std::move(listener).value();
  }

  Pair make_pair() {
    if (!listener_) listen();
    auto connection = connect_and_wait(*transport_, listener_->address());
    EXPECT_TRUE(connection.ok()) << connection.status().to_string();
    return Pair{.client = *connection, .server = accepted_.take()};
  }

  const std::unique_ptr<Clock> clock_ = make_system_clock();
  ThreadExecutor executor_{"local", *clock_};
  AcceptQueue accepted_;
  std::string directory_;  // Of the Unix socket.
  Address any_address_{"127.0.0.1", 0};
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Listener> listener_;
};

INSTANTIATE_TEST_SUITE_P(All, TransportContractTest, testing::Values("asio", "unix", "local"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(TransportContractTest, CarriesBytesBothWays) {
  Pair pair = make_pair();
  pair.server_events->bytes_hook = [server = pair.server.get()](std::string_view bytes) {
    server->send(outgoing("echo " + std::string(bytes)));
    return Status();
  };
  pair.start();
  pair.client->send(outgoing("hello"));
  ASSERT_TRUE(pair.client_events->wait_for_bytes(10));
  EXPECT_EQ(pair.client_events->received(), "echo hello");
  EXPECT_EQ(pair.server_events->received(), "hello");
  EXPECT_EQ(pair.client->remote_address(), listener_->address());
  if (!any_address_.is_unix()) {
    EXPECT_EQ(pair.server->remote_address().host, "127.0.0.1");
    EXPECT_NE(pair.server->remote_address().port, 0);
  }
  EXPECT_EQ(pair.server->local_address(), listener_->address());
  EXPECT_EQ(pair.client->local_address(), pair.server->remote_address());
}

TEST_P(TransportContractTest, KeepsOrderOfManySends) {
  constexpr int kSends = 2000;
  Pair pair = make_pair();
  std::atomic<int> next = 1;
  pair.client_events->sent_hook = [&next, client = pair.client.get()] {
    const int number = next.fetch_add(1);
    if (number < kSends) client->send(outgoing(std::to_string(number) + "\n"));
  };
  std::string expected;
  for (int i = 0; i < kSends; ++i) expected += std::to_string(i) + "\n";
  pair.start();
  pair.client->send(outgoing("0\n"));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(expected.size()));
  ASSERT_TRUE(pair.client_events->wait_for_sent(kSends));
  EXPECT_EQ(pair.server_events->received(), expected);
  EXPECT_EQ(pair.client_events->sent(), kSends);
}

TEST_P(TransportContractTest, GathersThousandsOfPiecesInOneSend) {
  Pair pair = make_pair();
  pair.start();
  std::string expected;
  std::vector<OutgoingBytes> pieces;
  std::weak_ptr<const void> some_owner;
  for (int i = 0; i < 5000; ++i) {  // Every seventh is empty; sizes reach over several writes.
    auto text = std::make_shared<std::string>(
        i % 7 == 0 ? "" : std::string(1 + i % 500, static_cast<char>('a' + i % 26)));
    expected += *text;
    pieces.push_back({*text, text});
    if (i == 2500) some_owner = text;
  }
  pair.client->send(std::move(pieces));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(expected.size()));
  ASSERT_TRUE(pair.client_events->wait_for_sent(1));
  EXPECT_EQ(pair.server_events->received(), expected);
  EXPECT_TRUE(some_owner.expired());

  pair.client->send(outgoing("next"));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(expected.size() + 4));
  ASSERT_TRUE(pair.client_events->wait_for_sent(2));
  EXPECT_EQ(pair.client_events->sent(), 2);
}

TEST_P(TransportContractTest, ConfirmsAnEmptySend) {
  Pair pair = make_pair();
  pair.start();
  pair.client->send({});
  ASSERT_TRUE(pair.client_events->wait_for_sent(1));
  pair.client->send({OutgoingBytes{}, OutgoingBytes{}});
  ASSERT_TRUE(pair.client_events->wait_for_sent(2));
  pair.client->send(outgoing("x"));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(1));
  EXPECT_EQ(pair.server_events->received(), "x");
}

TEST_P(TransportContractTest, CarriesMegabytesBothWaysAtOnce) {
  Pair pair = make_pair();
  pair.start();
  std::string up(16 << 20, 0);
  for (size_t i = 0; i < up.size(); ++i) up[i] = static_cast<char>(i * 2654435761u >> 24);
  std::string down = up;
  std::reverse(down.begin(), down.end());
  pair.client->send(outgoing(up));
  pair.server->send(outgoing(down));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(up.size()));
  ASSERT_TRUE(pair.client_events->wait_for_bytes(down.size()));
  EXPECT_TRUE(pair.server_events->received() == up);
  EXPECT_TRUE(pair.client_events->received() == down);
}

TEST_P(TransportContractTest, MayPutBytesWhereItsHandlerWantsThem) {
  constexpr size_t kBytes = 4 << 20;
  Pair pair = make_pair();
  std::string text(kBytes, 0);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 24);
  std::string place(kBytes, 0);
  size_t received = 0;
  size_t in_place = 0;
  // Of every three reads one goes anywhere, one to a place of a few bytes, one to a large one.
  pair.server_events->place_hook = [&, turn = 0]() mutable {
    constexpr size_t kSizes[] = {0, 3, 100'000};
    return std::span(place).subspan(received, std::min(kSizes[++turn % 3], kBytes - received));
  };
  pair.server_events->bytes_hook = [&](std::string_view bytes) {
    if (bytes.data() == place.data() + received) {
      in_place += bytes.size();
    } else {
      std::ranges::copy(bytes, place.begin() + static_cast<std::ptrdiff_t>(received));
    }
    received += bytes.size();
    return Status();
  };
  pair.start();
  pair.client->send(outgoing(text));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(kBytes));
  EXPECT_TRUE(place == text);
  EXPECT_TRUE(in_place > kBytes / 4 || GetParam() == std::string("local")) << in_place;
  pair.client->close();
  ASSERT_TRUE(pair.server_events->wait_for_close());
}

TEST_P(TransportContractTest, LeavesTheHandlersPlaceAloneOnceItIsClosed) {
  for (const bool by_handler : {false, true}) {
    Pair pair = make_pair();
    auto place = std::make_unique<std::string>(1 << 20, 0);
    std::atomic<bool> given = false;
    pair.server_events->keeps_bytes = false;
    pair.server_events->place_hook = [&] {
      given = true;
      return std::span(*place);
    };
    pair.server_events->closed_hook = [&] { place.reset(); };
    if (by_handler) {
      pair.server_events->bytes_hook = [](std::string_view) { return data_loss("enough"); };
    }
    pair.client_events->sent_hook = [client = pair.client.get()] {
      client->send(outgoing(std::string(50'000, 'x')));
    };
    pair.start();
    pair.client->send(outgoing("x"));
    ASSERT_TRUE(pair.server_events->wait_for_bytes(1));
    if (!by_handler) pair.server->close();
    ASSERT_TRUE(pair.server_events->wait_for_close());
    ASSERT_TRUE(pair.client_events->wait_for_close());
    EXPECT_EQ(pair.server_events->events_after_close(), 0);
    EXPECT_TRUE(given || GetParam() == std::string("local"));
    EXPECT_EQ(place, nullptr);
  }
}

TEST_P(TransportContractTest, ClosesWhileARestIsAwaitedInThePlaceOfItsHandler) {
  Pair pair = make_pair();
  auto place = std::make_unique<std::string>(100, 0);
  pair.server_events->place_hook = [&] { return std::span(*place); };
  pair.server_events->closed_hook = [&] { place.reset(); };
  pair.start();
  pair.client->send(outgoing("half"));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(4));
  ASSERT_TRUE(pair.client_events->wait_for_sent(1));
  pair.server->close();  // While it waits for more, and while the peer still sends.
  pair.client->send(outgoing(std::string(1 << 20, 'x')));
  ASSERT_TRUE(pair.server_events->wait_for_close());
  ASSERT_TRUE(pair.client_events->wait_for_close());
  EXPECT_EQ(pair.server_events->closed()->code(), StatusCode::kAborted);
}

TEST_P(TransportContractTest, KeepsWhatIsSentBeforeTheReceiverStarts) {
  Pair pair = make_pair();
  pair.client->start(pair.client_events);
  pair.client->send(outgoing("early"));
  pair.server->start(pair.server_events);
  ASSERT_TRUE(pair.server_events->wait_for_bytes(5));
  EXPECT_EQ(pair.server_events->received(), "early");
}

TEST_P(TransportContractTest, DeliversConfirmedBytesAndThenAnOrderlyEnd) {
  Pair pair = make_pair();
  pair.client_events->sent_hook = [client = pair.client.get()] { client->close(); };
  pair.start();
  const std::string text(300'000, 'x');
  pair.client->send(outgoing(text));
  ASSERT_TRUE(pair.server_events->wait_for_close());
  ASSERT_TRUE(pair.client_events->wait_for_close());
  EXPECT_EQ(pair.server_events->received().size(), text.size());
  EXPECT_EQ(pair.server_events->closed(), Status());
  EXPECT_EQ(pair.client_events->closed()->code(), StatusCode::kAborted);
}

TEST_P(TransportContractTest, DeliversLastWordsToAPeerThatIsStillSending) {
  Pair pair = make_pair();
  pair.server_events->keeps_bytes = false;
  std::atomic<bool> answered = false;
  pair.server_events->bytes_hook = [&answered, server = pair.server.get()](std::string_view) {
    if (!answered.exchange(true)) server->send(outgoing("refused"));
    return Status();
  };
  pair.server_events->sent_hook = [server = pair.server.get()] { server->close(); };
  pair.client_events->sent_hook = [client = pair.client.get()] {
    client->send(outgoing(std::string(1 << 20, 'x')));
  };
  pair.start();
  pair.client->send(outgoing(std::string(1 << 20, 'x')));
  ASSERT_TRUE(pair.client_events->wait_for_close());
  EXPECT_EQ(pair.client_events->received(), "refused");
  EXPECT_EQ(pair.client_events->closed(), Status());
}

TEST_P(TransportContractTest, ClosesWithTheStatusOfItsHandler) {
  Pair pair = make_pair();
  pair.server_events->bytes_hook = [](std::string_view) { return data_loss("bad magic"); };
  pair.start();
  pair.client->send(outgoing("garbage"));
  ASSERT_TRUE(pair.server_events->wait_for_close());
  ASSERT_TRUE(pair.client_events->wait_for_close());
  EXPECT_EQ(pair.server_events->closed(), data_loss("bad magic"));
  EXPECT_EQ(pair.server_events->events_after_close(), 0);
}

TEST_P(TransportContractTest, MayBeClosedInsideEveryEvent) {
  for (const std::string event : {"bytes", "sent", "both"}) {
    Pair pair = make_pair();
    const auto close = [server = pair.server.get()] { server->close(); };
    if (event != "sent") {
      pair.server_events->bytes_hook = [close](std::string_view) {
        close();
        return Status();
      };
    }
    if (event != "bytes") pair.server_events->sent_hook = close;
    pair.start();
    pair.server->send(outgoing("a"));
    pair.client->send(outgoing("b"));
    ASSERT_TRUE(pair.server_events->wait_for_close()) << event;
    ASSERT_TRUE(pair.client_events->wait_for_close()) << event;
    EXPECT_EQ(pair.server_events->closed()->code(), StatusCode::kAborted) << event;
    EXPECT_EQ(pair.server_events->events_after_close(), 0) << event;
    EXPECT_EQ(pair.client_events->events_after_close(), 0) << event;
  }
}

TEST_P(TransportContractTest, TellsAHandlerThatComesAfterClose) {
  Pair pair = make_pair();
  pair.client->close();
  pair.client->close();
  pair.client->start(pair.client_events);
  pair.server->start(pair.server_events);
  ASSERT_TRUE(pair.client_events->wait_for_close());
  ASSERT_TRUE(pair.server_events->wait_for_close());
  EXPECT_EQ(pair.client_events->closed()->code(), StatusCode::kAborted);
  EXPECT_EQ(pair.server_events->closed(), Status());
  pair.client->send(outgoing("into the void"));
  EXPECT_EQ(pair.client_events->sent(), 0);
}

TEST_P(TransportContractTest, ClosesAConnectionThatIsDroppedUnstarted) {
  Pair pair = make_pair();
  pair.client->start(pair.client_events);
  pair.server.reset();
  EXPECT_TRUE(pair.client_events->wait_for_close());
}

TEST_P(TransportContractTest, LetsGoOfItsHandlerAfterTheEnd) {
  Pair pair = make_pair();
  pair.start();
  const std::weak_ptr<RecordingHandler> client = pair.client_events;
  pair.client->close();
  ASSERT_TRUE(pair.client_events->wait_for_close());
  ASSERT_TRUE(pair.server_events->wait_for_close());
  pair.client_events.reset();
  pair.client.reset();
  transport_.reset();
  executor_.stop();
  EXPECT_TRUE(client.expired());
}

TEST_P(TransportContractTest, RefusesAConnectionToNobody) {
  listen();
  const Address address = listener_->address();
  listener_.reset();
  const auto connection = connect_and_wait(*transport_, address);
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(connection.status().message(), HasSubstr(address.to_string()));
}

TEST_P(TransportContractTest, NamesAPortInUse) {
  listen();
  const Address address = listener_->address();
  const auto second = transport_->listen(address, accepted_.handler());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr(address.to_string()));

  listener_.reset();
  const auto third = transport_->listen(address, accepted_.handler());
  EXPECT_TRUE(third.ok()) << third.status().to_string();
}

TEST_P(TransportContractTest, KeepsConnectionsWhenTheListenerGoes) {
  Pair pair = make_pair();
  listener_.reset();
  pair.start();
  pair.client->send(outgoing("still here"));
  ASSERT_TRUE(pair.server_events->wait_for_bytes(10));
  EXPECT_EQ(pair.server_events->received(), "still here");
}

TEST_P(TransportContractTest, ServesManyConnectionsAtOnce) {
  constexpr int kConnections = 200;
  std::vector<Pair> pairs;
  for (int i = 0; i < kConnections; ++i) {
    pairs.push_back(make_pair());
    Pair& pair = pairs.back();
    pair.server_events->bytes_hook = [server = pair.server.get()](std::string_view bytes) {
      server->send(outgoing(std::string(bytes)));
      return Status();
    };
    pair.start();
  }
  for (int i = 0; i < kConnections; ++i)
    pairs[i].client->send(outgoing(std::to_string(100'000 + i)));
  for (int i = 0; i < kConnections; ++i) {
    ASSERT_TRUE(pairs[i].client_events->wait_for_bytes(6)) << i;
    EXPECT_EQ(pairs[i].client_events->received(), std::to_string(100'000 + i));
  }
}

TEST_P(TransportContractTest, MayBeClosedByAnyThreadDuringTraffic) {
  for (int round = 0; round < 20; ++round) {
    Pair pair = make_pair();
    pair.server_events->keeps_bytes = false;
    pair.client_events->sent_hook = [client = pair.client.get()] {
      client->send(outgoing(std::string(50'000, 'x')));
    };
    pair.start();
    pair.client->send(outgoing("go"));
    ASSERT_TRUE(pair.server_events->wait_for_bytes(static_cast<size_t>(round) * 50'000));
    (round % 2 == 0 ? pair.client : pair.server)->close();
    ASSERT_TRUE(pair.client_events->wait_for_close());
    ASSERT_TRUE(pair.server_events->wait_for_close());
    EXPECT_EQ(pair.client_events->events_after_close(), 0);
    EXPECT_EQ(pair.server_events->events_after_close(), 0);
  }
}

TEST_P(TransportContractTest, EndsEveryConnectionWhenDestroyedDuringTraffic) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 10; ++i) {
    pairs.push_back(make_pair());
    Pair& pair = pairs.back();
    pair.server_events->keeps_bytes = false;
    pair.client_events->sent_hook = [client = pair.client.get()] {
      client->send(outgoing(std::string(50'000, 'x')));
    };
    pair.start();
    pair.client->send(outgoing("go"));
  }
  for (Pair& pair : pairs) ASSERT_TRUE(pair.server_events->wait_for_bytes(100'000));
  transport_.reset();
  for (Pair& pair : pairs) {
    EXPECT_TRUE(pair.client_events->wait_for_close());
    EXPECT_TRUE(pair.server_events->wait_for_close());
    EXPECT_EQ(pair.client_events->events_after_close(), 0);
    EXPECT_EQ(pair.server_events->events_after_close(), 0);
    pair.client->send(outgoing("into the void"));
    pair.client->close();
  }
}

TEST_P(TransportContractTest, EndsEveryConnectWhenDestroyed) {
  listen();
  Signal signal;
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    transport_->connect(listener_->address(), 20s, [&](const Result<std::shared_ptr<Connection>>&) {
      signal.change([&] { ++ended; });
    });
  }
  transport_.reset();
  EXPECT_TRUE(signal.wait_until([&] { return ended == 50; }));
  executor_.stop();
  EXPECT_EQ(ended, 50);
}

}  // namespace
}  // namespace freshet
