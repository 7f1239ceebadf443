#include <gtest/gtest.h>

#include <array>

#include "runtime/task/decisions.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

struct Way {
  RigKind rig = RigKind::kLocal;
  bool recorded = false;  // One by one.
  uint32_t first = 0;     // The gate that ends first.
};

/// A task of two inputs, each a gate of the data plane, that does something only when it was woken.
class TwoGatesTest : public ::testing::TestWithParam<Way> {
 protected:
  TwoGatesTest() {
    for (uint32_t i = 0; i < 2; ++i) {
      auto partition_options = rig_.partition_options(0, 1);
      partition_options.dataset = DatasetId{i};
      partitions_[i] = rig_.partition(partition_options);
      auto gate_options = rig_.gate_options(0, 1);
      gate_options.dataset = DatasetId{i};
      gate_options.wake = [this] { woken_ = true; };
      gates_[i] = rig_.gate(gate_options);
      inputs_.push_back(gates_[i].get());
    }
  }
  ~TwoGatesTest() override {
    for (uint32_t i = 0; i < 2; ++i) {
      gates_[i]->release();
      partitions_[i]->release();
    }
  }

  void write(uint32_t input, int records) {
    for (; records > 0; --records) write_record(*partitions_[input], 0, "some record");
    partitions_[input]->flush();
  }

  void run() {
    rig_.run();
    while (std::exchange(woken_, false)) {
      decisions_.tick();
      while (const auto decision = decisions_.next(offers())) act(*decision);
      rig_.run();
    }
    EXPECT_FALSE(decisions_.next(offers()).has_value()) << "nobody woke it for what is there";
  }

  uint64_t taken(uint32_t input) const { return taken_[input]; }
  bool ended(uint32_t input) const { return inputs_[input] == nullptr; }

  ChannelRig rig_{GetParam().rig, {}};
  std::array<std::shared_ptr<ResultPartition>, 2> partitions_;

 private:
  Offers offers() {
    Offers offers;
    offers.gates = &inputs_;
    offers.elements = true;
    return offers;
  }

  void act(const Decision& decision) {
    InputGate* const gate = inputs_.at(decision.input);
    ASSERT_NE(gate, nullptr);
    if (decision.kind == DecisionKind::kEndInput) {
      EXPECT_TRUE(gate->ended());
      inputs_[decision.input] = nullptr;
      return;
    }
    ASSERT_EQ(decision.kind, DecisionKind::kElement);
    ASSERT_TRUE(gate->take_from(decision.producer).has_value());
    ++taken_[decision.input];
  }

  ManualClock clock_;
  MemoryDecisionLog log_;
  LiveDecisions decisions_{clock_, make_seeded_random(1), GetParam().recorded ? &log_ : nullptr};
  bool woken_ = false;
  std::array<uint64_t, 2> taken_{};
  std::vector<InputGate*> inputs_;
  std::array<std::shared_ptr<InputGate>, 2> gates_;
};

TEST_P(TwoGatesTest, OneGoesOnAndEndsWhenTheOtherHasEnded) {
  const uint32_t first = GetParam().first;
  const uint32_t other = 1 - first;
  write(first, 3);
  write(other, 4);
  run();
  EXPECT_EQ(taken(first), 3u);
  EXPECT_EQ(taken(other), 4u);

  write(first, 2);
  write(other, 5);  // Of which nothing was taken when the end comes.
  partitions_[first]->end_of_data();
  run();
  EXPECT_TRUE(ended(first));
  EXPECT_FALSE(ended(other));
  EXPECT_EQ(taken(first), 5u);
  EXPECT_EQ(taken(other), 9u);

  for (uint64_t i = 1; i <= 10; ++i) {
    write(other, 1);
    run();
    EXPECT_EQ(taken(other), 9 + i);
  }
  write(other, 300);
  partitions_[other]->end_of_data();
  run();
  EXPECT_TRUE(ended(other));
  EXPECT_EQ(taken(other), 319u);
}

TEST_P(TwoGatesTest, OneEndsWithoutAnyElementWhileTheOtherIsIdle) {
  const uint32_t first = GetParam().first;
  partitions_[first]->end_of_data();
  run();
  EXPECT_TRUE(ended(first));
  run();  // Nothing to do.
  write(1 - first, 1);
  run();
  EXPECT_EQ(taken(1 - first), 1u);
  partitions_[1 - first]->end_of_data();
  run();
  EXPECT_TRUE(ended(1 - first));
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const RigKind rig : {RigKind::kLocal, RigKind::kRemoteInProcess}) {
    for (const bool recorded : {false, true}) {
      for (const uint32_t first : {0u, 1u}) all.push_back({rig, recorded, first});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllWays, TwoGatesTest, ::testing::ValuesIn(ways()));

}  // namespace
}  // namespace freshet
