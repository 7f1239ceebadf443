#include "shuffle/serving_connection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/random.h"
#include "shuffle/pipelined_environment.h"
#include "tests/unit/shuffle/log_capture.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

/// The other end of a data connection, spoken by hand.
class RawConsumer final : public ConnectionHandler {
 public:
  Status on_bytes(std::string_view bytes) override {
    return reader_.on_bytes(bytes, [this](const FrameHeader& header, std::string_view payload) {
      if (header.kind == FrameKind::kBacklog) {
        backlogs.push_back(*decode_backlog(payload));
      } else if (header.kind == FrameKind::kCreditBack) {
        const auto credits = decode_credit_back(payload).value();
        for (const CreditBack& credit : credits) credit_back += credit.bytes;
      } else if (header.kind == FrameKind::kChallenge) {
        challenge = payload;
      } else if (header.kind == FrameKind::kProof) {
        proof = payload;
      } else if (header.kind == FrameKind::kRefusal) {
        refusal = decode_refusal(payload).message();
      } else {
        frames.push_back(header);
        bytes_of_data += payload;
      }
      return Status();
    });
  }
  void on_sent() override {}
  void on_closed(const Status&) override { closed = true; }

  std::vector<FrameHeader> frames;
  std::vector<std::vector<Backlog>> backlogs;
  std::string bytes_of_data;
  uint64_t credit_back = 0;
  std::string challenge;
  std::string proof;
  std::string refusal;
  bool closed = false;

 private:
  FrameReader reader_{FrameOpening::kAny};
};

class ServingConnectionTest : public ::testing::Test {
 protected:
  ServingConnectionTest() {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 4u << 20;
    options.secret = "secret";
    options.timers = &executor_;
    environment_ = *ShuffleEnvironment::create(options, transport_);
    transport_.connect(environment_->data_address(), 1s, [this](auto connection) {
      connection_ = *connection;
      connection_->start(consumer_);
    });
    executor_.run_ready();
  }
  ~ServingConnectionTest() override {
    environment_->shut_down();
    executor_.run_ready();
    connection_ = nullptr;
    EXPECT_EQ(environment_->free_bytes(), environment_->total_bytes());
  }

  void say(const std::string& bytes) {
    auto owner = std::make_shared<std::string>(bytes);
    connection_->send({{*owner, owner}});
    executor_.run_ready();
  }

  std::string hello_frame(const std::string& nonce) {
    std::string frame;
    append_hello({TaskManagerId{2}, nonce}, &frame);
    return frame;
  }

  /// The last word of an introduction; says what comes before.
  std::string hello(const std::string& secret = "secret") {
    handshake_.emplace(SecretHandshake::Options{HandshakeSide::kConnecting, secret, "", ""},
                       *random_);
    say(hello_frame(handshake_->nonce()));
    EXPECT_TRUE(handshake_->meet(consumer_->challenge, to_string(TaskManagerId{2})).ok());
    std::string frame;
    append_proof(handshake_->proof(), &frame);
    return frame;
  }

  /// The one line that is logged when this ends the connection.
  std::string why_refused(const std::string& bytes) {
    LogCapture log;
    say(bytes);
    EXPECT_TRUE(consumer_->closed);
    EXPECT_EQ(log.lines.size(), 1u);
    return log.lines.empty() ? "" : log.lines[0];
  }

  std::string attach(uint32_t credit, uint64_t next_element = 0) {
    Attachment attachment;
    attachment.credit_bytes = credit;
    attachment.producers = {{{0, 1}, 0}};
    if (next_element != 0) attachment.positions = {{0, next_element}};
    std::string frame;
    EXPECT_TRUE(append_attach(1, attachment, &frame).ok());
    return frame;
  }

  std::string credit(uint32_t bytes) {
    std::string frame;
    append_credit({{1, 0, bytes}}, &frame);
    return frame;
  }

  std::shared_ptr<ResultPartition> partition() {
    auto made = environment_->create_partition({});
    EXPECT_TRUE(made.ok());
    return *made;
  }

