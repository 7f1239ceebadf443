#include "network/local_transport.h"

#include <gtest/gtest.h>

#include "runtime/base/manual_executor.h"
#include "tests/contract/recording_handler.h"

namespace freshet {
namespace {

class LocalTransportTest : public testing::Test {
 protected:
  LocalTransportTest() {
    auto listener = transport_.listen(
        Address{"localhost", 0},
        [this](std::shared_ptr<Connection> connection) { server_ = std::move(connection); });
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
  }

  void connect() {
    transport_.connect(listener_->address(), 1s,
                       [this](Result<std::shared_ptr<Connection>> result) { client_ = *result; });
    executor_.run_ready();
    client_->start(client_events_);
    server_->start(server_events_);
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Connection> client_;
  std::shared_ptr<Connection> server_;
  const std::shared_ptr<RecordingHandler> client_events_ = std::make_shared<RecordingHandler>();
  const std::shared_ptr<RecordingHandler> server_events_ = std::make_shared<RecordingHandler>();
};

TEST_F(LocalTransportTest, RunsEveryEventOnItsExecutor) {
  connect();
  int inside = 0;
  server_events_->bytes_hook = [&](std::string_view) {
    inside += executor_.on_thread();
    return Status();
  };
  client_events_->sent_hook = [&] { inside += executor_.on_thread(); };
  client_->send(outgoing("x"));
  EXPECT_EQ(server_events_->received(), "");
  executor_.run_ready();
  EXPECT_EQ(inside, 2);
}

TEST_F(LocalTransportTest, PassesTheBytesThemselves) {
  connect();
  const auto text = std::make_shared<std::string>("the same memory");
  const char* seen = nullptr;
  server_events_->bytes_hook = [&](std::string_view bytes) {
    seen = bytes.data();
    return Status();
  };
  client_->send({OutgoingBytes{*text, text}});
  executor_.run_ready();
  EXPECT_EQ(seen, text->data());
  EXPECT_EQ(text.use_count(), 1);
}

TEST_F(LocalTransportTest, ConfirmsWhatThePeerConsumedAndNotBefore) {
  transport_.connect(listener_->address(), 1s,
                     [this](Result<std::shared_ptr<Connection>> result) { client_ = *result; });
  executor_.run_ready();
  client_->start(client_events_);
  client_->send(outgoing("x"));
  executor_.run_ready();
  EXPECT_EQ(client_events_->sent(), 0);
  server_->start(server_events_);
  executor_.run_ready();
  EXPECT_EQ(client_events_->sent(), 1);
  EXPECT_EQ(server_events_->received(), "x");
}

TEST_F(LocalTransportTest, LosesAtCloseWhatWasNotConfirmed) {
  connect();
  client_->send(outgoing("x"));
  client_->close();
  executor_.run_ready();
  EXPECT_EQ(server_events_->received(), "");
  EXPECT_EQ(server_events_->closed(), Status());
  EXPECT_EQ(client_events_->sent(), 0);
}

TEST_F(LocalTransportTest, ListensAgainUnderTheSameNumber) {
  const Address address = listener_->address();
  EXPECT_EQ(address.host, "localhost");
  EXPECT_FALSE(transport_.listen(Address{"127.0.0.1", address.port}, [](const auto&) {}).ok());
  listener_.reset();
  EXPECT_TRUE(transport_.listen(Address{"127.0.0.1", address.port}, [](const auto&) {}).ok());
}

TEST_F(LocalTransportTest, LeavesNothingBehindWhenItsExecutorStops) {
  connect();
  struct Self : RecordingHandler {
    std::shared_ptr<Connection> connection;
  };
  const auto handler = std::make_shared<Self>();
  const std::weak_ptr<Self> weak = handler;
  std::shared_ptr<Connection> connection;
  transport_.connect(listener_->address(), 1s,
                     [&](Result<std::shared_ptr<Connection>> result) { connection = *result; });
  executor_.run_ready();
  handler->connection = connection;
  connection->start(handler);
  connection->send(outgoing("x"));
  executor_.stop();
  connection->close();
  connection.reset();
  const_cast<std::shared_ptr<Self>&>(handler).reset();
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace freshet
