#include <array>
#include <utility>

#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

constexpr uint32_t kConsumers = 3;
constexpr uint32_t kRestarts = 10;
constexpr TaskManagerId kConsuming{1000};

/// Whether the TaskManager comes back under the name that its peers know.
class ChannelRestartTest : public ::testing::TestWithParam<bool> {
 protected:
  ChannelRestartTest() {
    consumers_ = make(kConsuming, {"127.0.0.1", 0});
    start_producer({"127.0.0.1", 0});
    for (uint32_t c = 0; c < kConsumers; ++c) {
      signals_.push_back(std::make_shared<Signals>());
      InputGate::Options options;
      options.subpartition = c;
      options.consumer = AttemptId{{}, SubtaskId{VertexId{7}, c}, 0};
      options.locations = {location()};
      options.producers = {{0, 1, 0, 0}};
      options.wake = [signals = signals_[c]] { signals->raise(); };
      options.on_loss = [signals = signals_[c]](const ChannelLoss& loss) { signals->lose(loss); };
      gates_.push_back(*consumers_->create_gate(options));
    }
  }
  ~ChannelRestartTest() override {
    for (auto& gate : gates_) gate->release();
    partition_->release();
    for (const auto* environment : {producers_.get(), consumers_.get()}) {
      EXPECT_TRUE(
          wait_until(0, [&] { return environment->free_bytes() == environment->total_bytes(); }));
    }
    consumers_->shut_down();
    producers_->shut_down();
  }

  static std::string text_of(uint64_t element) { return std::to_string(element); }

  /// Of the present attempt, which writes all again from the beginning.
  void write_up_to(uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i) {
      for (uint32_t c = 0; c < kConsumers; ++c) write_record(*partition_, c, text_of(i));
    }
    partition_->flush();
  }

  /// Waits until each gate has so many, in their order.
  void expect_elements(uint64_t elements) {
    for (uint32_t c = 0; c < kConsumers; ++c) {
      ASSERT_TRUE(wait_until(c, [&] {
        drain(*gates_[c], &received_[c]);
        return received_[c].size() >= elements;
      })) << received_[c].size();
      ASSERT_EQ(received_[c].size(), elements);
      for (uint64_t i = 0; i < elements; ++i) ASSERT_EQ(received_[c][i].payload, text_of(i));
    }
  }

  void restart() {
    const Address port = producers_->data_address();
    producers_->shut_down();
    partition_->release();
    partition_ = nullptr;
    producers_ = nullptr;
    ++attempt_;
    start_producer(port);
    EXPECT_EQ(producers_->data_address(), port);
  }

  void reattach(uint32_t c) { EXPECT_TRUE(gates_[c]->reattach({0, 1, attempt_, location()}).ok()); }

  template <class Condition>
  bool wait_until(uint32_t c, Condition&& condition) {
    for (int round = 0; round < 10'000; ++round) {
      if (condition()) return true;
      signals_[c]->wait();
    }
    return false;
  }

  size_t losses(uint32_t c) const { return signals_[c]->losses().size(); }

  std::vector<std::shared_ptr<InputGate>> gates_;
  std::array<std::vector<Received>, kConsumers> received_;

 private:
  TaskManagerId task_manager() const { return TaskManagerId{GetParam() ? 1 : 1 + attempt_}; }
  InputGate::ProducerLocation location() const {
    return {task_manager(), producers_->data_address()};
  }

  std::unique_ptr<ShuffleEnvironment> make(TaskManagerId id, const Address& bind) {
    ShuffleEnvironment::Options options;
    options.task_manager = id;
    options.bind = bind;
    options.pool_bytes = 1u << 20;
    auto made = ShuffleEnvironment::create(options, *transport_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return std::move(made).value();
  }

  void start_producer(const Address& bind) {
    producers_ = make(task_manager(), bind);
    ResultPartition::Options options;
    options.attempt = attempt_;
    options.subpartitions = kConsumers;
    options.retained_bytes_max = 1u << 20;  // For who attaches once too often.
    partition_ = *producers_->create_partition(options);
  }

  uint32_t attempt_ = 0;
  const std::unique_ptr<Transport> transport_ = make_asio_transport({.threads = 2});
  std::unique_ptr<ShuffleEnvironment> consumers_;
  std::unique_ptr<ShuffleEnvironment> producers_;
  std::shared_ptr<ResultPartition> partition_;
  std::vector<std::shared_ptr<Signals>> signals_;
};

TEST_P(ChannelRestartTest, OneAttachmentIsEnoughOnceTheLossOfTheOldConnectionIsKnown) {
  write_up_to(1);
  expect_elements(1);
  for (uint32_t restarts = 1; restarts <= kRestarts; ++restarts) {
    restart();
    for (uint32_t c = 0; c < kConsumers; ++c) {
      ASSERT_TRUE(wait_until(c, [&] { return losses(c) == restarts; }));
      reattach(c);
    }
    write_up_to(1 + restarts);
    expect_elements(1 + restarts);
    for (uint32_t c = 0; c < kConsumers; ++c) EXPECT_EQ(losses(c), restarts);
  }
}

TEST_P(ChannelRestartTest, WhoAttachesBeforeIsToldOfTheLossAndAttachesAgain) {
  write_up_to(1);
  expect_elements(1);
  for (uint32_t restarts = 1; restarts <= kRestarts; ++restarts) {
    std::array<size_t, kConsumers> seen{};
    for (uint32_t c = 0; c < kConsumers; ++c) seen[c] = losses(c);
    restart();
    for (uint32_t c = 0; c < kConsumers; ++c) reattach(c);
    write_up_to(1 + restarts);
    for (uint32_t c = 0; c < kConsumers; ++c) {
      ASSERT_TRUE(wait_until(c, [&] {
        if (const size_t lost = losses(c); std::exchange(seen[c], lost) != lost) reattach(c);
        drain(*gates_[c], &received_[c]);
        return received_[c].size() == 1 + restarts;
      }));
    }
    expect_elements(1 + restarts);
  }
}

INSTANTIATE_TEST_SUITE_P(AllNames, ChannelRestartTest, ::testing::Bool(), [](const auto& info) {
  return info.param ? "SameTaskManager" : "NewTaskManager";
});

}  // namespace
}  // namespace freshet
