#include "network/asio_transport.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "runtime/base/log.h"
#include "tests/contract/recording_handler.h"

namespace freshet {
namespace {

using testing::HasSubstr;

const Address kAnyPort{"127.0.0.1", 0};

/// A socket of the operating system, to misbehave with.
class RawSocket {
 public:
  RawSocket() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~RawSocket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  bool connect(const Address& address) {
    sockaddr_in raw = loopback(address.port);
    return ::connect(descriptor_, reinterpret_cast<sockaddr*>(&raw), sizeof(raw)) == 0;
  }
  Address listen(int backlog) {
    sockaddr_in raw = loopback(0);
    socklen_t size = sizeof(raw);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&raw), size), 0);
    EXPECT_EQ(::listen(descriptor_, backlog), 0);
    EXPECT_EQ(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&raw), &size), 0);
    return Address{"127.0.0.1", ntohs(raw.sin_port)};
  }
  void write(std::string_view bytes) {
    EXPECT_EQ(::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  size_t read(size_t size) {
    std::string buffer(size, 0);
    const ssize_t got = recv(descriptor_, buffer.data(), size, 0);
    return got < 0 ? 0 : static_cast<size_t>(got);
  }
  void reset() {
    const linger abortive{1, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &abortive, sizeof(abortive));
    ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    raw.sin_port = htons(port);
    return raw;
  }
  int descriptor_;
};

/// Counts log lines; while it lives.
class LogWatch {
 public:
  explicit LogWatch(std::string event) : event_(std::move(event)) {
    log_to_sink(
        [](void* self, LogLevel, std::string_view line) {
          auto* watch = static_cast<LogWatch*>(self);
          if (line.find(watch->event_) == std::string_view::npos) return;
          watch->signal_.change([&] { ++watch->count_; });
        },
        this);
  }
  ~LogWatch() { log_to_sink(nullptr, nullptr); }

  bool wait() {
    return signal_.wait_until([&] { return count_ > 0; });
  }

 private:
  const std::string event_;
  Signal signal_;
  int count_ = 0;
};

class AsioTransportTest : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = transport_->listen(kAnyPort, accepted_.handler());
    ASSERT_TRUE(listener.ok()) << listener.status().to_string();
    listener_ = std::move(listener).value();
  }

  AcceptQueue accepted_;
  std::unique_ptr<Transport> transport_ = make_asio_transport({.threads = 2});
  std::unique_ptr<Listener> listener_;
};

TEST_F(AsioTransportTest, SeesAResetAtOnce) {
  RawSocket peer;
  ASSERT_TRUE(peer.connect(listener_->address()));
  const auto events = std::make_shared<RecordingHandler>();
  accepted_.take()->start(events);
  peer.write("half a mess");
  ASSERT_TRUE(events->wait_for_bytes(11));
  peer.reset();
  ASSERT_TRUE(events->wait_for_close());
  EXPECT_EQ(events->closed()->code(), StatusCode::kUnavailable);
  EXPECT_THAT(events->closed()->message(), HasSubstr("127.0.0.1:"));
}

TEST_F(AsioTransportTest, ReadsTheLastWordsOfAPeerThatIsGoneWhileItWrites) {
  RawSocket peer;
  ASSERT_TRUE(peer.connect(listener_->address()));
  const auto connection = accepted_.take();
  const auto events = std::make_shared<RecordingHandler>();
  events->sent_hook = [connection = connection.get()] {
    connection->send(outgoing(std::string(1 << 20, 'x')));
  };
  connection->start(events);
  connection->send(outgoing("go"));
  peer.write("last words");
  ASSERT_TRUE(events->wait_for_bytes(10));
  peer.reset();
  ASSERT_TRUE(events->wait_for_close());
  EXPECT_EQ(events->closed()->code(), StatusCode::kUnavailable);
}

TEST_F(AsioTransportTest, ConfirmsNothingThatThePeerLeavesInTheNetwork) {
  RawSocket peer;
  ASSERT_TRUE(peer.connect(listener_->address()));
  const auto connection = accepted_.take();
  const auto events = std::make_shared<RecordingHandler>();
  connection->start(events);
  constexpr size_t kBytes = 64 << 20;  // More than the buffers of the kernel.
  connection->send(outgoing(std::string(kBytes, 'x')));
  size_t read = peer.read(1);
  ASSERT_EQ(read, 1u);
  EXPECT_EQ(events->sent(), 0);
  while (read < kBytes) {
    const size_t got = peer.read(1 << 20);
    ASSERT_GT(got, 0u);
    read += got;
  }
  ASSERT_TRUE(events->wait_for_sent(1));
}

TEST_F(AsioTransportTest, ShowsAPeerThatASendWasCut) {
  const auto client = connect_and_wait(*transport_, listener_->address());
  ASSERT_TRUE(client.ok());
  const auto server = accepted_.take();
  const auto client_events = std::make_shared<RecordingHandler>();
  const auto server_events = std::make_shared<RecordingHandler>();
  server->start(server_events);
  server->send(outgoing(std::string(64 << 20, 'x')));
  server->close();
  client.value()->start(client_events);
  ASSERT_TRUE(server_events->wait_for_close());
  ASSERT_TRUE(client_events->wait_for_close());
  EXPECT_EQ(server_events->sent(), 0);
  EXPECT_EQ(client_events->closed()->code(), StatusCode::kUnavailable);
}

