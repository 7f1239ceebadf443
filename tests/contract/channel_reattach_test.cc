#include <algorithm>
#include <map>

#include "runtime/base/random.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

constexpr uint64_t kRetainEverything = 1u << 30;

class ChannelReattachTest : public ::testing::TestWithParam<RigKind> {
 protected:
  ChannelRig& rig() {
    if (!rig_) rig_ = std::make_unique<ChannelRig>(GetParam(), ChannelRig::Settings{});
    return *rig_;
  }

  std::shared_ptr<ResultPartition> partition(AttemptNumber attempt, uint64_t retained_bytes_max,
                                             std::vector<ChannelPosition> start = {}) {
    auto options = rig().partition_options(0, 2);
    options.hash = true;
    options.attempt = attempt;
    options.retained_bytes_max = retained_bytes_max;
    options.start = std::move(start);
    return rig().partition(options);
  }

  InputGate::Options gate_options(AttemptNumber attempt, std::vector<ChannelPosition> start = {}) {
    auto options = rig().gate_options(0, 1);
    options.hash = true;
    options.consumer.attempt = attempt;
    options.start = std::move(start);
    return options;
  }

  /// A gate whose producer is gone, attempt 0, of which it took all words.
  std::shared_ptr<InputGate> gate_that_took(const std::vector<std::string>& words) {
    auto producer = partition(0, 0);
    auto gate = rig().gate(gate_options(0));
    write(*producer, words);
    EXPECT_TRUE(receive(*gate, words.size()));
    producer->release();
    return gate;
  }

  InputGate::Move move_to(AttemptNumber attempt) {
    return {0, 1, attempt, rig().producer_location()};
  }

  void write(ResultPartition& partition, const std::vector<std::string>& words) {
    for (const std::string& word : words) write_record(partition, 0, word);
    partition.flush();
  }

  /// Takes until `count` elements came in all.
  bool receive(InputGate& gate, size_t count) {
    return rig().wait_until([&] {
      drain(gate, &received_);
      return received_.size() >= count;
    });
  }

  std::vector<std::string> words() const {
    std::vector<std::string> words;
    for (const Received& one : received_) words.push_back(one.payload);
    return words;
  }

  bool was_lost_for(StatusCode code) {
    const auto losses = rig().signals().losses();
    return std::ranges::any_of(losses,
                               [&](const ChannelLoss& loss) { return loss.cause.code() == code; });
  }
  bool lost_for(StatusCode code) {
    return rig().wait_until([&] { return was_lost_for(code); });
  }

  std::unique_ptr<ChannelRig> rig_;
  std::vector<Received> received_;
};