  uint64_t charged() const {
    uint64_t bytes = 0;
    for (const FrameHeader& frame : consumer_->frames)
      bytes += frame.block_class * kFrameCreditUnitBytes;
    return bytes;
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  const std::unique_ptr<Random> random_ = make_seeded_random(6);
  std::optional<SecretHandshake> handshake_;
  std::shared_ptr<RawConsumer> consumer_ = std::make_shared<RawConsumer>();
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<ShuffleEnvironment> environment_;
};

TEST_F(ServingConnectionTest, NeverSendsDataWithoutCreditWhateverIsGiven) {
  auto random = make_seeded_random(11);
  auto partition = this->partition();
  say(hello() + attach(8 * kSmallBlockBytes));
  uint64_t given = 8 * kSmallBlockBytes;
  for (int step = 0; step < 2000; ++step) {
    const size_t size = random->below(random->one_in(20) ? 20'000 : 600);
    if (partition->available()) {
      partition->begin_record(0, INT64_MIN).write(std::string(size, 'x').data(), size);
      partition->end_record();
      if (random->one_in(3)) partition->flush();
    }
    executor_.run_ready();
    ASSERT_LE(charged(), given);
    const uint64_t used = 8 * kSmallBlockBytes - (given - charged());
    if (used > 0 && random->one_in(2)) {
      const auto bytes = static_cast<uint32_t>(1 + random->below(used));
      given += bytes;
      say(credit(bytes));
    }
    ASSERT_LE(charged(), given);
  }
  EXPECT_GT(consumer_->frames.size(), 500u);
  EXPECT_FALSE(consumer_->closed);
  // Numbers rise without a gap.
  uint64_t next = 0;
  for (const FrameHeader& frame : consumer_->frames) {
    ASSERT_EQ(frame.first_element, next);
    next += frame.elements_started;
  }
  partition->release();
}

TEST_F(ServingConnectionTest, ClosesWhoSaysNoValidHelloInTime) {
  say(hello().substr(0, 10));  // Some bytes of one are none.
  executor_.advance(10s - 1ns);
  EXPECT_FALSE(consumer_->closed);
  executor_.advance(1ns);
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, KeepsWhoSaidHelloAndNothingElse) {
  say(hello());
  executor_.advance(60s);
  EXPECT_FALSE(consumer_->closed);
}

TEST_F(ServingConnectionTest, SendsEventsWithoutCredit) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  for (int i = 0; i < 10; ++i) partition->broadcast_event(ElementKind::kWatermark, "12345678");
  executor_.run_ready();
  EXPECT_EQ(consumer_->frames.size(), 10u);
  partition->release();
}

TEST_F(ServingConnectionTest, SendsInOneFrameWhatWasFlushedWhileItWaited) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  for (int i = 0; i < 5; ++i) {
    partition->begin_record(0, INT64_MIN).write("x", 1);
    partition->end_record();
    partition->flush();
    executor_.run_ready();
  }
  ASSERT_EQ(consumer_->frames.size(), 1u);
  say(credit(kSmallBlockBytes));
  ASSERT_EQ(consumer_->frames.size(), 2u);
  EXPECT_EQ(consumer_->frames[1].first_element, 1u);
  EXPECT_EQ(consumer_->frames[1].elements_started, 4u);
  EXPECT_EQ(consumer_->frames[1].payload_bytes, 8u);
  partition->release();
}

TEST_F(ServingConnectionTest, TellsWhatWaitsOnceForAllChannelsWithoutCredit) {
  ResultPartition::Options options;
  options.subpartitions = 3;
  auto partition = *environment_->create_partition(options);
  std::string attaches = hello();
  for (uint32_t s = 0; s < 3; ++s) {
    Attachment attachment;
    attachment.subpartition = s;
    attachment.credit_bytes = kSmallBlockBytes;
    attachment.producers = {{{0, 1}, 0}};
    ASSERT_TRUE(append_attach(s + 1, attachment, &attaches).ok());
  }
  say(attaches);
  const std::string text(2 * kSmallBlockBytes, 'x');
  for (int round = 0; round < 2; ++round) {
    for (const uint32_t s : {0u, 2u}) {
      partition->begin_record(s, INT64_MIN).write(text.data(), text.size());
      partition->end_record();
    }
    partition->flush();
    executor_.run_ready();
  }
  std::vector<Backlog> told;
  for (const auto& backlog : consumer_->backlogs)
    told.insert(told.end(), backlog.begin(), backlog.end());
  ASSERT_EQ(told.size(), 2u);  // Nothing of the idle one, nothing again.
  std::ranges::sort(told, {}, &Backlog::attachment);
  EXPECT_EQ(told[0].attachment, 1u);
  EXPECT_EQ(told[1].attachment, 3u);
  EXPECT_GE(told[0].bytes, kSmallBlockBytes);
  say(credit(8 * kSmallBlockBytes));  // More than its own: what floats.
  EXPECT_FALSE(consumer_->closed);
  partition->release();
}

