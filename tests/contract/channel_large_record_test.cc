#include <cstring>

#include "runtime/base/hash.h"
#include "shuffle/pipelined_partition.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kRecordBytes = 10'000'000;
#else
constexpr size_t kRecordBytes = 100'000'000;
#endif
constexpr uint64_t kPoolBytes = 4u << 20;
constexpr uint64_t kOverdraftBytes = 1u << 20;

std::string large_text() {
  std::string text(kRecordBytes, '\0');
  uint64_t state = 1;
  for (size_t i = 0; i + sizeof(state) <= text.size(); i += sizeof(state)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    std::memcpy(text.data() + i, &state, sizeof(state));
  }
  return text;
}

/// An element many times the size of the pool.
class ChannelLargeRecordTest : public ::testing::TestWithParam<RigKind> {
 protected:
  static void expect_little_held(const ResultPartition& partition) {
    const auto& account = dynamic_cast<const PipelinedPartition&>(partition).account();
    EXPECT_LE(account.held_bytes(),
              account.budget_bytes() + kOverdraftBytes + 16 * kLargeBlockBytes);
  }

  ChannelRig rig_{GetParam(), {.pool_bytes = kPoolBytes, .overdraft_bytes_max = kOverdraftBytes}};
};

TEST_P(ChannelLargeRecordTest, PassesThroughASmallPoolBetweenSmallRecords) {
  auto partition_options = rig_.partition_options(0, 1);
  partition_options.hash = true;
  auto partition = rig_.partition(partition_options);
  auto gate_options = rig_.gate_options(0, 1);
  gate_options.hash = true;
  auto gate = rig_.gate(gate_options);
  uint64_t hash = 0;
  {
    const std::string text = large_text();
    hash = hash_bytes(text);
    write_record(*partition, 0, "before");
    write_record(*partition, 0, text);
    write_record(*partition, 0, "behind");
  }
  expect_little_held(*partition);
  partition->end_of_data();
  std::vector<std::string> small;
  bool found = false;
  const auto read = [&] {
    while (partition->pay_back()) {
    }
    expect_little_held(*partition);
    while (const auto producer = gate->next_ready()) {
      const auto element = gate->take_from(*producer);
      if (element->payload.size() < 100) {
        small.emplace_back(element->payload);
      } else {
        EXPECT_EQ(element->payload.size(), kRecordBytes);
        found = hash_bytes(element->payload) == hash;
      }
    }
  };
  ASSERT_TRUE(rig_.wait_until([&] {
    read();
    return gate->ended();
  }));
  EXPECT_TRUE(found);
  EXPECT_EQ(small, (std::vector<std::string>{"before", "behind"}));
  EXPECT_EQ(partition->positions(), gate->positions());
  EXPECT_TRUE(partition->status().ok());
  gate->release();
  partition->release();
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelLargeRecordTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteTcp,
                                           RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