TEST_P(ChannelReattachTest, FeedsANewConsumerBehindWhatTheFormerTook) {
  auto producer = partition(0, kRetainEverything);
  auto former = rig().gate(gate_options(0));
  write(*producer, {"a", "b", "c"});
  ASSERT_TRUE(rig().wait_until([&] { return former->next_ready().has_value(); }));
  ASSERT_EQ(former->take_from(0)->payload, "a");
  write(*producer, {std::string(100'000, 'd'), "e"});  // On its way, and lost with the consumer.
  rig().run();
  const auto positions = former->positions();
  former->release();
  write(*producer, {"f"});
  auto next = rig().gate(gate_options(1, positions));
  write(*producer, {"g"});
  ASSERT_TRUE(receive(*next, 6));
  EXPECT_EQ(words(),
            (std::vector<std::string>{"b", "c", std::string(100'000, 'd'), "e", "f", "g"}));
  EXPECT_EQ(next->positions(), producer->positions());
  next->release();
  producer->release();
}

TEST_P(ChannelReattachTest, DoesNotSendAgainWhatTheConsumerHas) {
  auto gate = gate_that_took({"a", "b", "c"});
  auto next = partition(1, 0);
  write(*next, {"a", "b"});  // In one buffer with nothing else; the next one is cut.
  write(*next, {"c", "d"});
  ASSERT_TRUE(gate->reattach(move_to(1)).ok());
  write(*next, {"e"});
  next->end_of_data();
  ASSERT_TRUE(rig().wait_until([&] {
    drain(*gate, &received_);
    return gate->ended();
  }));
  EXPECT_EQ(words(), (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(gate->positions().at(0), next->positions().at(0));
  gate->release();
  next->release();
}

TEST_P(ChannelReattachTest, LosesAProducerThatWritesOtherElementsThanTheConsumerHas) {
  auto gate = gate_that_took({"a", "b", "c"});
  auto next = partition(1, 0);
  ASSERT_TRUE(gate->reattach(move_to(1)).ok());
  write(*next, {"a", "x", "c"});
  write(*next, {"d"});
  // Seen by the producer or, when both were one buffer, by the consumer.
  EXPECT_TRUE(rig().wait_until([&] {
    EXPECT_FALSE(gate->next_ready().has_value());
    return was_lost_for(StatusCode::kDataLoss);
  }));
  gate->release();
  next->release();
}

TEST_P(ChannelReattachTest, LosesAProducerThatEndsBeforeWhatTheConsumerHas) {
  auto gate = gate_that_took({"a", "b", "c"});
  auto next = partition(1, 0);
  ASSERT_TRUE(gate->reattach(move_to(1)).ok());
  write(*next, {"a"});
  next->end_of_data();
  EXPECT_TRUE(lost_for(StatusCode::kDataLoss));
  EXPECT_FALSE(gate->ended());
  gate->release();
  next->release();
}

TEST_P(ChannelReattachTest, GoesOnWithTheSameProducerFromWhatItRetained) {
  auto producer = partition(0, kRetainEverything);
  auto gate = rig().gate(gate_options(0));
  write(*producer, {"a", "b", "c", "d"});
  ASSERT_TRUE(rig().wait_until([&] { return gate->next_ready().has_value(); }));
  received_.push_back(
      {ElementKind::kRecord, 0, INT64_MIN, std::string(gate->take_from(0)->payload)});
  ASSERT_TRUE(gate->reattach(move_to(0)).ok());
  producer->end_of_data();
  ASSERT_TRUE(rig().wait_until([&] {
    drain(*gate, &received_);
    return gate->ended();
  }));
  EXPECT_EQ(words(), (std::vector<std::string>{"a", "b", "c", "d"}));
  gate->release();
  producer->release();
}

TEST_P(ChannelReattachTest, RefusesAConsumerThatMissesWhatWasNotRetained) {
  auto producer = partition(0, 300);
  auto former = rig().gate(gate_options(0));
  for (const char letter : {'a', 'b', 'c'}) write(*producer, {std::string(200, letter)});
  ASSERT_TRUE(receive(*former, 3));
  former->release();
  auto behind = rig().gate(gate_options(1));
  EXPECT_TRUE(lost_for(StatusCode::kFailedPrecondition));
  behind->release();
  producer->release();
}

TEST_P(ChannelReattachTest, DoesNotHoldUpTheProducerWhileItsConsumerIsAway) {
  for (const uint64_t retained : {uint64_t{0}, uint64_t{10'000}}) {
    auto producer = partition(0, retained);
    auto gate = rig().gate(gate_options(0));
    const std::string word(1000, 'w');
    while (producer->available()) write(*producer, {word});
    gate->release();
    for (int i = 0; i < 20'000; ++i) {
      write(*producer, {word});
      ASSERT_TRUE(rig().wait_until([&] { return producer->available(); })) << i;
    }
    producer->release();
  }
}

TEST_P(ChannelReattachTest, RefusesToMoveProducersThatItDoesNotHave) {
  auto gate = rig().gate(gate_options(0));
  InputGate::Move move = move_to(1);
  move.end = 2;
  EXPECT_EQ(gate->reattach(move).code(), StatusCode::kInvalidArgument);
  move.end = 0;
  EXPECT_EQ(gate->reattach(move).code(), StatusCode::kInvalidArgument);
  gate->release();
}

/// Producers and consumers that die and start again at any time. What a producer writes is a
/// function of its index.
class Churn {
 public:
  static constexpr uint32_t kProducers = 3;
  static constexpr uint32_t kConsumers = 2;
  static constexpr uint32_t kElements = 300;

  Churn(ChannelRig& rig, uint64_t seed)
      : rig_(rig), random_(make_seeded_random(seed)), dataset_{static_cast<uint32_t>(seed)} {
    for (uint32_t p = 0; p < kProducers; ++p) start_producer(p);
    for (uint32_t c = 0; c < kConsumers; ++c) start_consumer(c, {});
  }
  ~Churn() {
    for (auto& consumer : consumers_) consumer.gate->release();
    for (auto& producer : producers_) producer.partition->release();
  }

  void step() {
    const auto p = static_cast<uint32_t>(random_->below(kProducers));
    const auto c = static_cast<uint32_t>(random_->below(kConsumers));
    const uint64_t action = random_->below(100);
    if (action < 45) {
      if (producers_[p].partition->available()) write(p);
    } else if (action < 50) {
      producers_[p].partition->flush();
    } else if (action < 70) {
      rig_.run_one();
    } else if (action < 94) {
      take_some(c, random_->below(20));
    } else if (action < 96) {
      restart_producer(p);
    } else if (action < 98) {
      restart_consumer(c);
    } else {
      move(c, p);
    }
  }

  bool finish() {
    return rig_.wait_until([&] {
      while (write_what_there_is_space_for()) take_everything();
      take_everything();
      return std::ranges::all_of(producers_, &Producer::ended) &&
             std::ranges::all_of(consumers_, [](const auto& one) { return one.gate->ended(); });
    });
  }

  void check() const {
    for (uint32_t p = 0; p < kProducers; ++p) {
      std::map<uint32_t, std::vector<std::string>> expected;
      for (uint32_t i = 0; i < kElements; ++i) expected[target_of(p, i)].push_back(payload(p, i));
      for (uint32_t c = 0; c < kConsumers; ++c) {
        const auto at = consumers_[c].received.find(p);
        const bool equal = at != consumers_[c].received.end() && at->second == expected[c];
        EXPECT_TRUE(equal) << "producer " << p << " consumer " << c << ": "
                           << difference(expected[c], at == consumers_[c].received.end()
                                                          ? std::vector<std::string>()
                                                          : at->second);
      }
    }
  }

 private:
  struct Producer {
    std::shared_ptr<ResultPartition> partition;
    AttemptNumber attempt = 0;
    uint32_t next = 0;
    bool ended = false;
  };
  struct Consumer {
    std::shared_ptr<InputGate> gate;
    AttemptNumber attempt = 0;
    std::map<uint32_t, std::vector<std::string>> received;
  };

  static std::string difference(const std::vector<std::string>& expected,
                                const std::vector<std::string>& got) {
    size_t at = 0;
    while (at < expected.size() && at < got.size() && expected[at] == got[at]) ++at;
    return std::to_string(got.size()) + " of " + std::to_string(expected.size()) +
           " elements, the first that differs is " + std::to_string(at);
  }

  static uint32_t target_of(uint32_t p, uint32_t i) { return (i * 7 + p) / 3 % kConsumers; }
  static std::string payload(uint32_t p, uint32_t i) {
    const size_t size = i % 40 == 13 ? 20'000 + i * 100 : (i * 31 + p) % 200;
    return std::string(size, static_cast<char>('a' + i % 26)) + std::to_string(i);
  }

  void start_producer(uint32_t p) {
    auto options = rig_.partition_options(p, kConsumers);
    options.dataset = dataset_;
    options.hash = true;
    options.attempt = producers_[p].attempt;
    options.retained_bytes_max = kRetainEverything;
    producers_[p].partition = rig_.partition(options);
    producers_[p].next = 0;
    producers_[p].ended = false;
  }

  void restart_producer(uint32_t p) {
    auto former = producers_[p].partition;
    const bool release_first = random_->one_in(2);
    if (release_first) former->release();
    ++producers_[p].attempt;
    start_producer(p);
    for (uint32_t c = 0; c < kConsumers; ++c) {
      if (random_->one_in(2)) write(p);
      move(c, p);
    }
    if (!release_first) former->release();
  }

  void start_consumer(uint32_t c, std::vector<ChannelPosition> start) {
    auto options = rig_.gate_options(c, kProducers);
    options.dataset = dataset_;
    options.hash = true;
    options.consumer.attempt = consumers_[c].attempt;
    options.start = std::move(start);
    options.producers.clear();
    for (uint32_t p = 0; p < kProducers; ++p)
      options.producers.push_back({p, p + 1, 0, producers_[p].attempt});
    consumers_[c].gate = rig_.gate(options);
  }

  void restart_consumer(uint32_t c) {
    auto positions = consumers_[c].gate->positions();
    consumers_[c].gate->release();
    ++consumers_[c].attempt;
    start_consumer(c, std::move(positions));
  }

  void move(uint32_t c, uint32_t p) {
    const InputGate::Move move{p, p + 1, producers_[p].attempt, rig_.producer_location()};
    ASSERT_TRUE(consumers_[c].gate->reattach(move).ok());
  }

  void write(uint32_t p) {
    Producer& producer = producers_[p];
    if (producer.ended) return;
    const uint32_t i = producer.next++;
    write_record(*producer.partition, target_of(p, i), payload(p, i), i % 5 == 0 ? i : INT64_MIN);
    if (i % 60 == 17) producer.partition->broadcast_event(ElementKind::kWatermark, "12345678");
    if (producer.next < kElements) return;
    producer.partition->end_of_data();
    producer.ended = true;
  }

  bool write_what_there_is_space_for() {
    bool written = false;
    for (uint32_t p = 0; p < kProducers; ++p) {
      while (!producers_[p].ended && producers_[p].partition->available()) {
        write(p);
        written = true;
      }
    }
    return written;
  }

  void take_everything() {
    for (uint32_t c = 0; c < kConsumers; ++c) take_some(c, UINT64_MAX);
  }

  void take_some(uint32_t c, uint64_t limit) {
    std::vector<uint32_t> ready;
    while (limit-- > 0) {
      consumers_[c].gate->ready(&ready);
      if (ready.empty()) return;
      const uint32_t producer = ready[random_->below(ready.size())];
      const auto element = consumers_[c].gate->take_from(producer);
      ASSERT_TRUE(element.has_value());
      if (element->kind == ElementKind::kRecord)
        consumers_[c].received[producer].emplace_back(element->payload);
    }
  }

  ChannelRig& rig_;
  const std::unique_ptr<Random> random_;
  const DatasetId dataset_;
  std::array<Producer, kProducers> producers_;
  std::array<Consumer, kConsumers> consumers_;
};

TEST_P(ChannelReattachTest, DeliversEverythingOnceWhicheverEndIsReplaced) {
  const uint64_t seeds = rig().on_threads() ? 20 : 100;
  for (uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    Churn churn(rig(), seed);
    for (int step = 0; step < 2000; ++step) churn.step();
    EXPECT_TRUE(churn.finish());
    churn.check();
    for (const ChannelLoss& loss : rig().signals().losses()) {
      EXPECT_TRUE(loss.cause.code() == StatusCode::kUnavailable ||
                  loss.cause.code() == StatusCode::kAborted)
          << loss.cause.to_string();
    }
    EXPECT_FALSE(HasFailure()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelReattachTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp, RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
