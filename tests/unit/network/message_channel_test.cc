#include "network/message_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/random.h"
#include "tests/contract/recording_handler.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string frame(std::string_view payload) {
  std::string bytes(8, 0);
  const auto size = static_cast<uint32_t>(payload.size());
  std::memcpy(bytes.data(), &kControlMagic, 4);
  std::memcpy(bytes.data() + 4, &size, 4);
  return bytes.append(payload);
}

class RecordingChannelHandler : public MessageChannel::Handler {
 public:
  std::function<void(const std::shared_ptr<MessageChannel>&)> message_hook;
  std::vector<std::string> messages;
  std::vector<Status> closed;

  void on_message(const std::shared_ptr<MessageChannel>& channel, std::string payload) override {
    messages.push_back(std::move(payload));
    if (message_hook) message_hook(channel);
  }
  void on_closed(const std::shared_ptr<MessageChannel>&, const Status& why) override {
    closed.push_back(why);
  }
};

/// A channel whose peer is a bare connection. The mailbox has an executor of its own.
class MessageChannelTest : public testing::Test {
 protected:
  MessageChannelTest() { reconnect(); }

  ~MessageChannelTest() override {
    on_mailbox([this] { channel_->detach(); });
    run();
  }

  void reconnect(uint32_t bytes_max = kMessageBytesMax) {
    if (channel_) {
      on_mailbox([this] { channel_->detach(); });
      run();
    }
    listener_.reset();
    auto listener = transport_.listen(
        Address{"127.0.0.1", 0},
        [this](std::shared_ptr<Connection> connection) { connection_ = std::move(connection); });
    listener_ = std::move(listener).value();
    transport_.connect(listener_->address(), 1s,
                       [this](Result<std::shared_ptr<Connection>> result) { peer_ = *result; });
    run();
    peer_events_ = std::make_shared<RecordingHandler>();
    handler_ = RecordingChannelHandler();
    peer_->start(peer_events_);
    on_mailbox(
        [&] { channel_ = MessageChannel::open(connection_, mailbox_, handler_, bytes_max); });
  }

  void on_mailbox(std::function<void()> function) {
    mailbox_.post("test", std::move(function));
    while (mail_executor_.next_name() != "test") mail_executor_.run_one();
    mail_executor_.run_one();
  }

  /// Until both executors have nothing to do.
  void run() {
    while (io_executor_.run_ready() + mail_executor_.run_ready() > 0) {
    }
  }

  void send_raw(std::string bytes) {
    peer_->send(outgoing(std::move(bytes)));
    run();
  }

  ManualClock clock_;
  ManualExecutor io_executor_{clock_};
  ManualExecutor mail_executor_{clock_};
  Mailbox mailbox_{mail_executor_};
  LocalTransport transport_{io_executor_};
  std::unique_ptr<Listener> listener_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Connection> peer_;
  std::shared_ptr<RecordingHandler> peer_events_;
  RecordingChannelHandler handler_;
  std::shared_ptr<MessageChannel> channel_;
};

TEST_F(MessageChannelTest, FindsMessagesCutAtEveryByte) {
  const std::string bytes = frame("first") + frame("") + frame("third message");
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    reconnect();
    send_raw(bytes.substr(0, cut));
    send_raw(bytes.substr(cut));
    ASSERT_THAT(handler_.messages, ElementsAre("first", "", "third message")) << cut;
  }
}

TEST_F(MessageChannelTest, FindsMessagesThatComeByteByByte) {
  for (const char byte : frame("first") + frame("second")) send_raw(std::string(1, byte));
  EXPECT_THAT(handler_.messages, ElementsAre("first", "second"));
}

TEST_F(MessageChannelTest, DeliversOnTheMailboxOnly) {
  bool on_mailbox_thread = false;
  handler_.message_hook = [&](const auto&) { on_mailbox_thread = mail_executor_.on_thread(); };
  peer_->send(outgoing(frame("x")));
  io_executor_.run_ready();
  EXPECT_TRUE(handler_.messages.empty());
  mail_executor_.run_ready();
  EXPECT_THAT(handler_.messages, ElementsAre("x"));
  EXPECT_TRUE(on_mailbox_thread);
}

