#include <gmock/gmock.h>

#include <algorithm>

#include "network/frame.h"
#include "tests/contract/channel_rig.h"
#include "tests/contract/raw_greeting.h"
#include "tests/contract/raw_relay.h"
#include "tests/contract/raw_socket.h"

namespace freshet {
namespace {

constexpr size_t kManyStrangers = 300;

/// The data port of a TaskManager whose timers never fire.
class ChannelStrangersTest : public ::testing::Test {
 protected:
  Address port() { return rig_.producing().data_address(); }

  /// One of us is served as if nobody else was there.
  void expect_service() {
    auto partition = rig_.partition(rig_.partition_options(0, 1));
    auto gate = rig_.gate(rig_.gate_options(0, 1));
    write_record(*partition, 0, "for us");
    partition->end_of_data();
    std::vector<Received> received;
    EXPECT_TRUE(rig_.wait_until([&] {
      drain(*gate, &received);
      return gate->ended();
    }));
    EXPECT_EQ(received.size(), 1u);
    gate->release();
    partition->release();
  }

  ChannelRig rig_{RigKind::kRemoteTcp, {}};
};

TEST_F(ChannelStrangersTest, WhoBeginsWithALargePayloadIsRefusedByItsHeader) {
  for (const FrameHeader& header :
       {FrameHeader{.payload_bytes = kFramePayloadBytesMax, .kind = FrameKind::kAttach},
        FrameHeader{.payload_bytes = kFramePayloadBytesMax, .kind = FrameKind::kData},
        FrameHeader{.payload_bytes = kHelloBytesMax + 1, .kind = FrameKind::kHello},
        FrameHeader{.payload_bytes = 0, .kind = FrameKind::kCredit}}) {
    std::string start(kFrameHeaderBytes, '\0');
    header.encode_to(start.data());
    RawSocket stranger(port());
    stranger.say(start);
    stranger.expect_end();
  }
  expect_service();
}

TEST_F(ChannelStrangersTest, OldestOfTooManyWhoSayNothingAreClosed) {
  std::vector<std::unique_ptr<RawSocket>> strangers;
  for (size_t i = 0; i < kManyStrangers; ++i)
    strangers.push_back(std::make_unique<RawSocket>(port()));
  strangers.front()->expect_end();
  expect_service();
  EXPECT_FALSE(strangers.back()->has_ended());
  const auto ended = std::ranges::count_if(strangers, [](auto& one) { return one->has_ended(); });
  EXPECT_LT(ended, 100);
}

TEST_F(ChannelStrangersTest, WhoeverListensHearsNoSecret) {
  auto partition = rig_.partition(rig_.partition_options(0, 1));
  RawRelay relay(port());
  InputGate::Options options = rig_.gate_options(0, 1);
  options.locations[0].address = relay.address();
  options.locations[0].unix_address.reset();
  auto gate = rig_.gate(options);
  relay.accept();
  write_record(*partition, 0, "for us");
  partition->end_of_data();
  std::vector<Received> received;
  for (int round = 0; round < 1000 && !gate->ended(); ++round) {
    if (!relay.pass_on()) break;
    drain(*gate, &received);
  }
  EXPECT_EQ(received.size(), 1u);
  EXPECT_THAT(relay.said(), ::testing::HasSubstr("for us"));
  EXPECT_THAT(relay.said(), ::testing::Not(::testing::HasSubstr("secret")));
  gate->release();
  partition->release();
}

TEST_F(ChannelStrangersTest, WhoeverRepeatsWhatWasSaidIsRefused) {
  const TaskManagerId self{9};
  SecretHandshake handshake({HandshakeSide::kConnecting, "secret", "", ""}, *make_system_random());
  std::string hello;
  append_hello({self, handshake.nonce()}, &hello);
  const auto challenge_of = [&](RawSocket& socket) {
    socket.say(hello);
    return socket.hear().substr(kFrameHeaderBytes);
  };
  RawSocket first(port());
  ASSERT_TRUE(handshake.meet(challenge_of(first), to_string(self)).ok());
  std::string proof;
  append_proof(handshake.proof(), &proof);
  first.say(proof);
  EXPECT_TRUE(handshake.check(first.hear().substr(kFrameHeaderBytes)).ok());
  RawSocket again(port());
  challenge_of(again);
  again.say(proof);
  EXPECT_THAT(again.hear(), ::testing::HasSubstr("security.secret differs"));
  again.expect_end();
  RawSocket mirror(port());
  std::string mirrored;
  append_proof(challenge_of(mirror), &mirrored);
  mirror.say(mirrored);
  EXPECT_THAT(mirror.hear(), ::testing::HasSubstr("security.secret differs"));
  mirror.expect_end();
  expect_service();
}

TEST_F(ChannelStrangersTest, AProducerThatDoesNotProveItselfIsLostAndHeardNothing) {
  for (const std::string secret : {"another", ""}) {
    RawListener listener;
    InputGate::Options options = rig_.gate_options(0, 1);
    options.locations = {{TaskManagerId{3}, listener.address()}};
    auto gate = rig_.gate(options);
    RawSocket impostor(listener.accept());
    const size_t before = rig_.signals().losses().size();
    std::string words;
    if (secret.empty()) {
      append_producers_ended(1, std::vector<ProducerSpan>{{0, 1}}, &words);
    } else {
      append_challenge(std::string(32, 'n'), &words);
      append_proof(hmac_sha256(secret, "guess"), &words);
    }
    impostor.say(words);
    EXPECT_TRUE(rig_.wait_until([&] {
      std::vector<Received> received;
      drain(*gate, &received);
      EXPECT_FALSE(gate->ended());
      return rig_.signals().losses().size() > before;
    }));
    EXPECT_THAT(
        rig_.signals().losses().back().cause.message(),
        ::testing::HasSubstr(secret.empty() ? "before the proof" : "does not know that of"));
    gate->release();
  }
}

}  // namespace
}  // namespace freshet
