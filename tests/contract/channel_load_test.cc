#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

/// What gates and partitions tell those who look on.
class ChannelLoadTest : public ::testing::TestWithParam<RigKind> {
 protected:
  ChannelRig rig_{GetParam(), {}};
};

TEST_P(ChannelLoadTest, ShowsWhatWaitsOnEitherSide) {
  auto partition = rig_.partition(rig_.partition_options(0, 1));
  auto gate = rig_.gate(rig_.gate_options(0, 1));
  EXPECT_EQ(partition->buffers_waiting(), 0u);
  EXPECT_EQ(partition->pool_usage(), 0);
  EXPECT_EQ(gate->load().buffers, 0u);

  // Whole blocks, more of them than the credit lets through.
  for (int i = 0; i < 400; ++i) write_record(*partition, 0, std::string(20'000, 'a'));
  partition->flush();
  EXPECT_GT(partition->buffers_written(), 200u);
  EXPECT_GT(partition->pool_usage(), 0.5);
  EXPECT_TRUE(rig_.wait_until([&] {
    const InputGate::Load load = gate->load();
    return !rig_.remote() || (load.buffers > 10 && load.floating_usage > 0);
  }));
  EXPECT_GT(partition->buffers_waiting(), 0u);
  EXPECT_GE(partition->bytes_waiting(), partition->buffers_waiting());
  EXPECT_LT(partition->bytes_waiting(), 400u * 20'100);
  EXPECT_EQ(gate->load().bytes > 0, rig_.remote());
  EXPECT_EQ(gate->load().pool_usage > 0, rig_.remote());
  EXPECT_LE(gate->load().pool_usage, 1);
  EXPECT_LE(gate->load().exclusive_usage, 1);

  // What the task has is still there until it is done with it.
  ASSERT_TRUE(rig_.wait_until([&] { return gate->next_ready().has_value(); }));
  ASSERT_TRUE(gate->take_from(0).has_value());
  EXPECT_GT(gate->load().buffers, 0u);

  partition->end_of_data();
  std::vector<Received> received;
  ASSERT_TRUE(rig_.wait_until([&] {
    drain(*gate, &received);
    return gate->ended();
  }));
  EXPECT_EQ(received.size(), 399u);
  EXPECT_EQ(partition->buffers_waiting(), 0u);
  EXPECT_EQ(partition->bytes_waiting(), 0u);
  EXPECT_EQ(gate->load().buffers, 0u);
  EXPECT_EQ(gate->load().bytes, 0u);
  EXPECT_EQ(gate->load().exclusive_usage, 0);
  const InputGate::Received came = gate->received();
  const uint64_t buffers = rig_.remote() ? came.remote_buffers : came.local_buffers;
  const uint64_t bytes = rig_.remote() ? came.remote_bytes : came.local_bytes;
  EXPECT_GE(buffers, partition->buffers_written());  // Some may be split on their way.
  EXPECT_GT(bytes, 400u * 20'000);
  EXPECT_LT(bytes, 400u * 20'100);
  EXPECT_EQ(came.local_buffers + came.remote_buffers, buffers);
  EXPECT_EQ(gate->load().pool_usage, 0);
  gate->release();
  partition->release();
}

TEST_P(ChannelLoadTest, IsNothingOnceItIsReleased) {
  auto partition = rig_.partition(rig_.partition_options(0, 1));
  auto gate = rig_.gate(rig_.gate_options(0, 1));
  for (int i = 0; i < 100; ++i) write_record(*partition, 0, std::string(20'000, 'a'));
  partition->flush();
  ASSERT_TRUE(rig_.wait_until([&] { return gate->next_ready().has_value(); }));
  EXPECT_GT(rig_.producing().wanted_bytes(), 0u);
  gate->release();
  partition->release();
  EXPECT_EQ(gate->load().buffers, 0u);
  EXPECT_EQ(gate->load().bytes, 0u);
  EXPECT_EQ(gate->load().pool_usage, 0);
  EXPECT_EQ(partition->buffers_waiting(), 0u);
  EXPECT_EQ(partition->bytes_waiting(), 0u);
  EXPECT_EQ(rig_.producing().wanted_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelLoadTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp, RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