TEST_F(AsioTransportTest, GivesUpAConnectInTime) {
  RawSocket silent;  // Its backlog is full after the first ones, and the kernel drops the others.
  const Address address = silent.listen(0);
  std::vector<std::shared_ptr<Connection>> waiting;
  Status last;
  for (int i = 0; i < 8 && last.ok(); ++i) {
    auto connection = connect_and_wait(*transport_, address, 200ms);
    last = connection.status();
    if (last.ok()) waiting.push_back(*connection);
  }
  EXPECT_EQ(last.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(last.message(), HasSubstr(address.to_string()));
  EXPECT_THAT(last.message(), HasSubstr("200 ms"));
}

TEST_F(AsioTransportTest, SaysThatItHasNoDescriptorToConnectWith) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto connection = connect_and_wait(*transport_, listener_->address());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(connection.status().message(), HasSubstr("Too many open files"));
  EXPECT_TRUE(connect_and_wait(*transport_, listener_->address()).ok());
}

TEST_F(AsioTransportTest, LooksNamesUp) {
  const auto found = connect_and_wait(*transport_, Address{"localhost", listener_->address().port});
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found.status(), Status());
  EXPECT_EQ(Result(found).value()->remote_address().host, "localhost");

  const auto unknown = connect_and_wait(*transport_, Address{"no-such-host.invalid", 1});
  EXPECT_EQ(unknown.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(unknown.status().message(), HasSubstr("no-such-host.invalid:1"));

  const auto listener = transport_->listen(Address{"no-such-host.invalid", 0}, accepted_.handler());
  EXPECT_THAT(listener.status().message(), HasSubstr("no-such-host.invalid:0"));
  const auto elsewhere = transport_->listen(Address{"192.0.2.1", 0}, accepted_.handler());
  EXPECT_THAT(elsewhere.status().message(), HasSubstr("192.0.2.1:0"));
}

TEST_F(AsioTransportTest, GoesOnAcceptingAfterALackOfDescriptors) {
  LogWatch failures("accept_failed");
  LogWatch* const watch = &failures;
  RawSocket peer;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool connected = peer.connect(listener_->address());
  const bool failed = watch->wait();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(connected);
  EXPECT_TRUE(failed);
  EXPECT_NE(accepted_.take(), nullptr);
}

TEST_F(AsioTransportTest, MayHaveItsListenerDestroyedByTheAcceptHandler) {
  std::unique_ptr<Listener> listener;
  Signal signal;
  bool destroyed = false;
  auto second = transport_->listen(kAnyPort, [&](const std::shared_ptr<Connection>&) {
    signal.change([&] {
      listener.reset();
      destroyed = true;
    });
  });
  ASSERT_TRUE(second.ok());
  Address address;
  signal.change([&] {
    listener = std::move(second).value();
    address = listener->address();
  });
  RawSocket peer;
  ASSERT_TRUE(peer.connect(address));
  ASSERT_TRUE(signal.wait_until([&] { return destroyed; }));
  RawSocket late;
  EXPECT_FALSE(late.connect(address));
}

TEST_F(AsioTransportTest, RefusesToConnectWhileItShutsDown) {
  auto connection = connect_and_wait(*transport_, listener_->address());
  ASSERT_TRUE(connection.ok());
  struct Outcome {
    Signal signal;
    std::optional<Status> status;
  };
  const auto outcome = std::make_shared<Outcome>();
  class Reconnecting final : public RecordingHandler {
   public:
    Reconnecting(Transport& transport, Address address, std::shared_ptr<Outcome> outcome)
        : transport_(transport), address_(std::move(address)), outcome_(std::move(outcome)) {}
    void on_closed(const Status&) override {
      transport_.connect(address_, 20s,
                         [outcome = outcome_](const Result<std::shared_ptr<Connection>>& result) {
                           outcome->signal.change([&] { outcome->status = result.status(); });
                         });
    }

   private:
    Transport& transport_;
    const Address address_;
    const std::shared_ptr<Outcome> outcome_;
  };
  connection.value()->start(
      std::make_shared<Reconnecting>(*transport_, listener_->address(), outcome));
  transport_.reset();
  ASSERT_TRUE(outcome->status.has_value());
  EXPECT_EQ(outcome->status->code(), StatusCode::kAborted);
}

TEST_F(AsioTransportTest, SurvivesClientsThatComeAndGo) {
  for (int i = 0; i < 200; ++i) {
    RawSocket peer;
    ASSERT_TRUE(peer.connect(listener_->address()));
    peer.write("GET / HTTP/1.1\r\n\r\n");
    if (i % 2 == 0) peer.reset();
    const auto connection = accepted_.take();
    ASSERT_NE(connection, nullptr);
    const auto events = std::make_shared<RecordingHandler>();
    events->bytes_hook = [](std::string_view) { return data_loss("bad magic"); };
    if (i % 3 != 0) connection->start(events);
    if (i % 3 == 1) {
      ASSERT_TRUE(events->wait_for_close());
    }
  }
}

}  // namespace
}  // namespace freshet