TEST_F(MessageChannelTest, SendsWhatIsQueuedInOneGatheredSendPerConfirmation) {
  int sends = 0;
  peer_events_->bytes_hook = [&](std::string_view) { return Status(); };
  on_mailbox([this] {
    for (const char* text : {"a", "b", "c"}) channel_->send(text);
  });
  while (io_executor_.ready_count() + mail_executor_.ready_count() > 0) {
    if (io_executor_.next_name() == "local_bytes") ++sends;
    io_executor_.run_one();
    mail_executor_.run_one();
  }
  EXPECT_EQ(peer_events_->received(), frame("a") + frame("b") + frame("c"));
  EXPECT_EQ(sends, 2);  // The first at once, the others together.
}

TEST_F(MessageChannelTest, ClosesWhenTheMagicIsWrong) {
  send_raw(frame("good") + "GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(handler_.messages, ElementsAre("good"));
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_EQ(handler_.closed[0].code(), StatusCode::kDataLoss);
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr(channel_->remote_address().to_string()));
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr("not a Freshet control message"));
  EXPECT_TRUE(peer_events_->closed().has_value());
}

TEST_F(MessageChannelTest, ClosesWhenAMessageIsTooLarge) {
  std::string header = frame("");
  const uint32_t size = kMessageBytesMax + 1;
  std::memcpy(header.data() + 4, &size, 4);
  send_raw(header);
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_THAT(handler_.closed[0].message(),
              HasSubstr("a message of 67108865 bytes; at most 67108864"));
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr(channel_->remote_address().to_string()));
}

TEST_F(MessageChannelTest, ClosesWhenAStrangerSaysTooMuch) {
  reconnect(100);
  send_raw(frame(std::string(100, 'a')));
  on_mailbox([this] { channel_->take_large_messages(); });
  send_raw(frame(std::string(101, 'b')));
  EXPECT_EQ(handler_.messages.size(), 2u);
  EXPECT_TRUE(handler_.closed.empty());
  reconnect(100);  // Also not after something short.
  send_raw(frame("a") + frame(std::string(101, 'a')).substr(0, 8));
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr("a message of 101 bytes; at most 100"));
}

TEST_F(MessageChannelTest, SurvivesGarbage) {
  const auto random = make_seeded_random(3);
  for (int round = 0; round < 300; ++round) {
    reconnect();
    std::string bytes = frame("first") + frame(std::string(50, 'x'));
    const size_t damaged = random->below(4);
    for (size_t i = 0; i < damaged; ++i)
      bytes[random->below(bytes.size())] = static_cast<char>(random->next());
    const size_t cut = random->below(bytes.size());
    send_raw(bytes.substr(0, cut));
    if (!peer_events_->closed().has_value()) send_raw(bytes.substr(cut));
    ASSERT_LE(handler_.messages.size(), 2u);
    if (damaged == 0) {
      ASSERT_EQ(handler_.messages.size(), 2u);
    }
  }
}

TEST_F(MessageChannelTest, TellsAnEndInsideAMessage) {
  send_raw(frame("whole") + frame("cut").substr(0, 9));
  peer_->close();
  run();
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_EQ(handler_.closed[0].code(), StatusCode::kDataLoss);
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr("inside a message"));
}

TEST_F(MessageChannelTest, TellsAnOrderlyEnd) {
  send_raw(frame("bye"));
  peer_->close();
  run();
  EXPECT_THAT(handler_.messages, ElementsAre("bye"));
  EXPECT_THAT(handler_.closed, ElementsAre(Status()));
}

TEST_F(MessageChannelTest, ClosesWhenThePeerDoesNotTakeItsMessages) {
  on_mailbox([this] {
    for (int i = 0; i < 5; ++i) channel_->send(std::string(kMessageBytesMax - 8, 'x'));
    EXPECT_TRUE(handler_.closed.empty());
  });
  run();
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_EQ(handler_.closed[0].code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr(channel_->remote_address().to_string()));
}

TEST_F(MessageChannelTest, SendsMoreThanTheBoundWhenThePeerTakesIt) {
  for (int i = 0; i < 6; ++i) {
    on_mailbox([this] { channel_->send(std::string(kMessageBytesMax, 'x')); });
    peer_events_->keeps_bytes = false;
    run();
  }
  EXPECT_EQ(peer_events_->received_bytes(), 6ull * (kMessageBytesMax + 8));
  EXPECT_TRUE(handler_.closed.empty());
}

TEST_F(MessageChannelTest, RefusesToSendAMessageThatIsTooLarge) {
  on_mailbox([this] { channel_->send(std::string(kMessageBytesMax + 1, 'x')); });
  run();
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_THAT(handler_.closed[0].message(), HasSubstr("cannot be sent"));
}

