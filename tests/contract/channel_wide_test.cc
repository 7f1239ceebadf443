#include <map>

#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

struct Kind {
  bool hash = false;
  uint64_t retained_bytes_max = 0;  // With either, what is written may not be split.
};

/// Gates with so many pipelined producers that there is no memory for a block of each.
class ChannelWideTest : public ::testing::TestWithParam<RigKind> {
 protected:
  static constexpr uint32_t kProducers = 20'000;
  static constexpr uint32_t kWriting = 200;

  ChannelRig rig_{GetParam(), {.gate_budget_bytes = 64u << 10}};
  std::vector<std::shared_ptr<ResultPartition>> partitions_;
  std::map<uint32_t, std::vector<std::string>> written_;

  void make_partitions(const Kind& kind) {
    for (uint32_t producer = 0; producer < kWriting; ++producer) {
      auto options = rig_.partition_options(producer, 2);
      options.hash = kind.hash;
      options.retained_bytes_max = kind.retained_bytes_max;
      partitions_.push_back(rig_.partition(options));
    }
  }

  std::shared_ptr<InputGate> gate(const Kind& kind, uint32_t subpartition) {
    auto options = rig_.gate_options(subpartition, kProducers);
    options.hash = kind.hash;
    EXPECT_LE(rig_.consuming().need_of(options).least_bytes, 64u << 10);
    return rig_.gate(options);
  }

  /// To both consumers: small ones, ones that fill blocks, and ones that are larger than any.
  void write_all() {
    for (uint32_t i = 0; i < 4; ++i) {
      for (uint32_t producer = 0; producer < kWriting; ++producer) {
        const size_t size = (producer + i) % 9 == 0 ? 70'000 : (producer + i) % 5 * 3'000;
        const std::string text = std::to_string(producer * 10 + i) + std::string(size, 'x');
        for (uint32_t consumer = 0; consumer < 2; ++consumer)
          write_record(*partitions_[producer], consumer, text);
        written_[producer].push_back(text);
        partitions_[producer]->flush();
      }
    }
  }

  std::map<uint32_t, std::vector<std::string>> read(InputGate& gate) {
    std::map<uint32_t, std::vector<std::string>> texts;
    std::vector<Received> received;
    EXPECT_TRUE(rig_.wait_until([&] {
      drain(gate, &received);
      gate.end_step();
      return received.size() == kWriting * 4;
    })) << received.size();
    for (Received& each : received) texts[each.producer].push_back(std::move(each.payload));
    return texts;
  }

  void write_and_read(const Kind& kind) {
    make_partitions(kind);
    const auto first = gate(kind, 0), second = gate(kind, 1);
    write_all();
    EXPECT_EQ(read(*first), written_);  // Whoever does not read holds up nobody else.
    EXPECT_EQ(read(*second), written_);
    EXPECT_TRUE(rig_.signals().losses().empty());
    release({first, second});
  }

  void release(const std::vector<std::shared_ptr<InputGate>>& gates) {
    for (const auto& gate : gates) gate->release();
    for (const auto& partition : partitions_) partition->release();
  }
};

TEST_P(ChannelWideTest, WhoeverHasSomethingGetsMemoryForIt) { write_and_read({}); }
TEST_P(ChannelWideTest, SoItIsWithHashes) { write_and_read({.hash = true}); }
TEST_P(ChannelWideTest, SoItIsWhenMuchIsRetained) {
  write_and_read({.retained_bytes_max = 1u << 20});
}

TEST_P(ChannelWideTest, MoreIsWrittenWhileItIsRead) {
  make_partitions({});
  const auto first = gate({}, 0), second = gate({}, 1);
  for (int round = 0; round < 3; ++round) {
    write_all();
    EXPECT_EQ(read(*first), written_);
    EXPECT_EQ(read(*second), written_);
    written_.clear();
  }
  for (const auto& partition : partitions_) partition->end_of_data();
  release({first, second});
}

TEST_P(ChannelWideTest, EndsWhenAllHaveEnded) {
  make_partitions({});
  const auto options = rig_.gate_options(0, kWriting);
  // As one of many for which there is not enough together.
  auto kept = rig_.consuming().reserve(options.job, {1u << 20, 1ull << 40});
  ASSERT_TRUE(kept.ok());
  const auto gate = rig_.gate(options);
  kept->reset();
  write_all();
  for (const auto& partition : partitions_) partition->end_of_data();
  EXPECT_EQ(read(*gate), written_);
  EXPECT_TRUE(rig_.wait_until([&] { return gate->ended(); }));
  release({gate});
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelWideTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp, RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
