#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "network/frame.h"
#include "shuffle/pipelined_partition.h"
#include "shuffle/segment_pool.h"
#include "shuffle/serving_connection.h"
#include "tests/unit/shuffle/counting_reader.h"

namespace freshet {
namespace {

constexpr uint32_t kConsumers = 1000;
constexpr uint32_t kBusy = 500;
constexpr uint32_t kIdle = 0;

/// One gathered send.
struct Send {
  size_t pieces = 0;
  std::vector<FrameHeader> frames;
};

/// Keeps what is sent; each send is confirmed by hand.
class KeepingConnection final : public Connection {
 public:
  void start(std::shared_ptr<ConnectionHandler> handler) override { handler_ = std::move(handler); }
  void send(std::vector<OutgoingBytes> pieces) override {
    ASSERT_FALSE(under_way_) << "two sends at once";
    under_way_ = true;
    Send& sent = sends.emplace_back();
    sent.pieces = pieces.size();
    for (const OutgoingBytes& piece : pieces) {
      EXPECT_TRUE(reader_
                      .on_bytes(piece.bytes,
                                [&](const FrameHeader& header, std::string_view) {
                                  sent.frames.push_back(header);
                                  return Status();
                                })
                      .ok());
    }
    EXPECT_TRUE(reader_.at_boundary());
  }
  void close() override {
    if (auto handler = std::move(handler_)) handler->on_closed(aborted("closed"));
  }
  Address local_address() const override { return {"127.0.0.1", 1}; }
  Address remote_address() const override { return {"127.0.0.1", 2}; }

  void confirm() {
    under_way_ = false;
    handler_->on_sent();
  }
  bool under_way() const { return under_way_; }
  void hear(const std::string& bytes) { EXPECT_TRUE(handler_->on_bytes(bytes).ok()); }

  std::vector<Send> sends;

 private:
  std::shared_ptr<ConnectionHandler> handler_;
  FrameReader reader_{FrameOpening::kAny};
  bool under_way_ = false;
};

/// A partition that one connection serves to all its consumers; attachment s is of consumer s.
class ServingTurnsTest : public ::testing::Test {
 protected:
  ServingTurnsTest() {
    ServingConnection::Context context;
    context.index = index_;
    context.handshake = std::make_shared<SecretHandshake>(
        SecretHandshake::Options{HandshakeSide::kAccepting, "", "", ""}, *make_seeded_random(1));
    context.unconfirmed_sends = std::make_shared<std::atomic<int64_t>>(0);
    serving_ = std::make_shared<ServingConnection>(connection_, std::move(context));
    serving_->start();
    ResultPartition::Options options;
    options.subpartitions = kConsumers;
    options.log_position = [this] { return ++closed_buffers_; };
    PipelinedPartition::Context partition;
    partition.pool = pool_;
    partition.index = index_;
    partition.claim = {16u << 20, 0};
    partition.shares = std::make_shared<MemoryShares>(pool_->total_bytes());
    partition_ = *PipelinedPartition::create(options, std::move(partition));
    std::string hello;
    append_hello({TaskManagerId{2}, ""}, &hello);
    connection_->hear(hello);
  }
  ~ServingTurnsTest() override {
    partition_->release();
    connection_->close();
    EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  }

  void attach(uint32_t consumer, uint32_t credit_bytes = kCreditBytesMax) {
    Attachment attachment;
    attachment.subpartition = consumer;
    attachment.consumer = AttemptId{{}, SubtaskId{VertexId{1}, consumer}, 0};
    attachment.credit_bytes = credit_bytes;
    attachment.producers = {{{0, 1}, 0}};
    std::string frame;
    EXPECT_TRUE(append_attach(consumer, attachment, &frame).ok());
    connection_->hear(frame);
  }

  void write(uint32_t consumer, size_t bytes) {
    partition_->begin_record(consumer, kNoTimestamp).write(std::string(bytes, 'x').data(), bytes);
    partition_->end_record();
  }