TEST_F(ServingConnectionTest, SaysThatMoreFollowsOnlyWhereDataDoes) {
  auto partition = this->partition();
  const auto write = [&] {
    partition->begin_record(0, INT64_MIN).write("x", 1);
    partition->end_record();
  };
  const auto event = [&] { partition->broadcast_event(ElementKind::kWatermark, "12345678"); };
  write();
  event();
  event();
  write();
  event();
  // More than one turn takes, and so does the end of it.
  for (int i = 0; i < 2000; ++i) event();
  say(hello() + attach(2 * kSmallBlockBytes));
  ASSERT_EQ(consumer_->frames.size(), 2005u);
  EXPECT_EQ(consumer_->frames[0].flags, kFrameMoreFollows);
  EXPECT_EQ(consumer_->frames[3].flags, 0);
  for (const FrameHeader& frame : consumer_->frames) {
    if (frame.kind == FrameKind::kEvent) {
      ASSERT_EQ(frame.flags, 0);
    }
  }
  partition->release();
}

TEST_F(ServingConnectionTest, GivesBackTheCreditThatItHasNoUseFor) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  const std::string text(2000, 'x');
  partition->begin_record(0, INT64_MIN).write(text.data(), text.size());
  partition->end_record();
  partition->flush();
  executor_.run_ready();
  ASSERT_EQ(consumer_->backlogs.size(), 1u);
  EXPECT_EQ(consumer_->credit_back, 0u);
  say(credit(1u << 16));
  EXPECT_EQ(consumer_->bytes_of_data.size(), 2002u);
  // All but its own.
  EXPECT_EQ(consumer_->credit_back, kSmallBlockBytes + (1u << 16) - charged() - kSmallBlockBytes);
  // And so does what comes when nothing waits any more.
  const auto in_use = static_cast<uint32_t>(charged());
  say(credit(in_use));
  EXPECT_EQ(consumer_->credit_back, 1u << 16);
  EXPECT_FALSE(consumer_->closed);
  partition->release();
}

TEST_F(ServingConnectionTest, KeepsTheCreditThatItWaitsFor) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  for (int i = 0; i < 3; ++i) {
    const std::string text(2000, 'x');
    partition->begin_record(0, INT64_MIN).write(text.data(), text.size());
    partition->end_record();
  }
  partition->flush();
  executor_.run_ready();
  while (consumer_->bytes_of_data.size() < 3 * 2002u) {
    EXPECT_EQ(consumer_->credit_back, 0u);
    say(credit(kSmallBlockBytes));
  }
  partition->release();
}

TEST_F(ServingConnectionTest, SplitsWhatIsLargerThanTheCredit) {
  auto partition = this->partition();
  say(hello() + attach(2 * kSmallBlockBytes));
  std::string expected;
  for (char c = 'a'; c < 'm'; ++c) {
    const std::string text(100, c);
    partition->begin_record(0, INT64_MIN).write(text.data(), text.size());
    partition->end_record();
    expected += static_cast<char>(100) + text;
  }
  partition->flush();
  executor_.run_ready();
  while (consumer_->bytes_of_data.size() < expected.size()) say(credit(kSmallBlockBytes));
  EXPECT_EQ(consumer_->bytes_of_data, expected);
  uint64_t next = 0;
  for (const FrameHeader& frame : consumer_->frames) {
    EXPECT_LE(frame.payload_bytes, kSmallBlockBytes);
    EXPECT_EQ(frame.first_element, next);
    next += frame.elements_started;
  }
  EXPECT_EQ(next, 12u);
  EXPECT_TRUE(std::ranges::any_of(consumer_->frames, [](const FrameHeader& frame) {
    return (frame.flags & kFrameMoreFollows) != 0;
  }));
  EXPECT_EQ(consumer_->frames.back().flags & kFrameMoreFollows, 0);
  partition->release();
}

TEST_F(ServingConnectionTest, KeepsApartWhatAnEventStandsBetween) {
  auto partition = this->partition();
  for (int i = 0; i < 2; ++i) {
    partition->begin_record(0, INT64_MIN).write("x", 1);
    partition->end_record();
    partition->broadcast_event(ElementKind::kWatermark, "12345678");
  }
  say(hello() + attach(2 * kSmallBlockBytes));
  ASSERT_EQ(consumer_->frames.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(consumer_->frames[i].first_element, i);
    EXPECT_EQ(consumer_->frames[i].kind, i % 2 == 0 ? FrameKind::kData : FrameKind::kEvent);
  }
  partition->release();
}

