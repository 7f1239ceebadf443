#include <atomic>

#include "shuffle/dataset_index.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

/// So many gates that they hear of ends and losses in rounds.
class ChannelRoundsTest : public ::testing::TestWithParam<RigKind> {
 protected:
  static constexpr uint32_t kGates = WideLimits{}.readers_at_once + 60;
  static constexpr uint32_t kProducers = 20;

  ChannelRig rig_{GetParam(), {.pool_bytes = 32u << 20, .timed = true}};
  std::vector<std::shared_ptr<ResultPartition>> partitions_;
  std::vector<std::shared_ptr<InputGate>> gates_;
  std::vector<std::shared_ptr<std::atomic<uint32_t>>> lost_;  // Of each.

  void make() {
    for (uint32_t producer = 0; producer < kProducers; ++producer)
      partitions_.push_back(rig_.partition(rig_.partition_options(producer, kGates)));
    for (uint32_t i = 0; i < kGates; ++i) {
      auto options = rig_.gate_options(i, kProducers);
      lost_.push_back(std::make_shared<std::atomic<uint32_t>>(0));
      options.on_loss = [lost = lost_.back()](const ChannelLoss& loss) {
        *lost += loss.producer_end - loss.producer_begin;
      };
      gates_.push_back(rig_.gate(options));
      write_record(*partitions_[0], i, "first");
    }
    partitions_[0]->flush();
    std::vector<Received> received;
    ASSERT_TRUE(rig_.wait_until([&] {
      for (const auto& gate : gates_) drain(*gate, &received);
      return received.size() == kGates;  // All are attached.
    }));
  }

  void write_some() {
    for (uint32_t producer = 0; producer < kProducers; ++producer) {
      for (uint32_t i = 0; i < 5; ++i)
        write_record(*partitions_[producer], (producer * 7 + i) % kGates, std::string(500, 'x'));
      partitions_[producer]->flush();
    }
  }

  /// How many channels were reported as lost.
  uint64_t lost() {
    uint64_t lost = 0;
    for (const auto& one : lost_) lost += *one;
    return lost;
  }

  void release_all() {
    for (const auto& gate : gates_) gate->release();
    for (const auto& partition : partitions_) partition->release();
  }
};

TEST_P(ChannelRoundsTest, AllHearOfAllEndsBehindTheData) {
  make();
  write_some();
  std::vector<Received> received;
  for (const auto& partition : partitions_) partition->end_of_data();
  EXPECT_TRUE(rig_.wait_until([&] {
    bool ended = true;
    for (const auto& gate : gates_) {
      drain(*gate, &received);
      ended = gate->ended() && ended;
    }
    return ended;
  }));
  EXPECT_EQ(received.size(), kProducers * 5);
  release_all();
  EXPECT_EQ(lost(), 0u);
}

TEST_P(ChannelRoundsTest, AllHearOfAllLosses) {
  make();
  write_some();
  for (const auto& partition : partitions_) partition->release();
  EXPECT_TRUE(rig_.wait_until([&] { return lost() == kGates * kProducers; })) << lost();
  for (const auto& gate : gates_) EXPECT_FALSE(gate->ended());
  partitions_.clear();
  release_all();
}

TEST_P(ChannelRoundsTest, PartitionsThatGoBeforeTheRoundAreLostOrHaveEnded) {
  make();
  write_some();
  for (const auto& partition : partitions_) partition->end_of_data();
  for (const auto& partition : partitions_) partition->release();
  std::vector<Received> received;
  EXPECT_TRUE(rig_.wait_until([&] {
    bool all_know = true;
    for (uint32_t i = 0; i < kGates; ++i) {
      drain(*gates_[i], &received);
      const bool ended = gates_[i]->ended();
      EXPECT_FALSE(ended && *lost_[i] != 0);
      all_know = all_know && (ended || *lost_[i] != 0);
    }
    return all_know;
  }));
  partitions_.clear();
  release_all();
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelRoundsTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp, RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