TEST_F(MessageChannelTest, ClosesWhenTheMailboxDoesNotTakeTheMessages) {
  for (int i = 0; i < 5; ++i) {
    peer_->send(outgoing(frame(std::string(kMessageBytesMax - 8, 'x'))));
    io_executor_.run_ready();
  }
  run();
  EXPECT_EQ(handler_.messages.size(), 4u);
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_EQ(handler_.closed[0].code(), StatusCode::kResourceExhausted);
}

TEST_F(MessageChannelTest, SendsWhatIsQueuedBeforeItCloses) {
  on_mailbox([this] {
    channel_->send("one");
    channel_->send("two");
    channel_->close_after_sending(1s);
    channel_->send("too late");
  });
  run();
  EXPECT_EQ(peer_events_->received(), frame("one") + frame("two"));
  EXPECT_EQ(peer_events_->closed(), Status());
  ASSERT_EQ(handler_.closed.size(), 1u);
  EXPECT_EQ(handler_.closed[0].code(), StatusCode::kAborted);
  EXPECT_EQ(mail_executor_.next_timer(), std::nullopt);
}

TEST_F(MessageChannelTest, SendsWhatIsQueuedWhenNobodyHoldsItAnyMore) {
  on_mailbox([this] {
    channel_->send("refused");
    channel_->send("really");
    channel_->close_after_sending(1s);
  });
  std::weak_ptr<MessageChannel> weak = channel_;
  channel_.reset();
  connection_.reset();
  run();
  EXPECT_EQ(peer_events_->received(), frame("refused") + frame("really"));
  EXPECT_EQ(handler_.closed.size(), 1u);
  EXPECT_TRUE(weak.expired());
  reconnect();
}

TEST_F(MessageChannelTest, ClosesAtOnceWhenNothingIsQueued) {
  on_mailbox([this] { channel_->close_after_sending(1h); });
  run();
  EXPECT_EQ(handler_.closed.size(), 1u);
}

TEST_F(MessageChannelTest, LingersNoLongerThanTold) {
  reconnect();
  on_mailbox([this] {
    channel_->send("never taken");
    channel_->close_after_sending(3s);
  });
  mail_executor_.advance(
      2999ms);  // The connection's executor does not run: the peer takes nothing.
  EXPECT_TRUE(handler_.closed.empty());
  mail_executor_.advance(1ms);
  run();
  EXPECT_EQ(peer_events_->received(), "");
  EXPECT_EQ(handler_.closed.size(), 1u);
}

TEST_F(MessageChannelTest, DeliversNoMessageAfterItsOwnClose) {
  handler_.message_hook = [](const std::shared_ptr<MessageChannel>& channel) { channel->close(); };
  send_raw(frame("one") + frame("two"));
  EXPECT_THAT(handler_.messages, ElementsAre("one"));
  EXPECT_EQ(handler_.closed.size(), 1u);
}

TEST_F(MessageChannelTest, TellsNothingAfterDetach) {
  on_mailbox([this] { channel_->send("unsent"); });
  peer_->send(outgoing(frame("one") + frame("two")));
  io_executor_.run_ready();  // Everything is in the mailbox now.
  handler_.message_hook = [](const std::shared_ptr<MessageChannel>& channel) { channel->detach(); };
  run();
  EXPECT_THAT(handler_.messages, ElementsAre("one"));
  EXPECT_TRUE(handler_.closed.empty());
  EXPECT_TRUE(peer_events_->closed().has_value());
}

TEST_F(MessageChannelTest, MayOutliveHandlerAndMailboxOnceDetached) {
  std::shared_ptr<MessageChannel> channel;
  {
    RecordingChannelHandler handler;
    auto mailbox = std::make_unique<Mailbox>(mail_executor_);
    std::shared_ptr<Connection> connection;
    transport_.connect(listener_->address(), 1s,
                       [&](Result<std::shared_ptr<Connection>> result) { connection = *result; });
    run();
    on_mailbox([&] {
      channel = MessageChannel::open(connection, *mailbox, handler);
      channel->send("x");
      channel->close_after_sending(1s);
      channel->detach();
    });
  }
  run();
  mail_executor_.advance(2s);
  run();
  std::weak_ptr<MessageChannel> weak = channel;
  channel.reset();
  EXPECT_TRUE(weak.expired());
}

}  // namespace
}  // namespace freshet