TEST_F(ServingConnectionTest, GathersRangesOfEndsBehindTheData) {
  auto partition = this->partition();
  partition->begin_record(0, INT64_MIN).write("x", 1);
  partition->end_record();
  partition->end_of_data();
  say(hello() + attach(kSmallBlockBytes));
  ASSERT_EQ(consumer_->frames.size(), 2u);
  EXPECT_EQ(consumer_->frames[0].kind, FrameKind::kData);
  EXPECT_EQ(consumer_->frames[1].kind, FrameKind::kProducersEnded);
  partition->release();
  executor_.run_ready();
  EXPECT_EQ(consumer_->frames.size(), 2u);  // Nothing was lost.
}

TEST_F(ServingConnectionTest, SkipsWhatTheConsumerHas) {
  auto partition = this->partition();
  partition->begin_record(0, INT64_MIN).write("x", 1);
  partition->end_record();
  say(hello() + attach(kSmallBlockBytes, 2));
  partition->begin_record(0, INT64_MIN).write("y", 1);
  partition->end_record();
  partition->begin_record(0, INT64_MIN).write("z", 1);
  partition->end_record();
  partition->flush();
  executor_.run_ready();
  ASSERT_EQ(consumer_->frames.size(), 1u);
  EXPECT_EQ(consumer_->frames[0].kind, FrameKind::kData);
  EXPECT_EQ(consumer_->frames[0].first_element, 2u);
  EXPECT_EQ(consumer_->frames[0].elements_started, 1u);
  EXPECT_EQ(consumer_->frames[0].payload_bytes, 2u);
  partition->release();
}

TEST_F(ServingConnectionTest, RefusesAPositionThatIsGivenAway) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  partition->begin_record(0, INT64_MIN).write("x", 1);
  partition->end_record();
  partition->flush();
  executor_.run_ready();
  ASSERT_EQ(consumer_->frames.size(), 1u);
  std::string detach;
  append_detach(1, &detach);
  say(detach + attach(kSmallBlockBytes));
  ASSERT_EQ(consumer_->frames.size(), 2u);
  EXPECT_EQ(consumer_->frames[1].kind, FrameKind::kAttachReply);
  partition->release();
}

TEST_F(ServingConnectionTest, ClosesOnCreditThatWasNotUsed) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  partition->broadcast_event(ElementKind::kWatermark, "12345678");
  executor_.run_ready();
  say(credit(1));
  EXPECT_TRUE(consumer_->closed);
  partition->release();
}

TEST_F(ServingConnectionTest, ClosesOnAWrongSecret) {
  say(hello("secreT") + attach(kSmallBlockBytes));
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, LogsWhyItRefusesWhoSpeaksAnotherVersion) {
  std::string other = hello_frame(std::string(32, 'n'));
  ++other[kFrameHeaderBytes + 4];
  const std::string line = why_refused(other);
  EXPECT_THAT(line, HasSubstr("data_connection_refused peer=127.0.0.1:"));
  EXPECT_THAT(line, HasSubstr(fmt::format("version {} of the data protocol, and this is {}",
                                          kDataVersion + 1, kDataVersion)));
}

TEST_F(ServingConnectionTest, LogsWhyItRefusesWhoKnowsNoSecret) {
  EXPECT_THAT(why_refused(hello("secreT")),
              HasSubstr("security.secret differs: another TaskManager does not know that of this"));
  EXPECT_THAT(consumer_->refusal, HasSubstr("refused: security.secret differs: another"));
  EXPECT_EQ(consumer_->proof, "");
}

TEST_F(ServingConnectionTest, TellsWhoHasNoSecretThatOneIsDemanded) {
  EXPECT_THAT(why_refused(hello_frame("") + attach(kSmallBlockBytes)),
              HasSubstr("another TaskManager has none, this TaskManager demands one"));
  EXPECT_THAT(consumer_->refusal, HasSubstr("demands one; give the same to every process"));
  EXPECT_EQ(consumer_->challenge, "");
}

TEST_F(ServingConnectionTest, ProvesItselfToWhoHasProvedToKnowTheSecret) {
  say(hello());
  EXPECT_TRUE(handshake_->check(consumer_->proof).ok());
}

