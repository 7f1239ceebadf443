#include "shuffle/peer_connection.h"

#include <gtest/gtest.h>

#include "runtime/base/manual_executor.h"

namespace freshet {
namespace {

const Address kTcp{"127.0.0.1", 4000};
const Address kUnix = Address::parse("unix:@data").value();

/// A connection that does nothing by itself.
class SilentConnection final : public Connection {
 public:
  void start(std::shared_ptr<ConnectionHandler> events) override { handler = std::move(events); }
  void send(std::vector<OutgoingBytes>) override {}
  void close() override {}
  Address local_address() const override { return kTcp; }
  Address remote_address() const override { return kTcp; }

  std::shared_ptr<ConnectionHandler> handler;
};

/// Nobody listens anywhere, but where the test says.
class RefusingTransport final : public Transport {
 public:
  explicit RefusingTransport(Executor& executor) : executor_(executor) {}

  Result<std::unique_ptr<Listener>> listen(const Address&, AcceptHandler) override {
    return unavailable("no ports");
  }
  void connect(const Address& address, Duration, ConnectHandler done) override {
    attempts.push_back(executor_.now());
    addresses.push_back(address);
    executor_.post("answer", [this, address, done = std::move(done)]() mutable {
      if (address != listening) return done(unavailable("refused"));
      connection = std::make_shared<SilentConnection>();
      done(std::shared_ptr<Connection>(connection));
    });
  }

  std::vector<TimePoint> attempts;
  std::vector<Address> addresses;
  Address listening;
  std::shared_ptr<SilentConnection> connection;

 private:
  Executor& executor_;
};

class PeerConnectionTest : public ::testing::Test {
 protected:
  PeerConnectionTest() { connect(std::nullopt); }

  void connect(std::optional<Address> unix_address) {
    transport_.attempts.clear();
    transport_.addresses.clear();
    PeerConnection::Options options;
    options.transport = &transport_;
    options.address = kTcp;
    options.unix_address = std::move(unix_address);
    options.fallback_logged = fallback_logged_;
    options.timers = &executor_;
    options.unconfirmed_sends = std::make_shared<std::atomic<int64_t>>(0);
    options.on_closed = [this](const PeerConnection*) { closed_ = true; };
    connection_ = std::make_shared<PeerConnection>(std::move(options));
    connection_->connect();
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  RefusingTransport transport_{executor_};
  bool closed_ = false;
  const std::shared_ptr<std::atomic<bool>> fallback_logged_ =
      std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<PeerConnection> connection_;
};

TEST_F(PeerConnectionTest, PausesBetweenItsAttemptsToConnect) {
  const TimePoint start = clock_.now();
  executor_.advance(299ms);
  EXPECT_FALSE(closed_);
  executor_.advance(1ms);
  EXPECT_EQ(transport_.attempts,
            (std::vector<TimePoint>{start, start + Duration(100ms), start + Duration(300ms)}));
  EXPECT_TRUE(closed_);
}

TEST_F(PeerConnectionTest, TriesNoMoreOnceItIsClosed) {
  executor_.advance(50ms);
  connection_->close();
  executor_.advance(10s);
  EXPECT_EQ(transport_.attempts.size(), 1u);
  EXPECT_TRUE(closed_);
}

TEST_F(PeerConnectionTest, TakesTheUnixSocketWhenThereIsOne) {
  executor_.advance(10s);
  transport_.listening = kUnix;
  connect(kUnix);
  executor_.run_ready();
  EXPECT_EQ(transport_.addresses, (std::vector<Address>{kUnix}));
  EXPECT_NE(transport_.connection, nullptr);
  EXPECT_FALSE(*fallback_logged_);
  transport_.connection->handler->on_closed(Status());
}

TEST_F(PeerConnectionTest, FallsBackToTcpAndSaysSoOnce) {
  executor_.advance(10s);
  transport_.listening = kTcp;
  connect(kUnix);
  executor_.run_ready();
  EXPECT_EQ(transport_.addresses, (std::vector<Address>{kUnix, kTcp}));
  EXPECT_NE(transport_.connection, nullptr);
  EXPECT_TRUE(*fallback_logged_);
  transport_.connection->handler->on_closed(Status());
}

TEST_F(PeerConnectionTest, BlamesNoUnixSocketOfAPeerThatIsGone) {
  executor_.advance(10s);
  connect(kUnix);
  executor_.advance(10s);
  EXPECT_EQ(transport_.addresses, (std::vector<Address>{kUnix, kTcp, kTcp, kTcp}));
  EXPECT_FALSE(*fallback_logged_);
}

}  // namespace
}  // namespace freshet
