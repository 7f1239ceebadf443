#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>

#include "network/frame.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

constexpr size_t kManyStrangers = 300;

/// A socket of somebody who is not one of us.
class RawSocket {
 public:
  explicit RawSocket(const Address& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    EXPECT_EQ(::inet_pton(AF_INET, address.host.c_str(), &to.sin_addr), 1);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  ~RawSocket() { ::close(socket_); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  void say(std::string_view bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Waits until the peer ends the connection; it must say nothing.
  void expect_end() {
    char byte = 0;
    EXPECT_LE(::recv(socket_, &byte, 1, 0), 0);
  }
  bool has_ended() {
    char byte = 0;
    const ssize_t received = ::recv(socket_, &byte, 1, MSG_DONTWAIT);
    return received == 0 || (received < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  const int socket_;
};

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