TEST_F(ServingConnectionTest, RefusesWhatWasRecordedOfAnotherConnection) {
  const std::string recorded = hello();
  say(recorded);
  const std::string hello_of_it = hello_frame(handshake_->nonce());
  const auto again = std::make_shared<RawConsumer>();
  std::shared_ptr<Connection> connection;
  transport_.connect(environment_->data_address(), 1s, [&](auto made) {
    connection = *made;
    connection->start(again);
  });
  executor_.run_ready();
  std::swap(connection, connection_);
  say(hello_of_it);
  say(recorded);
  std::swap(connection, connection_);
  EXPECT_TRUE(again->closed);
  EXPECT_THAT(again->refusal, HasSubstr("security.secret differs"));
  EXPECT_FALSE(consumer_->closed);
}

TEST_F(ServingConnectionTest, RefusesItsOwnChallenge) {
  std::string mirrored;
  say(hello_frame(std::string(32, 'n')));
  append_proof(consumer_->challenge, &mirrored);
  say(mirrored);
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, TakesNothingLargeBeforeTheProof) {
  say(hello_frame(std::string(32, 'n')));
  FrameHeader header{.payload_bytes = kHelloBytesMax + 1, .kind = FrameKind::kProof};
  std::string start(kFrameHeaderBytes, '\0');
  header.encode_to(start.data());
  say(start);
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, ClosesWhoProvesNothingInTime) {
  hello();
  executor_.advance(10s - 1ns);
  EXPECT_FALSE(consumer_->closed);
  executor_.advance(1ns);
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, LogsWhichRuleWasBroken) {
  EXPECT_THAT(why_refused(hello() + attach(kSmallBlockBytes) + attach(kSmallBlockBytes)),
              HasSubstr("dataset 0, subpartition 0: attachment 1 twice"));
}

TEST_F(ServingConnectionTest, LogsHowMuchCreditWasTooMuch) {
  auto partition = this->partition();
  say(hello() + attach(kSmallBlockBytes));
  partition->broadcast_event(ElementKind::kWatermark, "12345678");
  executor_.run_ready();
  EXPECT_THAT(
      why_refused(credit(100)),
      HasSubstr("dataset 0, subpartition 0: producer 0: 100 bytes of credit more make 1124, "
                "and at most 1024 are possible"));
  partition->release();
}

TEST_F(ServingConnectionTest, LogsNothingOfAConnectionThatIsClosed) {
  say(hello());
  LogCapture log;
  connection_->close();
  executor_.run_ready();
  environment_->shut_down();
  executor_.run_ready();
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(ServingConnectionTest, ClosesWhenHelloDoesNotComeFirst) {
  say(attach(kSmallBlockBytes));
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, ClosesWhoSaysAnythingElseBeforeItIsComplete) {
  FrameHeader header{.payload_bytes = kFramePayloadBytesMax, .kind = FrameKind::kAttach};
  std::string start(kFrameHeaderBytes, '\0');
  header.encode_to(start.data());
  say(start);
  EXPECT_TRUE(consumer_->closed);
}

TEST_F(ServingConnectionTest, ClosesTheOldestOfTooManyStrangers) {
  constexpr size_t kStrangers = 300;  // More than may be there.
  say(hello());                       // Not one of them any more.
  std::vector<std::shared_ptr<RawConsumer>> strangers;
  std::vector<std::shared_ptr<Connection>> connections;
  for (size_t i = 0; i < kStrangers; ++i) {
    strangers.push_back(std::make_shared<RawConsumer>());
    transport_.connect(environment_->data_address(), 1s, [&](auto connection) {
      connections.push_back(*connection);
      connections.back()->start(strangers.back());
    });
    executor_.run_ready();
  }
  EXPECT_FALSE(consumer_->closed);
  const size_t open = kDataStrangersMax;
  for (size_t i = 0; i < kStrangers; ++i)
    EXPECT_EQ(strangers[i]->closed, i < kStrangers - open) << i;
  for (const auto& connection : connections) connection->close();
  executor_.run_ready();
}

TEST_F(ServingConnectionTest, ClosesOnGarbageAndLives) {
  say(hello() + std::string(200, '\xee'));
  EXPECT_TRUE(consumer_->closed);
  bool connected = false;
  transport_.connect(environment_->data_address(), 1s,
                     [&](auto connection) { connected = connection.ok(); });
  executor_.run_ready();
  EXPECT_TRUE(connected);
}

}  // namespace
}  // namespace freshet
