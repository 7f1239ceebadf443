#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <tuple>

#include "runtime/base/random.h"
#include "runtime/base/thread_executor.h"
#include "tests/contract/channel_rig.h"
#include "tests/contract/channel_task.h"

namespace freshet {
namespace {

// Of each test; 18 run, one per way, with and without a file, and per who goes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kRounds = 12;
#else
constexpr uint64_t kRounds = 60;
#endif

constexpr uint32_t kProducers = 2;
constexpr uint32_t kConsumers = 2;

/// Works until it has handled so many records, or is told to stop; then releases what it has, on
/// its own thread, whatever is under way.
class Participant : public Task {
 public:
  Participant(Executor& executor, std::shared_ptr<Signals> signals)
      : Task(executor), signals_(std::move(signals)) {}

  void stop() {
    stopped_.store(true);
    wake();
  }

  uint64_t records_max = UINT64_MAX;     // Before start().
  std::function<void()> before_release;  // Likewise.
  uint64_t records() const { return records_.load(); }

 protected:
  /// Handles one record; false: it must wait.
  virtual bool work() = 0;
  virtual void release() = 0;

 private:
  void step() final {
    if (done()) return;
    for (; records_.load() < records_max && !stopped_.load(); records_.fetch_add(1))
      if (!work()) return;
    if (before_release) before_release();
    release();
    done_.store(true);
    signals_->raise();
  }

  const std::shared_ptr<Signals> signals_;
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> records_{0};
};

constexpr uint64_t kAtOnceMax = 6000;

class Producer final : public Participant {
 public:
  Producer(Executor& executor, std::shared_ptr<Signals> signals, uint64_t seed, uint64_t at_once)
      : Participant(executor, std::move(signals)),
        random_(make_seeded_random(seed)),
        at_once_(at_once) {}
  std::shared_ptr<ResultPartition> partition;
  std::atomic<bool> spilled{false};

 private:
  bool may_write() {
    if (partition->available()) return true;
    if (partition->spilled()) spilled.store(true);
    while (partition->pay_back()) {
    }
    return partition->available();
  }

  bool work() override {
    if (records() % at_once_ == 0 && !may_write()) return false;
    const size_t size = random_->below(random_->one_in(100) ? 20'000 : 200);
    Encoder& encoder =
        partition->begin_record(static_cast<uint32_t>(random_->below(kConsumers)), INT64_MIN);
    encoder.write_fixed(records());
    encoder.write(text_.data(), size);
    partition->end_record();
    if (random_->one_in(300)) partition->flush();
    if (random_->one_in(1000)) partition->broadcast_event(ElementKind::kWatermark, "12345678");
    return true;
  }

  void release() override {
    partition->release();
    partition = nullptr;
  }

  const std::unique_ptr<Random> random_;
  const uint64_t at_once_;  // Records that it writes without asking.
  const std::string text_ = std::string(20'000, 'x');
};

class Consumer final : public Participant {
 public:
  using Participant::Participant;
  std::shared_ptr<InputGate> gate;
  std::atomic<bool> in_order{true};

 private:
  bool work() override {
    const auto producer = gate->next_ready();
    if (!producer) return false;
    const auto element = gate->take_from(*producer);
    if (element->kind != ElementKind::kRecord) return true;
    Decoder decoder(element->payload);
    const auto number = decoder.read_fixed<uint64_t>();
    if (number < next_[*producer]) in_order.store(false);
    next_[*producer] = number + 1;
    return true;
  }

  void release() override {
    gate->release();
    gate = nullptr;
  }

  std::array<uint64_t, kProducers> next_{};
};

/// Two producers and two consumers, each on its own thread, until one of them goes. When they are
/// to spill, nobody reads before.
class Traffic {
 public:
  Traffic(ChannelRig& rig, uint64_t seed, bool spilling)
      : rig_(rig), random_(make_seeded_random(seed)), spilling_(spilling) {
    for (uint32_t i = 0; i < kProducers; ++i) {
      auto producer =
          std::make_shared<Producer>(threads_[i], signals_, random_->next(),
                                     spilling ? 2000 + random_->below(kAtOnceMax - 2000) : 1);
      auto options = rig.partition_options(i, kConsumers);
      options.wake = waker(producer);
      producer->partition = rig.partition(options);
      producers_.push_back(producer);
    }
    for (uint32_t i = 0; i < kConsumers; ++i) {
      auto consumer = std::make_shared<Consumer>(threads_[kProducers + i], signals_);
      auto options = rig.gate_options(i, kProducers);
      options.wake = waker(consumer);
      options.on_loss = [wake = options.wake](const ChannelLoss&) { wake(); };
      consumer->gate = rig.gate(options);
      consumers_.push_back(consumer);
    }
  }

  Participant& any_producer() { return *producers_[random_->below(kProducers)]; }
  Participant& any_consumer() { return *consumers_[random_->below(kConsumers)]; }

  /// `who` goes after a number of records by chance; then the others do, in an order by chance.
  void run_until_gone(Participant& who) {
    // A producer that is to spill does not go before.
    who.records_max = 1 + random_->below(4000) + (spilling_ ? kAtOnceMax : 0);
    std::vector<Participant*> all;
    for (auto& producer : producers_) all.push_back(producer.get());
    for (auto& consumer : consumers_) all.push_back(consumer.get());
    for (auto& producer : producers_) producer->start();
    EXPECT_TRUE(!spilling_ || wait_until([&] { return spilled(); }));
    for (auto& consumer : consumers_) consumer->start();
    EXPECT_TRUE(wait_until([&] { return who.done(); }));
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_->below(i)]);
    for (Participant* participant : all) participant->stop();
    EXPECT_TRUE(wait_until([&] { return std::ranges::all_of(all, &Participant::done); }));
    for (ThreadExecutor& thread : threads_) thread.stop();
    for (auto& consumer : consumers_) EXPECT_TRUE(consumer->in_order);
    EXPECT_TRUE(
        wait_until([&] { return all_free(rig_.producing()) && all_free(rig_.consuming()); }));
    rig_.producing().shut_down();
    rig_.consuming().shut_down();
    // With its captures every callback is gone, so none can come.
    EXPECT_TRUE(wait_until([&] { return callbacks_.use_count() == 1; }));
  }

