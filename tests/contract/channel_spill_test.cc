#include <algorithm>
#include <map>

#include "runtime/base/random.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

constexpr uint64_t kOverdraftBytes = 64u << 10;

// Each writes megabytes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 4;
#else
constexpr uint64_t kSeeds = 15;
#endif

/// Channels whose producers write much more at once than there is memory for.
class ChannelSpillTest : public ::testing::TestWithParam<RigKind> {
 protected:
  ChannelSpillTest()
      : rig_(GetParam(), {.pool_bytes = 512u << 10,
                          .gate_budget_bytes = 64u << 10,
                          .overdraft_bytes_max = kOverdraftBytes}) {}

  /// Reads what can be read by itself, while the partition pays back, up to about `elements_max`.
  static void read_on(ResultPartition& partition, InputGate& gate, std::vector<Received>* received,
                      size_t elements_max = SIZE_MAX) {
    for (bool moves = true; moves && received->size() < elements_max;) {
      const size_t before = received->size();
      while (partition.pay_back()) {
      }
      drain(gate, received);
      moves = received->size() != before;
    }
  }

  bool drain_to_end(ResultPartition& partition, InputGate& gate, std::vector<Received>* received) {
    return rig_.wait_until([&] {
      read_on(partition, gate, received);
      return gate.ended();
    });
  }

  ChannelRig rig_;
};

TEST_P(ChannelSpillTest, ProducerGoesOnOnceEverythingIsReadThatCameFromTheHeap) {
  auto partition = rig_.partition(rig_.partition_options(0, 1));
  auto gate = rig_.gate(rig_.gate_options(0, 1));
  const std::string payload(1000, 'x');
  for (int i = 0; i < 500; ++i) write_record(*partition, 0, payload);
  partition->flush();
  EXPECT_FALSE(partition->available());
  // Nothing else is read, and nothing written, until it is available.
  std::vector<Received> received;
  ASSERT_TRUE(rig_.wait_until([&] {
    read_on(*partition, *gate, &received);
    return partition->available();
  }));
  EXPECT_LE(received.size(), 500u);
  partition->end_of_data();
  ASSERT_TRUE(drain_to_end(*partition, *gate, &received));
  EXPECT_EQ(received.size(), 500u);
  gate->release();
  partition->release();
}

