#include "shuffle/peer_connection.h"

#include <gtest/gtest.h>

#include "runtime/base/manual_executor.h"

namespace freshet {
namespace {

/// Nobody listens anywhere.
class RefusingTransport final : public Transport {
 public:
  explicit RefusingTransport(Executor& executor) : executor_(executor) {}

  Result<std::unique_ptr<Listener>> listen(const Address&, AcceptHandler) override {
    return unavailable("no ports");
  }
  void connect(const Address&, Duration, ConnectHandler done) override {
    attempts.push_back(executor_.now());
    executor_.post("refuse", [done = std::move(done)]() mutable { done(unavailable("refused")); });
  }

  std::vector<TimePoint> attempts;

 private:
  Executor& executor_;
};

class PeerConnectionTest : public ::testing::Test {
 protected:
  PeerConnectionTest() {
    PeerConnection::Options options;
    options.transport = &transport_;
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

}  // namespace
}  // namespace freshet