  /// Of all that was sent, which is forgotten. How much of it was one consumer's.
  uint64_t give_back_credit(uint32_t consumer) {
    uint64_t bytes = 0;
    std::vector<CreditReturn> credits;
    for (const Send& sent : std::exchange(connection_->sends, {})) {
      for (const FrameHeader& frame : sent.frames) {
        const uint32_t charge = frame.block_class * kFrameCreditUnitBytes;
        if (charge != 0) credits.push_back({frame.attachment, 0, charge});
        if (frame.attachment == consumer) bytes += frame.payload_bytes;
      }
    }
    std::string frame;
    append_credit(credits, &frame);
    connection_->hear(frame);
    return bytes;
  }

  const std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>(32u << 20);
  const std::shared_ptr<DatasetIndex> index_ = std::make_shared<DatasetIndex>();
  const std::shared_ptr<KeepingConnection> connection_ = std::make_shared<KeepingConnection>();
  std::shared_ptr<ServingConnection> serving_;
  std::shared_ptr<ResultPartition> partition_;
  uint64_t closed_buffers_ = 0;
};

TEST_F(ServingTurnsTest, ThinChannelWaitsForOneTurnOfAFatOneAndNoMore) {
  constexpr uint32_t kFat = 1;
  constexpr uint32_t kThin = 2;
  attach(kFat);
  attach(kThin);
  for (int round = 0; round < 20; ++round) {
    write(kFat, 900'000);
    write(kThin, 100);
    partition_->flush();
    const size_t before = connection_->sends.size();
    while (connection_->under_way()) connection_->confirm();
    // In the first send that began when it was there.
    ASSERT_GT(connection_->sends.size(), before);
    uint64_t passed_by = 0;
    bool found = false;
    for (const FrameHeader& frame : connection_->sends[before].frames) {
      found = frame.attachment == kThin;
      if (found) break;
      passed_by += frame.payload_bytes;
    }
    ASSERT_TRUE(found) << round;
    EXPECT_LE(passed_by, 2 * kLargeBlockBytes);  // It ends with the buffer that fills the turn.
    EXPECT_GE(give_back_credit(kFat), 900'000u);
  }
}

TEST_F(ServingTurnsTest, SpareCreditIsKeptWhenItIsNeededBeforeItWasGivenBack) {
  attach(1, kSmallBlockBytes);
  const auto confirm_all = [&] {
    while (connection_->under_way()) connection_->confirm();
  };
  write(1, 2000);
  partition_->flush();
  confirm_all();
  std::string credit;
  append_credit({{1, 0, 64u << 10}}, &credit);
  connection_->hear(credit);  // The rest leaves, and much is to spare then.
  ASSERT_TRUE(connection_->under_way());
  write(1, 9000);
  partition_->flush();
  confirm_all();
  std::vector<FrameKind> last;  // Kinds of all frames, equal neighbours once.
  uint64_t bytes = 0;
  for (const Send& sent : connection_->sends) {
    for (const FrameHeader& frame : sent.frames) {
      if (frame.kind == FrameKind::kData) bytes += frame.payload_bytes;
      if (last.empty() || last.back() != frame.kind) last.push_back(frame.kind);
    }
  }
  EXPECT_EQ(bytes, 2002u + 9002u);  // A header of two bytes for each.
  EXPECT_EQ(last, (std::vector<FrameKind>{FrameKind::kData, FrameKind::kBacklog, FrameKind::kData,
                                          FrameKind::kCreditBack}));
}

TEST_F(ServingTurnsTest, ManySmallBuffersLeaveInOneSend) {
  for (uint32_t s = 0; s < kConsumers; ++s) attach(s);
  write(kBusy, 10);
  partition_->flush();
  ASSERT_EQ(connection_->sends.size(), 1u);  // Not confirmed yet.
  for (uint32_t s = 0; s < kConsumers; ++s) write(s, 10);
  partition_->flush();
  ASSERT_EQ(connection_->sends.size(), 1u);
  connection_->confirm();
  ASSERT_EQ(connection_->sends.size(), 2u);
  EXPECT_EQ(connection_->sends[1].frames.size(), kConsumers);
  EXPECT_EQ(connection_->sends[1].pieces, 1u);
  connection_->confirm();
  EXPECT_EQ(connection_->sends.size(), 2u);  // Nothing more, and no empty one.
}

TEST_F(ServingTurnsTest, AFlushOfManyChannelsIsOneSendWhenNoneIsUnderWay) {
  for (uint32_t s = 0; s < kConsumers; ++s) attach(s);
  for (uint32_t s = 0; s < kConsumers; ++s) write(s, 10);
  partition_->flush();
  ASSERT_EQ(connection_->sends.size(), 1u);
  EXPECT_EQ(connection_->sends[0].frames.size(), kConsumers);
}

TEST_F(ServingTurnsTest, ReaderIsToldOncePerTransitionFromNothingToSomething) {
  const auto reader = std::make_shared<CountingReader>(kBusy);
  ASSERT_TRUE(index_->attach(reader).ok());
  for (uint64_t round = 1; round <= 10; ++round) {
    for (int i = 0; i < 50; ++i) {
      write(kBusy, 200);
      if (i % 7 == 0) partition_->flush();
      if (i % 20 == 0) partition_->broadcast_event(ElementKind::kWatermark, "12345678");
    }
    partition_->flush();
    partition_->flush();  // Nothing new.
    EXPECT_EQ(reader->told, round);
    EXPECT_GT(reader->take_all(), 0u);
  }
  index_->detach(*reader);
}

TEST_F(ServingTurnsTest, IdleChannelsCostNothingAtTheFlushesOfABusyOne) {
  for (uint32_t s = 0; s < kConsumers; ++s) attach(s);
  for (const bool once_used : {false, true}) {
    if (once_used) {
      for (uint32_t s = 0; s < kConsumers; ++s) write(s, 10);
      partition_->flush();
      partition_->flush();  // Gives back the blocks in which nothing was written since.
      while (connection_->under_way()) connection_->confirm();
    }
    connection_->sends.clear();
    closed_buffers_ = 0;
    uint64_t bytes = 0;
    for (int i = 0; i < 500; ++i) {
      write(kBusy, 50);
      partition_->flush();
      while (connection_->under_way()) connection_->confirm();
      EXPECT_LE(pool_->total_bytes() - pool_->free_bytes(), kLargeBlockBytes);  // Of the busy one.
    }
    EXPECT_EQ(closed_buffers_, 500u);
    for (const Send& sent : connection_->sends) {
      for (const FrameHeader& frame : sent.frames) {
        ASSERT_EQ(frame.attachment, kBusy);
        bytes += frame.payload_bytes;
      }
    }
    EXPECT_EQ(bytes, 500u * 51u);
  }
  partition_->flush();
  partition_->flush();
  partition_->end_step();
  EXPECT_FALSE(partition_->wants_flush());
  EXPECT_EQ(pool_->free_bytes(), pool_->total_bytes());
  EXPECT_EQ(partition_->positions().size(), kConsumers);
}

TEST_F(ServingTurnsTest, ReadersOfIdleChannelsAreNeverTold) {
  const auto idle = std::make_shared<CountingReader>(kIdle);
  const auto busy = std::make_shared<CountingReader>(kBusy);
  ASSERT_TRUE(index_->attach(idle).ok() && index_->attach(busy).ok());
  for (uint64_t round = 1; round <= 500; ++round) {
    write(kBusy, 50);
    partition_->flush();
    EXPECT_EQ(busy->told, round);
    EXPECT_EQ(busy->take_all(), 1u);
  }
  EXPECT_EQ(idle->told, 0u);
  index_->detach(*idle);
  index_->detach(*busy);
}

}  // namespace
}  // namespace freshet