TEST_P(ChannelSpillTest, WritingIsAbandonedOnceItsTaskIsCancelled) {
  auto partition = rig_.partition(rig_.partition_options(0, 1));
  bool full = false;
  std::atomic<bool> cancelled{false};
  partition->watch(&full, &cancelled);
  const std::string payload(100'000, 'x');
  for (int i = 0; i < 100; ++i) write_record(*partition, 0, payload);
  EXPECT_TRUE(full);
  cancelled = true;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(write_record(*partition, 0, payload), WriteAbandoned);
  partition->release();
}

TEST_P(ChannelSpillTest, SpilledElementsReachTheNextAttemptOfAConsumer) {
  auto options = rig_.partition_options(0, 1);
  options.hash = true;
  options.retained_bytes_max = 1u << 30;
  auto partition = rig_.partition(options);
  auto gate_options = rig_.gate_options(0, 1);
  gate_options.hash = true;
  auto gate = rig_.gate(gate_options);
  constexpr size_t kRecords = 3000;
  for (size_t i = 0; i < kRecords; ++i)
    write_record(*partition, 0, std::to_string(i) + std::string(1000, 'x'));
  EXPECT_TRUE(partition->spilled());
  partition->end_of_data();
  std::vector<Received> received;
  ASSERT_TRUE(rig_.wait_until([&] {
    read_on(*partition, *gate, &received, kRecords / 3);
    return received.size() >= kRecords / 3;
  }));
  EXPECT_TRUE(partition->spilled());
  gate_options.start = gate->positions();
  ++gate_options.consumer.attempt;
  gate->release();
  rig_.run();
  (void)partition->pay_back();  // Some of it while nobody reads.
  gate = rig_.gate(gate_options);
  ASSERT_TRUE(drain_to_end(*partition, *gate, &received));
  ASSERT_EQ(received.size(), kRecords);
  for (size_t i = 0; i < kRecords; ++i)
    ASSERT_TRUE(received[i].payload == std::to_string(i) + std::string(1000, 'x')) << i;
  EXPECT_EQ(gate->positions(), partition->positions());
  gate->release();
  partition->release();
}

/// Some producers that write in bursts, and consumers that read slowly, in an order by chance.
class RandomBursts {
 public:
  RandomBursts(ChannelRig& rig, uint64_t seed)
      : rig_(rig), random_(make_seeded_random(seed)), hash_(random_->one_in(2)) {
    for (uint32_t p = 0; p < kProducers; ++p) {
      auto options = rig_.partition_options(p, kConsumers);
      options.dataset = DatasetId{static_cast<uint32_t>(seed)};
      options.hash = hash_;
      partitions_.push_back(rig_.partition(options));
    }
    for (uint32_t c = 0; c < kConsumers; ++c) {
      auto options = rig_.gate_options(c, kProducers);
      options.dataset = DatasetId{static_cast<uint32_t>(seed)};
      options.hash = hash_;
      gates_.push_back(rig_.gate(options));
    }
  }

  void run() {
    for (int step = 0; step < 300; ++step) {
      ResultPartition& partition = *partitions_[random_->below(kProducers)];
      const uint64_t action = random_->below(10);
      if (action < 3) {
        burst(partition);
      } else if (action == 3) {
        partition.flush();
      } else if (action < 6) {
        partition.pay_back();
      } else if (action < 8) {
        rig_.run_one();
      } else {
        take_some(static_cast<uint32_t>(random_->below(kConsumers)), random_->below(300));
      }
    }
    for (auto& partition : partitions_) partition->end_of_data();
    EXPECT_TRUE(rig_.wait_until([&] { return all_ended(); }));
    EXPECT_TRUE(sent_ == received_);
    for (auto& gate : gates_) gate->release();
    for (auto& partition : partitions_) partition->release();
  }

  uint64_t spilled() const { return spilled_; }

 private:
  static constexpr uint32_t kProducers = 2;
  static constexpr uint32_t kConsumers = 3;
  using Elements = std::map<std::pair<uint32_t, uint32_t>, std::vector<std::string>>;

  uint32_t index_of(const ResultPartition& partition) const {
    return partitions_[0].get() == &partition ? 0 : 1;
  }

  /// What one element makes of itself.
  void burst(ResultPartition& partition) {
    if (!partition.available()) return;
    const uint32_t p = index_of(partition);
    const uint64_t bytes = random_->below(random_->one_in(3) ? 1u << 20 : 20'000);
    for (uint64_t written = 0; written < bytes;) {
      const auto c = static_cast<uint32_t>(random_->below(kConsumers));
      std::string payload = std::to_string(serial_++);
      payload.resize(random_->below(random_->one_in(50) ? 100'000 : 300) + payload.size(), 'x');
      write_record(partition, c, payload, random_->one_in(9) ? INT64_MIN : 1);
      written += payload.size();
      sent_[{p, c}].push_back(std::move(payload));
      if (random_->one_in(100)) partition.flush();
      if (random_->one_in(100)) watermark(partition);
    }
    if (partition.spilled()) ++spilled_;
  }

  void watermark(ResultPartition& partition) {
    const std::string payload = std::to_string(10'000'000 + serial_++);
    partition.broadcast_event(ElementKind::kWatermark, payload);
    for (uint32_t c = 0; c < kConsumers; ++c)
      sent_[{index_of(partition), c}].push_back("watermark " + payload);
  }

  void take_some(uint32_t c, uint64_t limit) {
    for (; limit > 0; --limit) {
      const auto producer = gates_[c]->next_ready();
      if (!producer) return;
      moves_ = true;
      const auto element = gates_[c]->take_from(*producer);
      ASSERT_TRUE(element.has_value());
      const std::string before = element->kind == ElementKind::kRecord ? "" : "watermark ";
      received_[{*producer, c}].push_back(before + std::string(element->payload));
    }
  }

  bool all_ended() {
    bool ended = false;
    for (moves_ = true; moves_ && !ended;) {
      moves_ = false;
      ended = true;
      for (auto& partition : partitions_) moves_ = partition->pay_back() || moves_;
      for (uint32_t c = 0; c < kConsumers; ++c) {
        take_some(c, 1 + random_->below(1000));
        ended = gates_[c]->ended() && ended;
      }
    }
    return ended;
  }

  ChannelRig& rig_;
  const std::unique_ptr<Random> random_;
  const bool hash_;
  std::vector<std::shared_ptr<ResultPartition>> partitions_;
  std::vector<std::shared_ptr<InputGate>> gates_;
  Elements sent_;
  Elements received_;
  uint64_t serial_ = 0;
  uint64_t spilled_ = 0;
  bool moves_ = false;
};

TEST_P(ChannelSpillTest, DeliversEverythingInOrderUnderRandomInterleavings) {
  uint64_t spilled = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomBursts bursts(rig_, seed);
    bursts.run();
    spilled += bursts.spilled();
  }
  EXPECT_GT(spilled, 0u);
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelSpillTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp),
                         rig_name);

}  // namespace
}  // namespace freshet
