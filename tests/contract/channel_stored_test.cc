#include <map>

#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

/// Partitions that are stored, and gates that read them from here and elsewhere.
class ChannelStoredTest : public ::testing::TestWithParam<RigKind> {
 protected:
  ChannelRig rig_{GetParam(), {}};

  void store(uint32_t producer, uint32_t subpartitions,
             const std::map<uint32_t, std::vector<std::string>>& records) {
    auto options = rig_.partition_options(producer, subpartitions);
    options.blocking = true;
    const auto partition = rig_.partition(options);
    for (const auto& [subpartition, texts] : records) {
      for (const std::string& text : texts) write_record(*partition, subpartition, text);
    }
    partition->end_of_data();
    ASSERT_TRUE(rig_.wait_until([&] { return partition->handed_over(); }));
    partition->release();
  }

  std::shared_ptr<InputGate> gate(uint32_t subpartition, uint32_t producers) {
    auto options = rig_.gate_options(subpartition, producers);
    options.blocking = true;
    options.stored = true;
    return rig_.gate(options);
  }

  std::map<uint32_t, std::vector<std::string>> read(InputGate& gate) {
    std::map<uint32_t, std::vector<std::string>> texts;
    std::vector<Received> received;
    EXPECT_TRUE(rig_.wait_until([&] {
      drain(gate, &received);
      gate.end_step();
      return gate.ended();
    }));
    for (Received& each : received) texts[each.producer].push_back(std::move(each.payload));
    return texts;
  }

  /// What is kept is gone, so that the rig can be looked over.
  void forget() {
    rig_.producing().release_stored_of(rig_.partition_options(0, 1).job);
    ASSERT_TRUE(rig_.wait_until([&] { return rig_.files().files().empty(); }));
  }
};

TEST_P(ChannelStoredTest, MemoryIsTakenWhenDataFlowsAndNotForEachProducer) {
  constexpr uint32_t kProducers = 20'000;
  std::map<uint32_t, std::vector<std::string>> written;
  for (uint32_t producer = 0; producer < 300; ++producer) {
    std::vector<std::string>& texts = written[producer];
    for (uint32_t i = 0; i < 3; ++i)
      texts.push_back(std::to_string(producer) + std::string(producer % 7 * 9'000, 'x'));
    store(producer, 4, {{2, texts}});
  }
  // Many more than there is memory for a block each.
  auto options = rig_.gate_options(2, 300);
  options.producers = {{0, 300, 0, 0}};
  options.stored = true;
  EXPECT_LE(rig_.consuming().need_of(options).least_bytes, 64u << 10);
  options.producers = {{0, kProducers, 0, 0}};
  EXPECT_LE(rig_.consuming().need_of(options).least_bytes, 64u << 10);
  std::vector<std::shared_ptr<InputGate>> others;
  for (uint32_t i = 0; i < 10; ++i) others.push_back(gate(3, 300));
  const auto gate = this->gate(2, 300);
  EXPECT_EQ(read(*gate), written);
  for (const auto& other : others) EXPECT_TRUE(read(*other).empty());
  gate->release();
  for (const auto& other : others) other->release();
  forget();
}

/// As when the subtasks of a stage ran now here and now there.
TEST_P(ChannelStoredTest, ProducersThatAreScatteredEndAsRanges) {
  constexpr uint32_t kProducers = 3'000;
  for (const uint32_t producer : {0u, 998u, 999u, 2'998u}) store(producer, 2, {{1, {"text"}}});
  auto options = rig_.gate_options(1, kProducers);
  options.blocking = true;
  options.stored = true;
  options.producers.clear();
  for (uint32_t producer = 0; producer < kProducers; producer += 2)
    options.producers.push_back({producer, producer + 1, 0, 0});
  const auto even = rig_.gate(options);
  ASSERT_TRUE(rig_.wait_until([&] { return !rig_.signals().losses().empty(); }));
  std::vector<Received> received;
  ASSERT_TRUE(rig_.wait_until([&] {
    drain(*even, &received);
    return received.size() == 3;
  }));
  uint64_t lost = 0;
  for (const ChannelLoss& loss : rig_.signals().losses()) {
    EXPECT_EQ(loss.cause.code(), StatusCode::kNotFound);
    lost += loss.producer_end - loss.producer_begin;
  }
  EXPECT_EQ(lost, kProducers / 2 - 3);
  EXPECT_FALSE(even->ended());
  even->release();
  forget();
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelStoredTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp, RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
