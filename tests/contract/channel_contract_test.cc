#include <algorithm>
#include <map>

#include "runtime/base/random.h"
#include "tests/contract/channel_rig.h"

namespace freshet {
namespace {

class ChannelContractTest : public ::testing::TestWithParam<RigKind> {
 protected:
  ChannelRig& rig(ChannelRig::Settings settings = {}) {
    if (!rig_) rig_ = std::make_unique<ChannelRig>(GetParam(), settings);
    return *rig_;
  }

  /// Takes from `gate` until it ended.
  bool drain_to_end(InputGate& gate, std::vector<Received>* received) {
    return rig().wait_until([&] {
      drain(gate, received);
      return gate.ended();
    });
  }

  std::unique_ptr<ChannelRig> rig_;
};

/// Of channels that have a connection.
class RemoteChannelContractTest : public ChannelContractTest {};

std::string payload_of(size_t size, uint64_t seed) {
  std::string payload(size, '\0');
  auto random = make_seeded_random(seed);
  for (size_t i = 0; i < size; i += 8) {
    const uint64_t word = random->next();
    payload.replace(i, std::min<size_t>(8, size - i), reinterpret_cast<const char*>(&word),
                    std::min<size_t>(8, size - i));
  }
  return payload;
}

TEST_P(ChannelContractTest, CarriesRecordsOfAnySize) {
  auto options = rig().partition_options(0, 1);
  options.hash = true;
  auto partition = rig().partition(options);
  auto gate_options = rig().gate_options(0, 1);
  gate_options.hash = true;
  auto gate = rig().gate(gate_options);
  std::vector<std::string> sent;
  std::vector<Received> received;
  for (size_t size :
       {0u,    1u,    2u,    126u,   127u,   128u,    129u,       500u,      511u, 512u, 513u,
        4095u, 4096u, 5000u, 16384u, 32768u, 40'000u, 1'000'000u, 10u << 20, 1u,   3u}) {
    sent.push_back(payload_of(size, size));
    // Some with timestamps: their presence changes within the stream.
    write_record(*partition, 0, sent.back(),
                 size % 2 == 0 ? static_cast<EpochMillis>(size) : INT64_MIN);
  }
  partition->end_of_data();
  ASSERT_TRUE(drain_to_end(*gate, &received));
  ASSERT_EQ(received.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_TRUE(received[i].payload == sent[i]) << sent[i].size();
    EXPECT_EQ(received[i].timestamp,
              sent[i].size() % 2 == 0 ? static_cast<EpochMillis>(sent[i].size()) : INT64_MIN);
  }
  EXPECT_EQ(partition->positions(), gate->positions());
  EXPECT_NE(gate->positions().at(0).hash, 0u);
  EXPECT_EQ(gate->records_read(), partition->records_written());
  EXPECT_EQ(gate->bytes_read(), partition->bytes_written());
  gate->release();
  partition->release();
}

TEST_P(ChannelContractTest, CarriesRecordsOfOneSizeInOrder) {
  for (const uint32_t size : {1u, 7u, 8u, 100u, 1000u}) {
    auto options = rig().partition_options(0, 1);
    options.dataset = DatasetId{size};
    options.fixed_record_size = size;
    auto partition = rig().partition(options);
    auto gate_options = rig().gate_options(0, 1);
    gate_options.dataset = DatasetId{size};
    gate_options.fixed_record_size = size;
    auto gate = rig().gate(gate_options);
    std::vector<Received> received;
    for (uint32_t i = 0; i < 5000; ++i) {
      if (i % 1000 == 17) partition->flush();
      write_record(*partition, 0, payload_of(size, i), kNoTimestamp, size);
    }
    partition->end_of_data();
    ASSERT_TRUE(drain_to_end(*gate, &received));
    ASSERT_EQ(received.size(), 5000u);
    for (uint32_t i = 0; i < 5000; ++i)
      ASSERT_TRUE(received[i].payload == payload_of(size, i)) << i;
    gate->release();
    partition->release();
  }
}

TEST_P(ChannelContractTest, KeepsEventsInTheirPlaces) {
  auto partition = rig().partition(rig().partition_options(0, 2));
  auto first = rig().gate(rig().gate_options(0, 1));
  auto second = rig().gate(rig().gate_options(1, 1));
  write_record(*partition, 0, "a");
  partition->broadcast_event(ElementKind::kWatermark, "12345678");
  write_record(*partition, 0, "b");
  partition->broadcast_event(ElementKind::kBarrier, "0123456789abcdef");
  partition->broadcast_event(ElementKind::kStatus, "1");
  write_record(*partition, 1, "c");
  partition->end_of_data();
  std::vector<Received> at_first;
  std::vector<Received> at_second;
  ASSERT_TRUE(drain_to_end(*first, &at_first));
  ASSERT_TRUE(drain_to_end(*second, &at_second));
  const Received watermark{ElementKind::kWatermark, 0, INT64_MIN, "12345678"};
  const Received barrier{ElementKind::kBarrier, 0, INT64_MIN, "0123456789abcdef"};
  const Received status{ElementKind::kStatus, 0, INT64_MIN, "1"};
  const auto record = [](const char* text) {
    return Received{ElementKind::kRecord, 0, INT64_MIN, text};
  };
  EXPECT_EQ(at_first,
            (std::vector<Received>{record("a"), watermark, record("b"), barrier, status}));
  EXPECT_EQ(at_second, (std::vector<Received>{watermark, barrier, status, record("c")}));
  EXPECT_EQ(first->positions().at(0).elements, 4u);  // Barriers have no number.
  first->release();
  second->release();
  partition->release();
}

TEST_P(ChannelContractTest, GivesTheSameToAllConsumers) {
  for (const bool hash : {false, true}) {
    auto random = make_seeded_random(7);
    auto options = rig().partition_options(0, 3);
    options.dataset = DatasetId{hash ? 1u : 0u};
    options.hash = hash;
    auto partition = rig().partition(options);
    partition->write_to_all();
    std::vector<std::shared_ptr<InputGate>> gates;
    std::vector<std::vector<Received>> received(3);
    std::vector<std::string> sent;
    for (uint32_t i = 0; i < 600; ++i) {
      if (i % 100 == 0 && gates.size() < 3) {  // They come one after the other.
        auto gate_options = rig().gate_options(static_cast<uint32_t>(gates.size()), 1);
        gate_options.dataset = options.dataset;
        gate_options.hash = hash;
        gates.push_back(rig().gate(gate_options));
      }
      sent.emplace_back(random->below(random->one_in(20) ? 9000 : 40),
                        static_cast<char>('a' + i % 26));
      write_record(*partition, 0, sent.back());
      if (random->one_in(9)) partition->flush();
      if (random->one_in(50)) {
        partition->broadcast_event(ElementKind::kWatermark, "12345678");
        sent.emplace_back("12345678");
      }
      for (size_t g = 0; g < gates.size(); ++g) drain(*gates[g], &received[g]);
    }
    partition->end_of_data();
    EXPECT_TRUE(rig().wait_until([&] {
      bool ended = true;
      for (size_t g = 0; g < gates.size(); ++g) {
        drain(*gates[g], &received[g]);
        ended = gates[g]->ended() && ended;
      }
      return ended;
    }));
    for (const auto& one : received) {
      ASSERT_EQ(one.size(), sent.size()) << "hash " << hash;
      for (size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(one[i].payload, sent[i]) << i;
    }
    for (auto& gate : gates) gate->release();
    partition->release();
  }
}

TEST_P(ChannelContractTest, HoldsNothingBackAfterFlush) {
  auto partition = rig().partition(rig().partition_options(0, 1));
  auto gate = rig().gate(rig().gate_options(0, 1));
  EXPECT_FALSE(partition->wants_flush());
  write_record(*partition, 0, "word");
  EXPECT_TRUE(partition->wants_flush());
  partition->flush();
  std::vector<Received> received;
  EXPECT_TRUE(rig().wait_until([&] { return drain(*gate, &received), received.size() == 1; }));
  partition->flush();  // Nothing came since: the memory goes.
  EXPECT_FALSE(partition->wants_flush());
  EXPECT_FALSE(gate->ended());
  gate->release();
  partition->release();
}

TEST_P(ChannelContractTest, FeedsAGateThatCameBeforeThePartition) {
  auto gate = rig().gate(rig().gate_options(0, 2));
  rig().run();
  auto first = rig().partition(rig().partition_options(0, 1));
  write_record(*first, 0, "early");
  first->end_of_data();
  auto second = rig().partition(rig().partition_options(1, 1));
  second->end_of_data();
  std::vector<Received> received;
  ASSERT_TRUE(drain_to_end(*gate, &received));
  EXPECT_EQ(received.size(), 1u);
  gate->release();
  first->release();
  second->release();
}

TEST_P(ChannelContractTest, EndsAGateThatComesAfterTheEnd) {
  auto partition = rig().partition(rig().partition_options(0, 2));
  write_record(*partition, 0, "kept");
  partition->end_of_data();
  auto with_data = rig().gate(rig().gate_options(0, 1));
  auto without = rig().gate(rig().gate_options(1, 1));
  std::vector<Received> received;
  ASSERT_TRUE(drain_to_end(*with_data, &received));
  EXPECT_EQ(received.size(), 1u);
  ASSERT_TRUE(drain_to_end(*without, &received));
  EXPECT_EQ(received.size(), 1u);
  partition->release();
  EXPECT_TRUE(rig().signals().losses().empty());  // They have everything.
  with_data->release();
  without->release();
}

TEST_P(ChannelContractTest, DoesNotFeedFromAnotherAttempt) {
  auto wanted = rig().gate_options(0, 1);
  wanted.producers[0].attempt = 1;
  auto gate = rig().gate(wanted);
  auto old = rig().partition(rig().partition_options(0, 1));
  write_record(*old, 0, "old");
  old->end_of_data();
  auto options = rig().partition_options(0, 1);
  options.attempt = 1;
  auto current = rig().partition(options);
  write_record(*current, 0, "new");
  current->end_of_data();
  std::vector<Received> received;
  ASSERT_TRUE(drain_to_end(*gate, &received));
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].payload, "new");
  gate->release();
  old->release();
  current->release();
}

TEST_P(ChannelContractTest, StartsWhereItIsTold) {
  const ChannelPosition start{0, 1'000'000'000'000, 77};
  auto options = rig().partition_options(0, 2);
  options.hash = true;
  options.start = {start};
  auto partition = rig().partition(options);
  auto gate_options = rig().gate_options(0, 1);
  gate_options.hash = true;
  gate_options.start = {start};
  auto gate = rig().gate(gate_options);
  auto elsewhere = rig().gate_options(1, 1);
  elsewhere.start = {{0, 5, 0}};
  auto refused = rig().gate(elsewhere);
  write_record(*partition, 0, "next");
  write_record(*partition, 1, "first");
  partition->end_of_data();
  std::vector<Received> received;
  ASSERT_TRUE(drain_to_end(*gate, &received));
  EXPECT_EQ(received.size(), 1u);
  EXPECT_EQ(gate->positions().at(0).elements, start.elements + 1);
  EXPECT_EQ(gate->positions().at(0), partition->positions().at(0));
  ASSERT_TRUE(rig().wait_until([&] { return rig().signals().losses().size() == 1; }));
  EXPECT_FALSE(refused->next_ready().has_value());
  gate->release();
  refused->release();
  partition->release();
}

TEST_P(ChannelContractTest, KeepsOthersGoingWhenOneChannelIsSlow) {
  ChannelRig& rig = this->rig({.pool_bytes = 8u << 20, .gate_budget_bytes = 4096});
  auto partition = rig.partition(rig.partition_options(0, 2));
  auto other = rig.partition(rig.partition_options(1, 2));
  auto slow = rig.gate(rig.gate_options(0, 2));
  auto fast = rig.gate(rig.gate_options(1, 2));
  const std::string payload(300, 'x');
  std::vector<Received> received;
  size_t to_fast = 0;
  // The first partition is stopped by what the slow consumer does not take, and by nothing else.
  for (int round = 0; round < 100 && partition->available(); ++round) {
    while (partition->available()) {
      for (int i = 0; i < 50; ++i) write_record(*partition, 0, payload);
      write_record(*partition, 1, payload);
      ++to_fast;
      partition->flush();
      ASSERT_LT(to_fast, 100'000u);
    }
    ASSERT_TRUE(
        rig.wait_until([&] { return drain(*fast, &received), received.size() == to_fast; }));
  }
  EXPECT_FALSE(partition->available());
  // The other one goes on, over the same connection.
  for (int i = 0; i < 1000; ++i) {
    write_record(*other, 1, payload);
    ++to_fast;
    other->flush();
  }
  ASSERT_TRUE(rig.wait_until([&] { return drain(*fast, &received), received.size() == to_fast; }));
  EXPECT_FALSE(partition->available());
  // When the slow one takes, the first partition goes on.
  std::vector<Received> at_slow;
  ASSERT_TRUE(rig.wait_until([&] { return drain(*slow, &at_slow), partition->available(); }));
  slow->release();
  fast->release();
  partition->release();
  other->release();
}

TEST_P(ChannelContractTest, GivesBackTheLastBufferThatWasReadBeforeItWaits) {
  ChannelRig& rig = this->rig({.pool_bytes = 256u << 10, .gate_budget_bytes = 4096});
  auto partition = rig.partition(rig.partition_options(0, 1));
  auto gate = rig.gate(rig.gate_options(0, 1));
  // The last block comes from the heap, and the producer goes on once it is back.
  for (int i = 0; i < 500; ++i) write_record(*partition, 0, std::string(1000, 'x'));
  partition->flush();
  EXPECT_FALSE(partition->available());
  std::vector<Received> received;
  ASSERT_TRUE(rig.wait_until([&] { return drain(*gate, &received), received.size() == 500u; }));
  EXPECT_FALSE(gate->next_ready().has_value());
  EXPECT_TRUE(rig.wait_until([&] { return partition->available(); }));
  gate->release();
  partition->release();
}

TEST_P(ChannelContractTest, BoundsWhatIsInFlightAndWakesTheProducer) {
  auto partition = rig().partition(rig().partition_options(0, 1));
  auto gate = rig().gate(rig().gate_options(0, 1));
  const std::string payload(1000, 'y');
  uint64_t written = 0;
  uint64_t taken = 0;
  std::vector<Received> received;
  for (int round = 0; round < 20; ++round) {
    const uint64_t before = written;
    while (partition->available() && written < before + 100'000) {
      write_record(*partition, 0, payload);
      ++written;
      rig().run();
    }
    ASSERT_LT((written - taken) * payload.size(), 4u << 20);
    const uint64_t signals = rig().signals().count();
    ASSERT_TRUE(rig().wait_until([&] {
      drain(*gate, &received);
      taken += received.size();
      received.clear();
      return partition->available() && rig().signals().count() > signals;
    }));
  }
  gate->release();
  partition->release();
}

TEST_P(ChannelContractTest, GivesEverythingBackWhenReleasedInAnyState) {
  // The rig's destructor sees that every segment is free.
  for (int state = 0; state < 8; ++state) {
    auto options = rig().partition_options(0, 2);
    options.dataset = DatasetId{static_cast<uint32_t>(state)};
    auto partition = rig().partition(options);
    auto gate_options = rig().gate_options(0, 1);
    gate_options.dataset = options.dataset;
    auto gate = rig().gate(gate_options);
    write_record(*partition, 0, payload_of(100'000, 1));
    write_record(*partition, 1, payload_of(100'000, 2));
    if (state & 1) rig().run();
    if (state & 2) (void)gate->next_ready();
    if (state & 4) {
      partition->release();
      rig().run();
      gate->release();
    } else {
      gate->release();
      rig().run();
      partition->release();
    }
  }
}

TEST_P(ChannelContractTest, TellsWhichProducersWentAwayBeforeTheirEnd) {
  auto options = rig().gate_options(0, 6);
  options.producers = {{0, 2, 0, 0}, {3, 6, 0, 0}};
  auto gate = rig().gate(options);
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (uint32_t producer = 0; producer < 6; ++producer) {
    partitions.push_back(rig().partition(rig().partition_options(producer, 1)));
    if (producer != 4) write_record(*partitions.back(), 0, "something");
  }
  partitions[3]->end_of_data();
  partitions[1]->flush();
  std::vector<Received> received;
  ASSERT_TRUE(rig().wait_until([&] { return drain(*gate, &received), received.size() == 2; }));
  for (auto& partition : partitions) partition->release();
  ASSERT_TRUE(rig().wait_until([&] { return rig().signals().losses().size() == 4; }));
  std::vector<uint32_t> lost;
  for (const ChannelLoss& loss : rig().signals().losses()) {
    EXPECT_EQ(loss.task_manager, TaskManagerId{1});
    EXPECT_FALSE(loss.cause.ok());
    for (uint32_t p = loss.producer_begin; p < loss.producer_end; ++p) lost.push_back(p);
  }
  EXPECT_EQ(lost, (std::vector<uint32_t>{0, 1, 4, 5}));
  gate->release();
}

TEST_P(RemoteChannelContractTest, LosesExactlyTheChannelsOfAConnectionThatIsCut) {
  auto options = rig().gate_options(0, 5);
  options.producers = {{0, 2, 0, 0}, {2, 3, 1, 0}, {3, 5, 0, 0}};
  options.locations.push_back({TaskManagerId{2}, rig().consuming().data_address()});
  auto gate = rig().gate(options);
  auto ended = rig().partition(rig().partition_options(1, 1));
  auto open = rig().partition(rig().partition_options(4, 1));
  ended->end_of_data();
  write_record(*open, 0, "before the cut");
  open->flush();
  std::vector<Received> received;
  ASSERT_TRUE(rig().wait_until([&] { return drain(*gate, &received), received.size() == 1; }));
  rig().producing().shut_down();
  ASSERT_TRUE(rig().wait_until([&] { return rig().signals().losses().size() == 2; }));
  const std::vector<ChannelLoss> losses = rig().signals().losses();
  EXPECT_EQ(losses[0].producer_begin, 0u);
  EXPECT_EQ(losses[0].producer_end,
            1u);  // The end of producer 1 is known; producer 2 is elsewhere.
  EXPECT_EQ(losses[1].producer_begin, 3u);
  EXPECT_EQ(losses[1].producer_end, 5u);
  gate->release();
  ended->release();
  open->release();
}

TEST_P(RemoteChannelContractTest, ReportsALossWhenThePeerCannotBeReached) {
  const Address gone = rig().producing().data_address();
  rig().producing().shut_down();
  rig().run();
  auto options = rig().gate_options(0, 3);
  options.locations[0].address = gone;
  for (size_t losses = 0; losses < 200; ++losses) {  // The connection may fail at any moment.
    auto gate = rig().gate(options);
    ASSERT_TRUE(rig().wait_until([&] { return rig().signals().losses().size() > losses; }));
    gate->release();
  }
  for (const ChannelLoss& loss : rig().signals().losses()) {
    EXPECT_EQ(loss.producer_end, 3u);
    EXPECT_NE(loss.cause.message().find(gone.to_string()), std::string::npos);
  }
}

/// False when no run can be taken.
bool take_run(InputGate& gate, uint32_t producer, std::vector<std::string>* received) {
  const bool stop = false;
  std::optional<RecordRun> run = gate.begin_run(producer, 5, &stop);
  if (!run) return false;
  std::string_view payload;
  EpochMillis timestamp = 0;
  while (run->next(&payload, &timestamp)) received->emplace_back(payload);
  gate.end_run(producer, *run);
  return run->records() > 0;
}

TEST_P(ChannelContractTest, DeliversEverythingInOrderUnderRandomInterleavings) {
  constexpr uint32_t kProducers = 3;
  constexpr uint32_t kConsumers = 3;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto random = make_seeded_random(seed);
    std::vector<std::shared_ptr<ResultPartition>> partitions;
    std::vector<std::shared_ptr<InputGate>> gates;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::string>> sent;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::string>> received;
    for (uint32_t p = 0; p < kProducers; ++p) {
      auto options = rig().partition_options(p, kConsumers);
      options.dataset = DatasetId{static_cast<uint32_t>(seed)};
      options.hash = true;
      partitions.push_back(rig().partition(options));
    }
    for (uint32_t c = 0; c < kConsumers; ++c) {
      auto options = rig().gate_options(c, kProducers);
      options.dataset = DatasetId{static_cast<uint32_t>(seed)};
      options.hash = true;
      gates.push_back(rig().gate(options));
    }
    const auto take_some = [&](uint32_t c, uint64_t limit) {
      std::vector<uint32_t> ready;
      while (limit-- > 0) {
        gates[c]->ready(&ready);
        if (ready.empty()) return;
        const uint32_t producer = ready[random->below(ready.size())];
        if (random->one_in(2) && take_run(*gates[c], producer, &received[{producer, c}])) continue;
        const auto element = gates[c]->take_from(producer);
        ASSERT_TRUE(element.has_value());
        if (element->kind == ElementKind::kRecord)
          received[{producer, c}].emplace_back(element->payload);
      }
    };
    for (int step = 0; step < 3000; ++step) {
      const auto p = static_cast<uint32_t>(random->below(kProducers));
      const auto c = static_cast<uint32_t>(random->below(kConsumers));
      const uint64_t action = random->below(20);
      if (action < 10 && partitions[p]->available()) {
        const std::string payload =
            payload_of(random->below(random->one_in(50) ? 50'000 : 300), step);
        write_record(*partitions[p], c, payload, random->one_in(3) ? INT64_MIN : step);
        sent[{p, c}].push_back(payload);
      } else if (action == 10) {
        partitions[p]->flush();
      } else if (action == 11) {
        partitions[p]->broadcast_event(ElementKind::kWatermark, "12345678");
      } else if (action < 16) {
        if (!rig().on_threads()) rig().executor().run_one();
      } else {
        take_some(c, random->below(20));
      }
    }
    for (auto& partition : partitions) partition->end_of_data();
    ASSERT_TRUE(rig().wait_until([&] {
      bool ended = true;
      for (uint32_t c = 0; c < kConsumers; ++c) {
        take_some(c, UINT64_MAX);
        ended = gates[c]->ended() && ended;
      }
      return ended;
    })) << "seed "
        << seed;
    EXPECT_TRUE(sent == received) << "seed " << seed;
    for (auto& gate : gates) gate->release();
    for (auto& partition : partitions) partition->release();
  }
}

TEST_P(RemoteChannelContractTest, PutsLargeBuffersTogetherAgain) {
  auto gate = rig().gate(rig().gate_options(0, 2));
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (uint32_t p = 0; p < 2; ++p)
    partitions.push_back(rig().partition(rig().partition_options(p, 1)));
  std::map<uint32_t, std::vector<std::string>> sent;
  std::map<uint32_t, std::vector<std::string>> received;
  const auto random = make_seeded_random(11);
  const auto take = [&] {
    std::vector<Received> taken;
    drain(*gate, &taken);
    for (Received& one : taken) received[one.producer].push_back(std::move(one.payload));
  };
  for (int i = 0; i < 4000; ++i) {
    const auto p = static_cast<uint32_t>(random->below(2));
    ASSERT_TRUE(rig().wait_until([&] { return take(), partitions[p]->available(); }));
    sent[p].push_back(payload_of(random->below(i % 10 == 0 ? 40'000 : 4'000), i));
    write_record(*partitions[p], 0, sent[p].back());
    if (random->one_in(5)) partitions[p]->flush();
  }
  for (auto& partition : partitions) partition->end_of_data();
  ASSERT_TRUE(rig().wait_until([&] { return take(), gate->ended(); }));
  EXPECT_TRUE(sent == received);
  gate->release();
  for (auto& partition : partitions) partition->release();
}

TEST_P(RemoteChannelContractTest, FreesWhatCameOfALargeBufferWhenItsConnectionIsCut) {
  for (int round = 0; round < 10; ++round) {
    // A rig of its own, which checks that all segments are free.
    ChannelRig rig(GetParam(), {});
    auto gate = rig.gate(rig.gate_options(0, 1));
    auto partition = rig.partition(rig.partition_options(0, 1));
    for (int i = 0; i < 20 && partition->available(); ++i)
      write_record(*partition, 0, payload_of(30'000, i));
    partition->flush();
    std::vector<Received> received;
    ASSERT_TRUE(rig.wait_until([&] { return drain(*gate, &received), !received.empty(); }));
    (round % 2 == 0 ? rig.producing() : rig.consuming()).shut_down();
    ASSERT_TRUE(rig.wait_until([&] { return !rig.signals().losses().empty(); }));
    gate->release();
    partition->release();
  }
}

INSTANTIATE_TEST_SUITE_P(AllChannels, ChannelContractTest,
                         ::testing::Values(RigKind::kLocal, RigKind::kRemoteInProcess,
                                           RigKind::kRemoteTcp, RigKind::kRemoteUnix),
                         rig_name);

INSTANTIATE_TEST_SUITE_P(AllConnections, RemoteChannelContractTest,
                         ::testing::Values(RigKind::kRemoteInProcess, RigKind::kRemoteTcp,
                                           RigKind::kRemoteUnix),
                         rig_name);

}  // namespace
}  // namespace freshet
