#include "shuffle/peer_connection.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  ~PeerConnectionTest() override {
    if (transport_.connection) transport_.connection->handler = nullptr;  // Each owns the other.
  }

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

/// With a gate of one producer, whose frames come by hand.
class PeerFramesTest : public PeerConnectionTest {
 protected:
  PeerFramesTest() {
    executor_.advance(10s);
    transport_.listening = kTcp;
    connect(std::nullopt);
    executor_.run_ready();
    const auto source = std::make_shared<GateInbox::Source>();
    source->attachment.credit_bytes = 64 << 10;
    source->attachment.producers = {{{0, 1}, 0}};
    inbox_->add(source);
    attachment_ = connection_->attach(inbox_, source).value();
  }
  ~PeerFramesTest() override {
    transport_.connection->handler->on_closed(Status());
    GateInbox::Arrivals arrivals;
    inbox_->take(&arrivals);
    arrivals.clear();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  std::string frame(uint64_t element, const std::string& payload) const {
    FrameHeader header;
    header.payload_bytes = static_cast<uint32_t>(payload.size());
    header.attachment = attachment_;
    header.first_element = element;
    header.elements_started = 1;
    header.block_class =
        static_cast<uint16_t>(block_bytes_for(header.payload_bytes) / kSmallBlockBytes);
    return encoded(header) + payload;
  }
  static std::string encoded(const FrameHeader& header) {
    std::string bytes(kFrameHeaderBytes, 0);
    header.encode_to(bytes.data());
    return bytes;
  }
  /// As a transport gives them that reads into place.
  Status feed(std::string_view bytes) {
    ConnectionHandler& handler = *transport_.connection->handler;
    const std::span<char> place = handler.next_place();
    const std::string_view first = bytes.substr(0, place.size());
    std::ranges::copy(first, place.begin());
    if (!first.empty()) RETURN_IF_ERROR(handler.on_bytes({place.data(), first.size()}));
    if (first.size() == bytes.size()) return Status();
    return handler.on_bytes(bytes.substr(first.size()));
  }
  std::vector<std::string> taken() {
    GateInbox::Arrivals arrivals;
    inbox_->take(&arrivals);
    std::vector<std::string> payloads;
    for (const auto& arrived : arrivals.buffers) payloads.emplace_back(arrived.buffer.bytes());
    return payloads;
  }

  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(8 * kLargeBlockBytes);
  std::shared_ptr<GateInbox> inbox_ =
      std::make_shared<GateInbox>(GateInbox::Options{DatasetId{1}, pool_, 0, nullptr, nullptr});
  uint32_t attachment_ = 0;
};

TEST_F(PeerFramesTest, FreesTheBlockOfAPayloadThatIsCutByTheEnd) {
  const std::string bytes = frame(0, std::string(20'000, 'x'));
  ASSERT_TRUE(feed(bytes.substr(0, 5'000)).ok());
  EXPECT_LT(pool_->free_bytes(), pool_->total_bytes());
  ASSERT_TRUE(feed(bytes.substr(5'000, 5'000)).ok());
  EXPECT_EQ(transport_.connection->handler->next_place().size(), bytes.size() - 10'000);
  transport_.connection->handler->on_closed(unavailable("gone"));
  EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
}

TEST_F(PeerFramesTest, DropsAPayloadWhoseGateIsDetachedInItsMiddle) {
  const std::string bytes = frame(0, std::string(20'000, 'x'));
  ASSERT_TRUE(feed(bytes.substr(0, 5'000)).ok());
  connection_->detach(attachment_);
  ASSERT_TRUE(feed(bytes.substr(5'000)).ok());
  EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  ASSERT_TRUE(feed(bytes.substr(0, 5'000)).ok());  // Of a gate that is detached: no block at all.
  EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  ASSERT_TRUE(feed(bytes.substr(5'000)).ok());
  EXPECT_TRUE(taken().empty());
}

TEST_F(PeerFramesTest, PutsAFrameThatIsCutAnywhereTogether) {
  const std::string first = frame(0, std::string(2'500, 'a'));
  const std::string second = frame(1, std::string(5'000, 'b'));
  uint64_t element = 0;
  for (size_t cut = 1; cut < first.size() + second.size(); cut += 17) {
    const std::string bytes =
        frame(element, std::string(2'500, 'a')) + frame(element + 1, std::string(5'000, 'b'));
    element += 2;
    ASSERT_TRUE(feed(bytes.substr(0, cut)).ok()) << cut;
    ASSERT_TRUE(feed(bytes.substr(cut)).ok()) << cut;
    EXPECT_EQ(taken(),
              (std::vector<std::string>{std::string(2'500, 'a'), std::string(5'000, 'b')}));
    std::vector<CreditReturn> credits = {{0, 0, 4'096 + 32'768}};
    inbox_->add_credit(&credits);
  }
}

TEST_F(PeerFramesTest, RefusesAWrongFrameOnceItIsWhole) {
  std::string bytes = frame(7, std::string(20'000, 'x'));  // Element 7 instead of 0.
  ASSERT_TRUE(feed(bytes.substr(0, 5'000)).ok());
  EXPECT_EQ(feed(bytes.substr(5'000)).code(), StatusCode::kDataLoss);
}

TEST_F(PeerFramesTest, SaysWhichAttachmentDoesNotExist) {
  FrameHeader header;
  header.attachment = attachment_ + 70;
  EXPECT_EQ(
      feed(encoded(header)).message(),
      "a frame for attachment " + std::to_string(attachment_ + 70) + ", which does not exist");
}

TEST_F(PeerFramesTest, SaysWhichKindOfFrameNoProducerSends) {
  FrameHeader header;
  header.attachment = attachment_;
  header.kind = FrameKind::kCredit;
  EXPECT_EQ(feed(encoded(header)).message(), "a frame of kind credit from a producer");
}

}  // namespace
}  // namespace freshet
