#include <gmock/gmock.h>

#include <functional>

#include "network/frame.h"
#include "shuffle/data_messages.h"
#include "shuffle/segment_pool.h"
#include "tests/contract/channel_rig.h"
#include "tests/contract/raw_greeting.h"
#include "tests/contract/raw_socket.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

constexpr JobId kJob{1, 2};

/// TaskManagers of this cluster that do not behave, beside one that does, over TCP.
class ChannelPeersTest : public ::testing::Test {
 protected:
  /// Producer 1 gives a gate of its own so many bytes; `meanwhile()` is called again and again.
  void expect_service(size_t bytes, const std::function<void()>& meanwhile = {}) {
    const std::string record(10'000, 'r');
    // Of its own, or what it writes may go to the gate before, whose end has not arrived yet.
    const DatasetId dataset{++services_};
    ResultPartition::Options partition_options = rig_.partition_options(1, 1);
    partition_options.dataset = dataset;
    auto partition = rig_.partition(partition_options);
    InputGate::Options options = rig_.gate_options(0, 2);
    options.dataset = dataset;
    options.producers = {{1, 2, 0, 0}};
    auto gate = rig_.gate(options);
    std::vector<Received> received;
    size_t written = 0;
    EXPECT_TRUE(rig_.wait_until([&] {
      for (; written < bytes && partition->available(); written += record.size())
        write_record(*partition, 0, record);
      partition->flush();
      if (meanwhile) meanwhile();
      drain(*gate, &received);
      return received.size() * record.size() >= bytes;
    })) << received.size()
        << " received, losses: " << rig_.signals().losses().size();
    gate->release();
    partition->release();
  }

  ChannelRig rig_{RigKind::kRemoteTcp, {}};
  uint32_t services_ = 0;
};

TEST_F(ChannelPeersTest, AConsumerThatStopsReadingHoldsUpOnlyItsOwnChannels) {
  auto partition = rig_.partition(rig_.partition_options(0, 1));
  {
    Attachment attachment;
    attachment.job = kJob;
    attachment.consumer = AttemptId{kJob, SubtaskId{VertexId{7}, 1}, 0};
    attachment.credit_bytes = kCreditBytesMax;
    attachment.producers = {{{0, 1}, 0}};
    std::string bytes;
    ASSERT_TRUE(append_attach(1, attachment, &bytes).ok());
    RawSocket reads_nothing(rig_.producing().data_address());
    greet_as_consumer(reads_nothing, TaskManagerId{9}, "secret");
    reads_nothing.say(bytes);
    const std::string record(10'000, 's');
    size_t written = 0;
    expect_service(100u << 20, [&] {
      for (; partition->available(); written += record.size()) write_record(*partition, 0, record);
      partition->flush();
    });
    EXPECT_LT(written, 50u << 20);  // What sockets and the partition hold.
  }
  // Its consumer is gone now, and holds up nobody.
  EXPECT_TRUE(rig_.wait_until([&] { return partition->available(); }));
  partition->release();
}

/// A producer's TaskManager that says what it should not.
class LyingProducerTest : public ChannelPeersTest {
 protected:
  /// The cause of the loss after `say(header)`, which changes a header that is in order. All that
  /// comes is taken. So many channels are lost.
  std::string refusal(const std::function<std::string(FrameHeader)>& say, uint64_t channels = 2) {
    RawListener listener;
    InputGate::Options options = rig_.gate_options(0, 2);
    options.hash = true;
    options.locations = {{TaskManagerId{3}, listener.address()}};
    auto gate = rig_.gate(options);
    RawSocket liar(listener.accept());
    FrameHeader header;
    header.attachment = wait_for_attachment(liar);
    header.elements_started = 1;
    header.block_class = 1;
    const size_t before = rig_.signals().losses().size();
    liar.say(say(header));
    std::vector<Received> received;
    EXPECT_TRUE(rig_.wait_until([&] {
      drain(*gate, &received);
      EXPECT_FALSE(gate->ended());
      return lost_since(before) == channels;
    }));
    liar.wait_for_end();
    expect_service(1u << 20);
    gate->release();
    const std::vector<ChannelLoss> losses = rig_.signals().losses();
    return losses.size() > before ? losses.back().cause.message() : "nothing";
  }

  static std::string framed(FrameHeader header, const std::string& payload = kRecord) {
    header.payload_bytes = static_cast<uint32_t>(payload.size());
    std::string bytes(kFrameHeaderBytes, '\0');
    header.encode_to(bytes.data());
    return bytes + payload;
  }

  static inline const std::string kRecord = "\x63" + std::string(0x63, 'p');

 private:
  /// Channels, each lost once.
  uint64_t lost_since(size_t before) {
    uint64_t lost = 0;
    const std::vector<ChannelLoss> losses = rig_.signals().losses();
    for (size_t i = before; i < losses.size(); ++i)
      lost += losses[i].producer_end - losses[i].producer_begin;
    return lost;
  }

  uint32_t wait_for_attachment(RawSocket& from) {
    FrameReader frames{FrameOpening::kAny};
    RawProducerGreeting greeting("secret");
    uint32_t attachment = 0;
    while (attachment == 0) {
      const std::string heard = from.hear();
      if (heard.empty()) break;
      EXPECT_TRUE(frames
                      .on_bytes(heard,
                                [&](const FrameHeader& header, std::string_view payload) {
                                  if (header.kind == FrameKind::kAttach)
                                    attachment = header.attachment;
                                  return greeting.on_frame(from, header, payload);
                                })
                      .ok());
    }
    return attachment;
  }
};

TEST_F(LyingProducerTest, IsLostWithTheRuleThatItBroke) {
  const auto damaged = [this](auto damage) {
    return refusal([&](FrameHeader header) {
      damage(header);
      return framed(header);
    });
  };
  EXPECT_THAT(damaged([](FrameHeader& header) { header.first_element = 7; }),
              HasSubstr("element 7 came instead of 0"));
  EXPECT_THAT(damaged([](FrameHeader& header) { header.producer = 5; }),
              HasSubstr("a frame of a producer that was not asked for"));
  EXPECT_THAT(damaged([](FrameHeader& header) { header.attachment += 70; }),
              HasSubstr("which does not exist"));
  EXPECT_THAT(damaged([](FrameHeader& header) { header.elements_started = 101; }),
              HasSubstr("101 elements start in 100 bytes"));
  EXPECT_THAT(damaged([](FrameHeader& header) { header.kind = FrameKind::kCredit; }),
              HasSubstr("a frame of kind credit from a producer"));
  EXPECT_THAT(refusal([](FrameHeader header) { return framed(header, std::string(5000, 'p')); }),
              HasSubstr("5000 bytes of data are charged as 1024"));
}

TEST_F(LyingProducerTest, IsLostWithAllChannelsWhenTheBytesOfOneAreWrong) {
  const auto with_payload = [this](const std::string& payload) {
    return refusal([&](const FrameHeader& header) { return framed(header, payload); });
  };
  const std::string hash = with_payload(kRecord);  // Which says 0.
  EXPECT_THAT(hash, HasSubstr("data connection to TaskManager tm-0000000000000003 at 127.0.0.1:"));
  EXPECT_THAT(hash, HasSubstr("channel from producer 0 at element 0: the hash of its elements"));
  EXPECT_THAT(with_payload("\x7f" + std::string(99, 'p')), HasSubstr("a record that is cut off"));
  EXPECT_THAT(with_payload(std::string(100, '\xff')),
              HasSubstr("a record with an impossible length"));
  EXPECT_THAT(refusal([&](FrameHeader header) {
                header.hash = static_cast<uint32_t>(
                    rolling_hash(0, ElementKind::kRecord, kNoTimestamp, kRecord.substr(1)));
                header.elements_started = 2;
                return framed(header);
              }),
              HasSubstr("element 1: 1 elements where 2 were announced"));
  EXPECT_THAT(
      refusal(
          [&](FrameHeader header) {
            header.flags = kFrameEndsIncomplete;
            std::string bytes = framed(header, kRecord.substr(0, 50));
            append_producers_ended(header.attachment, std::vector<ProducerSpan>{{0, 2}}, &bytes);
            return bytes;
          },
          1),
      HasSubstr("producer 0 ended inside an element"));
}

TEST_F(LyingProducerTest, IsLostWhenItSendsMoreThanItHasCreditFor) {
  const auto say_much = [](FrameHeader header) {
    header.block_class = kLargeBlockBytes / kFrameCreditUnitBytes;
    std::string bytes;
    uint64_t hash = 0;
    for (; header.first_element < 1000; ++header.first_element) {
      hash = rolling_hash(hash, ElementKind::kRecord, kNoTimestamp, kRecord.substr(1));
      header.hash = static_cast<uint32_t>(hash);
      bytes += framed(header);
    }
    return bytes;
  };
  EXPECT_THAT(refusal(say_much), HasSubstr("with a credit of"));
}

}  // namespace
}  // namespace freshet
