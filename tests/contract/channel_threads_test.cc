#include <atomic>

#include "runtime/base/thread_executor.h"
#include "tests/contract/channel_rig.h"
#include "tests/contract/channel_task.h"

namespace freshet {
namespace {

constexpr uint64_t kRecords = 200'000;

class ChannelThreadsTest : public ::testing::TestWithParam<RigKind> {};

class Producer final : public Task {
 public:
  using Task::Task;
  std::shared_ptr<ResultPartition> partition;
  uint64_t at_once = 1;  // Records that it writes without asking.

 private:
  bool may_write() {
    if (partition->available()) return true;
    while (partition->pay_back()) {
    }
    return partition->available();
  }

  void step() override {
    for (; next_ < kRecords; ++next_) {
      if (next_ % at_once == 0 && !may_write()) return;
      partition->begin_record(next_ % kConsumers, INT64_MIN).write_fixed(next_);
      partition->end_record();
      if (next_ % 5000 == 0) partition->flush();
    }
    if (!done_.load()) partition->end_of_data();
    (void)may_write();
    done_.store(true);
  }

  static constexpr uint32_t kConsumers = 2;
  uint64_t next_ = 0;
};

class Consumer final : public Task {
 public:
  using Task::Task;
  std::shared_ptr<InputGate> gate;
  std::atomic<uint64_t> records{0};
  std::atomic<bool> in_order{true};

 private:
  void step() override {
    while (const auto producer = gate->next_ready()) {
      const auto element = gate->take_from(*producer);
      Decoder decoder(element->payload);
      const auto number = decoder.read_fixed<uint64_t>();
      if (next_[*producer] != 0 && number != next_[*producer]) in_order.store(false);
      next_[*producer] = number + 2;
      records.fetch_add(1);
    }
    if (gate->ended()) done_.store(true);
  }

  uint64_t next_[2] = {0, 0};
};

/// Two producers write so many records at once, for two consumers.
void carry_between_threads(RigKind kind, uint64_t at_once, ChannelRig::Settings settings) {
  ManualClock clock;
  ThreadExecutor threads[4] = {{"p0", clock}, {"p1", clock}, {"c0", clock}, {"c1", clock}};
  settings.disk_on_thread = true;
  ChannelRig rig(kind, settings);
  std::vector<std::shared_ptr<Producer>> producers;
  std::vector<std::shared_ptr<Consumer>> consumers;
  for (uint32_t i = 0; i < 2; ++i) {
    producers.push_back(std::make_shared<Producer>(threads[i]));
    auto options = rig.partition_options(i, 2);
    options.fixed_record_size = 8;
    options.hash = true;
    options.wake = [task = std::weak_ptr<Task>(producers[i])] {
      if (auto strong = task.lock()) strong->wake();
    };
    producers[i]->partition = rig.partition(options);
    producers[i]->at_once = at_once;
    producers[i]->start();
  }
  for (uint32_t i = 0; i < 2; ++i) {
    consumers.push_back(std::make_shared<Consumer>(threads[2 + i]));
    auto options = rig.gate_options(i, 2);
    options.fixed_record_size = 8;
    options.hash = true;
    options.wake = [task = std::weak_ptr<Task>(consumers[i])] {
      if (auto strong = task.lock()) strong->wake();
    };
    consumers[i]->gate = rig.gate(options);
    consumers[i]->start();
  }
  for (int round = 0; round < 60'000 && !(consumers[0]->done() && consumers[1]->done()); ++round)
    rig.signals().wait();
  for (ThreadExecutor& thread : threads) thread.stop();
  EXPECT_TRUE(consumers[0]->done() && consumers[1]->done());
  EXPECT_EQ(consumers[0]->records + consumers[1]->records, 2 * kRecords);
  EXPECT_TRUE(consumers[0]->in_order && consumers[1]->in_order);
  for (auto& consumer : consumers) consumer->gate->release();
  for (auto& producer : producers) producer->partition->release();
}

TEST_P(ChannelThreadsTest, CarriesEverythingBetweenTasksOnThreadsOfTheirOwn) {
  carry_between_threads(GetParam(), 1, {.pool_bytes = 1u << 20, .gate_budget_bytes = 64u << 10});
}

TEST_P(ChannelThreadsTest, CarriesEverythingThatWasWrittenAtOnce) {
  carry_between_threads(
      GetParam(), 50'000,
      {.pool_bytes = 512u << 10, .gate_budget_bytes = 64u << 10, .overdraft_bytes_max = 32u << 10});
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelThreadsTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteTcp,
                                           RigKind::kRemoteUnix));

}  // namespace
}  // namespace freshet