 private:
  bool spilled() const {
    return std::ranges::any_of(producers_, [](const auto& one) { return one->spilled.load(); });
  }

  static bool all_free(const ShuffleEnvironment& environment) {
    return environment.free_bytes() == environment.total_bytes();
  }

  std::function<void()> waker(const std::shared_ptr<Participant>& participant) {
    return [weak = std::weak_ptr(participant), callbacks = callbacks_] {
      if (const auto strong = weak.lock()) strong->wake();
    };
  }

  template <class Condition>
  bool wait_until(Condition&& condition) {
    for (int round = 0; round < 30'000; ++round) {
      if (condition()) return true;
      signals_->wait();
    }
    return false;
  }

  ChannelRig& rig_;
  const std::unique_ptr<Random> random_;
  const bool spilling_;
  ManualClock clock_;
  ThreadExecutor threads_[kProducers + kConsumers] = {
      {"p0", clock_}, {"p1", clock_}, {"c0", clock_}, {"c1", clock_}};
  const std::shared_ptr<Signals> signals_ = std::make_shared<Signals>();
  const std::shared_ptr<int> callbacks_ = std::make_shared<int>();  // Its owners are callbacks.
  std::vector<std::shared_ptr<Producer>> producers_;
  std::vector<std::shared_ptr<Consumer>> consumers_;
};

/// How elements travel, and whether producers spill.
class ChannelReleaseTest : public ::testing::TestWithParam<std::tuple<RigKind, bool>> {
 protected:
  template <class Go>
  static void repeat(Go&& go) {
    const auto [kind, spilling] = GetParam();
    for (uint64_t seed = 1; seed <= kRounds && !HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      ChannelRig rig(kind, {.pool_bytes = 256u << 10,
                            .gate_budget_bytes = 64u << 10,
                            .overdraft_bytes_max = spilling ? 32u << 10 : 1ull << 40,
                            .disk_on_thread = true});
      Traffic traffic(rig, seed, spilling);
      go(rig, traffic, seed);
    }
  }
};

TEST_P(ChannelReleaseTest, NothingIsLeftOfAGateThatGoesInTheMiddleOfTraffic) {
  repeat([](ChannelRig&, Traffic& traffic, uint64_t) {
    traffic.run_until_gone(traffic.any_consumer());
  });
}

TEST_P(ChannelReleaseTest, NothingIsLeftOfAPartitionThatGoesInTheMiddleOfTraffic) {
  repeat([](ChannelRig&, Traffic& traffic, uint64_t) {
    traffic.run_until_gone(traffic.any_producer());
  });
}

TEST_P(ChannelReleaseTest, NothingIsLeftOfAnEnvironmentThatGoesInTheMiddleOfTraffic) {
  repeat([](ChannelRig& rig, Traffic& traffic, uint64_t seed) {
    const bool producing = seed % 2 == 0;
    Participant& who = producing ? traffic.any_producer() : traffic.any_consumer();
    who.before_release = [&] { (producing ? rig.producing() : rig.consuming()).shut_down(); };
    traffic.run_until_gone(who);
  });
}

TEST_P(ChannelReleaseTest, AnIdleConnectionKeepsNothingOfAGateThatIsGone) {
  ChannelRig rig(std::get<RigKind>(GetParam()), {});
  auto partition = rig.partition(rig.partition_options(0, 1));
  const auto callbacks = std::make_shared<int>();
  auto options = rig.gate_options(0, 1);
  options.on_loss = [callbacks](const ChannelLoss&) {};
  auto gate = rig.gate(options);
  options = {};
  partition->begin_record(0, INT64_MIN).write("word", 4);
  partition->end_record();
  partition->flush();
  EXPECT_TRUE(rig.wait_until([&] { return gate->next_ready().has_value(); }));
  EXPECT_TRUE(gate->take_from(0));
  gate->release();
  gate = nullptr;
  EXPECT_TRUE(rig.wait_until([&] { return callbacks.use_count() == 1; }));
  partition->release();
}

INSTANTIATE_TEST_SUITE_P(
    AllChannels, ChannelReleaseTest,
    ::testing::Combine(::testing::Values(RigKind::kLocal, RigKind::kRemoteTcp,
                                         RigKind::kRemoteUnix),
                       ::testing::Bool()),
    [](const auto& info) {
      return rig_name({std::get<0>(info.param), 0}) + (std::get<1>(info.param) ? "Spilling" : "");
    });

}  // namespace
}  // namespace freshet
