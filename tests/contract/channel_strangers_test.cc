#include <algorithm>

#include "network/frame.h"
#include "tests/contract/channel_rig.h"
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

}  // namespace
}  // namespace freshet
