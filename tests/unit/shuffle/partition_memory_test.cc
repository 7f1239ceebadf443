#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "runtime/base/memory_file_system.h"
#include "runtime/base/random.h"
#include "shuffle/pipelined_environment.h"
#include "shuffle/pipelined_partition.h"

namespace freshet {
namespace {

class PartitionMemoryTest : public ::testing::Test {
 protected:
  PartitionMemoryTest() {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 8 * kLargeBlockBytes;
    environment_ = *ShuffleEnvironment::create(options, transport_);
  }
  ~PartitionMemoryTest() override {
    EXPECT_EQ(environment_->free_bytes(), environment_->total_bytes());
    environment_->shut_down();
    executor_.run_ready();
  }

  std::shared_ptr<ResultPartition> partition(uint32_t producer, uint32_t subpartitions) {
    ResultPartition::Options options;
    options.producer = producer;
    options.subpartitions = subpartitions;
    options.wake = [this] { ++woken_; };
    auto made = environment_->create_partition(options);
    EXPECT_TRUE(made.ok());
    return *made;
  }

  void write(ResultPartition& partition, uint32_t subpartition, size_t size) {
    partition.begin_record(subpartition, INT64_MIN).write(std::string(size, 'z').data(), size);
    partition.end_record();
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  int woken_ = 0;
  std::unique_ptr<ShuffleEnvironment> environment_;
};

TEST_F(PartitionMemoryTest, WritesOnWhenThePoolIsEmptyAndIsUnavailableThen) {
  auto partition = this->partition(0, 1);
  write(*partition, 0, 10u << 20);  // Forty times the pool, within one element.
  EXPECT_FALSE(partition->available());
  EXPECT_EQ(environment_->free_bytes(), 0u);
  partition->release();
  EXPECT_EQ(woken_, 0);  // Nobody waits any more.
}

TEST_F(PartitionMemoryTest, StaysAvailableWhateverManyChannelsHaveOpen) {
  // Open blocks are given back only once flushed, so they alone must not stop the task.
  auto partition = this->partition(0, 3000);
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t s = 0; s < 3000; ++s) write(*partition, s, 10);
    EXPECT_TRUE(partition->available());
  }
  EXPECT_TRUE(partition->wants_flush());
  partition->release();
}

/// A partition that only its consumers' reading and its own blocks make available again: nobody
/// flushes.
class ShrinkingShareTest : public PartitionMemoryTest {
 protected:
  ShrinkingShareTest() {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{2};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = 16u << 20;
    shared_ = *ShuffleEnvironment::create(options, transport_);
    ResultPartition::Options wide;
    wide.subpartitions = 8;
    wide.wake = [this] { ++woken_; };
    partition_ = *shared_->create_partition(wide);
    for (uint32_t s = 0; s < 8; ++s) {
      InputGate::Options gate;
      gate.subpartition = s;
      gate.consumer = AttemptId{{}, SubtaskId{VertexId{1}, s}, 0};
      gate.locations = {{TaskManagerId{2}, {}}};
      gate.producers = {{0, 1, 0, 0}};
      gates_.push_back(*shared_->create_gate(gate));
    }
    for (int round = 0; round < 100; ++round) {
      write_to_each();
      read_all();
    }
  }
  ~ShrinkingShareTest() override {
    for (const auto& gate : gates_) gate->release();
    release_others();
    partition_->release();
    EXPECT_EQ(shared_->free_bytes(), shared_->total_bytes());
    shared_->shut_down();
    executor_.run_ready();
  }

  void write_to_each() {
    for (uint32_t s = 0; s < 8; ++s) write(*partition_, s, 3000);
  }

  void read_all() {
    for (const auto& gate : gates_) {
      while (const auto producer = gate->next_ready()) gate->take_from(*producer);
    }
  }

  void add_others() {
    for (uint32_t producer = 1; producer <= 400; ++producer) {
      ResultPartition::Options other;
      other.dataset = DatasetId{1};
      other.producer = producer;
      other.subpartitions = 31;
      others_.push_back(*shared_->create_partition(other));
    }
  }

  void release_others() {
    for (const auto& other : others_) other->release();
    others_.clear();
  }

  /// As a task that may not go on does before it waits.
  bool waits() {
    return !partition_->available() && !partition_->pay_back() && !partition_->available();
  }

  std::unique_ptr<ShuffleEnvironment> shared_;
  std::shared_ptr<ResultPartition> partition_;
  std::vector<std::shared_ptr<InputGate>> gates_;
  std::vector<std::shared_ptr<ResultPartition>> others_;
};

TEST_F(ShrinkingShareTest, GoesOnWhenItsShareBecomesLessBeforeItWaits) {
  add_others();
  read_all();
  ASSERT_TRUE(waits());  // Its open blocks alone held more than it may now.
  read_all();
  EXPECT_EQ(woken_, 1);
  EXPECT_TRUE(partition_->available());
}

TEST_F(ShrinkingShareTest, GoesOnWhenItsShareBecomesLessWhileItWaits) {
  while (partition_->available()) write_to_each();
  ASSERT_TRUE(waits());
  EXPECT_EQ(woken_, 0);
  add_others();
  EXPECT_EQ(woken_, 1);  // To close what is too large now.
  ASSERT_TRUE(waits());
  read_all();
  EXPECT_EQ(woken_, 2);
  EXPECT_TRUE(partition_->available());
}

TEST_F(ShrinkingShareTest, GoesOnWhenItsShareGrowsAgain) {
  while (partition_->available()) write_to_each();
  add_others();
  ASSERT_TRUE(waits());
  woken_ = 0;
  release_others();
  EXPECT_GE(woken_, 1);
}

TEST_F(PartitionMemoryTest, TakesARecordOfNothingWhereverABlockEnds) {
  auto partition = this->partition(0, 1);
  for (size_t size = kSmallBlockBytes - 17; size < kSmallBlockBytes; ++size) {
    write(*partition, 0, size);
    for (int i = 0; i < 20; ++i) write(*partition, 0, 0);
    partition->flush();
  }
  EXPECT_EQ(partition->positions(), (std::vector<ChannelPosition>{{0, 17 * 21, 0}}));
  partition->release();
}

TEST_F(PartitionMemoryTest, HoldsOneBlockForAllWhoGetTheSame) {
  auto partition = this->partition(0, 100);
  partition->write_to_all();
  for (int i = 0; i < 20; ++i) {
    write(*partition, 0, 10);
    partition->flush();
  }
  EXPECT_EQ(environment_->total_bytes() - environment_->free_bytes(), kLargeBlockBytes);
  EXPECT_EQ(partition->records_written(), 2000u);
  const auto positions = partition->positions();
  ASSERT_EQ(positions.size(), 100u);
  EXPECT_EQ(positions[99], (ChannelPosition{99, 20, 0}));
  partition->release();
}

TEST_F(PartitionMemoryTest, WritesOnInTheBlocksOfWhichSomethingWaits) {
  auto partition = this->partition(0, 100);
  for (uint32_t s = 0; s < 100; ++s) write(*partition, s, 10);
  partition->flush();
  const uint64_t free_bytes = environment_->free_bytes();
  for (int i = 0; i < 20; ++i) {
    partition->flush();  // Nothing new.
    for (uint32_t s = 0; s < 100; ++s) write(*partition, s, 10);
    partition->flush();
  }
  EXPECT_EQ(environment_->free_bytes(), free_bytes);
  partition->release();
}

TEST_F(PartitionMemoryTest, AGateGivesBackWhatItIsDoneWithAtTheEndOfAStep) {
  auto partition = this->partition(0, 1);
  const MemoryAccount& account = static_cast<const PipelinedPartition&>(*partition).account();
  InputGate::Options options;
  options.consumer = AttemptId{{}, SubtaskId{VertexId{1}, 0}, 0};
  options.locations = {{TaskManagerId{1}, {}}};
  options.producers = {{0, 1, 0, 0}};
  const auto gate = *environment_->create_gate(options);
  for (int i = 0; i < 4; ++i) {
    write(*partition, 0, kSmallBlockBytes - 10);
    partition->flush();
  }
  EXPECT_EQ(account.held_bytes(), 4 * kSmallBlockBytes);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(gate->next_ready(), 0u);
    ASSERT_TRUE(gate->take_from(0).has_value());
  }
  gate->end_step();
  EXPECT_EQ(account.held_bytes(), kSmallBlockBytes);  // That of the last, which is not taken.
  gate->release();
  partition->release();
}

TEST_F(PartitionMemoryTest, CostsNothingForChannelsWithoutElements) {
  auto partition = this->partition(0, 100'000);
  write(*partition, 77'777, 10);
  EXPECT_EQ(environment_->total_bytes() - environment_->free_bytes(), kLargeBlockBytes);
  const auto positions = partition->positions();
  ASSERT_EQ(positions.size(), 1u);
  EXPECT_EQ(positions[0].peer, 77'777u);
  partition->release();
}

TEST_F(PartitionMemoryTest, SaysHowMuchIsNeededWhenThereIsTooLittle) {
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (uint32_t producer = 0; producer < 8; ++producer)
    partitions.push_back(this->partition(producer, 1000));
  ResultPartition::Options options;
  options.producer = 8;
  options.subpartitions = 1000;
  const Status alone = environment_->create_partition(options).status();
  EXPECT_EQ(alone.code(), StatusCode::kInvalidArgument);  // It does not get better.
  for (const char* said : {"1048576", "262144", "taskmanager.memory.network.size"})
    EXPECT_NE(alone.message().find(said), std::string::npos) << alone.message();
  options.job = JobId{9, 9};
  EXPECT_EQ(environment_->create_partition(options).status().code(),
            StatusCode::kResourceExhausted);
  partitions.back()->release();
  const auto other = environment_->create_partition(options);
  ASSERT_TRUE(other.ok());
  options.job = JobId{};
  EXPECT_EQ(environment_->create_partition(options).status().code(),
            StatusCode::kResourceExhausted);
  (*other)->release();
  partitions.back() = this->partition(8, 1000);
  for (auto& partition : partitions) partition->release();
}

TEST_F(PartitionMemoryTest, TakesLittleForPartitionsOfFewChannels) {
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (uint32_t producer = 0; producer < 128; ++producer)
    partitions.push_back(this->partition(producer, 1));
  for (auto& partition : partitions) partition->release();
}

TEST_F(PartitionMemoryTest, RefusesTheSameAttemptTwice) {
  auto first = this->partition(0, 1);
  ResultPartition::Options options;
  EXPECT_EQ(environment_->create_partition(options).status().code(), StatusCode::kAlreadyExists);
  first->release();
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A producer and a consumer in one process with 256 KiB for buffers, and a file for what is more.
class SpillTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr uint64_t kPoolBytes = 256u << 10;
  static constexpr uint64_t kOverdraftBytes = 128u << 10;
  // Of a long element, before it is handed over, and the file's own.
  static constexpr uint64_t kBesidesBytes = 9 * kLargeBlockBytes;

  SpillTest() {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = kPoolBytes;
    options.overdraft_bytes_max = kOverdraftBytes;
    options.spill = SpillPlace{&files_, "/state/spill", &disk_, {}};
    files_.put("/state/spill/of-a-process-that-was-killed", "something");
    environment_ = *ShuffleEnvironment::create(options, transport_);
    EXPECT_THAT(spill_files(), IsEmpty());
  }
  ~SpillTest() override {
    EXPECT_EQ(environment_->free_bytes(), environment_->total_bytes());
    EXPECT_THAT(spill_files(), IsEmpty());
    environment_->shut_down();
    executor_.run_ready();
  }

  bool hash() const { return GetParam(); }

  /// Once the disk has done everything.
  std::vector<std::string> spill_files() {
    disk_.run_ready();
    std::vector<std::string> paths;
    for (const auto& [path, content] : files_.files()) paths.push_back(path);
    return paths;
  }

  void connect(uint32_t subpartitions = 1) {
    ResultPartition::Options options;
    options.hash = hash();
    options.subpartitions = subpartitions;
    options.wake = [this] { woken_ = true; };
    partition_ = *environment_->create_partition(options);
    for (uint32_t s = 0; s < subpartitions; ++s) gates_.push_back(*make_gate(s));
    expected_.resize(subpartitions);
    received_.resize(subpartitions);
  }

  Result<std::shared_ptr<InputGate>> make_gate(uint32_t subpartition) {
    InputGate::Options options;
    options.hash = hash();
    options.subpartition = subpartition;
    options.consumer.subtask.index = subpartition;
    options.locations = {{TaskManagerId{1}, environment_->data_address()}};
    options.producers = {{0, 1, 0, 0}};
    options.on_loss = [this](const ChannelLoss&) { ++losses_; };
    return environment_->create_gate(options);
  }

  void write(uint32_t subpartition, const std::string& payload) {
    partition_->write(subpartition, kNoTimestamp, 0,
                      [&](Encoder& encoder) { encoder.write(payload.data(), payload.size()); });
    expected_[subpartition].push_back(payload);
  }

  void write_watermark(const std::string& payload) {
    partition_->broadcast_event(ElementKind::kWatermark, payload);
    for (auto& elements : expected_) elements.push_back("watermark " + payload);
  }

  void close() {
    if (partition_) partition_->release();
    for (auto& gate : gates_) gate->release();
    gates_.clear();
    expected_.clear();
    received_.clear();
  }

  /// Takes up to `elements_max` and compares. False when there was nothing.
  bool take(uint32_t subpartition, size_t elements_max) {
    size_t taken = 0;
    for (; taken < elements_max && gates_[subpartition]->next_ready(); ++taken) {
      const auto element = gates_[subpartition]->take_from(0);
      if (!element) break;
      const std::string payload = element->kind == ElementKind::kRecord
                                      ? std::string(element->payload)
                                      : "watermark " + std::string(element->payload);
      auto& expected = expected_[subpartition];
      EXPECT_TRUE(!expected.empty() && expected.front() == payload) << received_[subpartition];
      if (!expected.empty()) expected.pop_front();
      ++received_[subpartition];
    }
    return taken > 0;
  }

  /// As a task does: pays back when it is woken, and once before it waits.
  void pay_back_if_woken() {
    if (!std::exchange(woken_, false)) return;
    while (partition_->pay_back()) {
    }
  }

  /// Consumers take a bit at a time until all have everything and the end.
  void take_all(uint64_t seed) {
    auto random = make_seeded_random(seed);
    woken_ = true;
    for (bool ended = false; !ended;) {
      pay_back_if_woken();
      bool took = random->one_in(3) && disk_.run_one();
      ended = true;
      for (uint32_t s = 0; s < gates_.size(); ++s) {
        if (random->one_in(3)) took = take(s, 1 + random->below(100)) || took;
        ended = gates_[s]->ended() && ended;
      }
      if (took || ended || woken_) continue;
      for (uint32_t s = 0; s < gates_.size(); ++s) took = take(s, 1) || took;
      ended = std::ranges::all_of(gates_, [](const auto& gate) { return gate->ended(); });
      if (!took) took = disk_.run_one();
      // Nothing moves: a wake-up was lost.
      ASSERT_TRUE(took || woken_ || ended);
    }
    for (const auto& expected : expected_) EXPECT_TRUE(expected.empty());
    EXPECT_EQ(losses_, 0);
  }

  uint64_t held_bytes() {
    return static_cast<PipelinedPartition&>(*partition_).account().held_bytes();
  }
  uint64_t bound_bytes() {
    return static_cast<PipelinedPartition&>(*partition_).account().budget_bytes() +
           kOverdraftBytes + kBesidesBytes;
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  MemoryFileSystem files_;
  ManualExecutor disk_{clock_};
  std::unique_ptr<ShuffleEnvironment> environment_;
  std::shared_ptr<ResultPartition> partition_;
  std::vector<std::shared_ptr<InputGate>> gates_;
  std::vector<std::deque<std::string>> expected_;  // By subpartition: not received yet.
  std::vector<uint64_t> received_;
  bool woken_ = false;
  int losses_ = 0;
};

TEST_P(SpillTest, HoldsLittleOfOneRecordOfFortyMegabytes) {
  connect();
  write(0, "before");
  write(0, std::string(40u << 20, 'z'));
  EXPECT_LE(held_bytes(), bound_bytes());
  EXPECT_TRUE(partition_->spilled());
  EXPECT_FALSE(partition_->available());
  write(0, "behind");
  partition_->end_of_data();
  EXPECT_FALSE(gates_[0]->ended());
  EXPECT_THAT(spill_files(), ElementsAre(HasSubstr("/state/spill/job-")));
  take_all(1);
  EXPECT_FALSE(partition_->spilled());
  EXPECT_EQ(partition_->positions(), gates_[0]->positions());
  EXPECT_THAT(spill_files(), IsEmpty());
  close();
}

TEST_P(SpillTest, HoldsLittleOfManySmallRecordsAndKeepsEventsInTheirPlaces) {
  connect(3);
  uint64_t most = 0;
  for (uint32_t i = 0; i < 400'000; ++i) {
    write(i % 3, "record number " + std::to_string(i));
    if (i % 1000 == 0) most = std::max(most, held_bytes());
    if (i % 50'000 == 49'999) write_watermark(std::to_string(i));
    if (i % 70'000 == 0) partition_->flush();
  }
  EXPECT_LE(std::max(most, held_bytes()), bound_bytes());
  partition_->end_of_data();
  take_all(2);
  EXPECT_EQ(partition_->bytes_written(),
            gates_[0]->bytes_read() + gates_[1]->bytes_read() + gates_[2]->bytes_read());
  for (const ChannelPosition& position : partition_->positions())
    EXPECT_EQ(position.elements, gates_[position.peer]->positions().at(0).elements);
  close();
}

TEST_P(SpillTest, IsAvailableAgainOnceAllIsPaidBack) {
  connect();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2000; ++i) write(0, std::string(1000, 'a'));
    EXPECT_TRUE(partition_->spilled());
    woken_ = true;
    while (partition_->spilled()) {
      EXPECT_FALSE(partition_->available());
      pay_back_if_woken();
      ASSERT_TRUE(take(0, 10) || woken_ || disk_.run_one());
    }
    while (take(0, 1000)) {
    }
    EXPECT_TRUE(partition_->available());
    // The disk may have a file to remove when the next is made.
    if (round == 1) {
      EXPECT_THAT(spill_files(), IsEmpty());
    }
    write(0, "and on");
    EXPECT_TRUE(partition_->available());
  }
  partition_->end_of_data();
  take_all(3);
  close();
}

TEST_P(SpillTest, NoWakeUpIsLostWhateverTheOrder) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    auto random = make_seeded_random(seed);
    connect(1 + static_cast<uint32_t>(random->below(4)));
    for (uint64_t bursts = 1 + random->below(5); bursts > 0; --bursts) {
      const uint64_t bytes = random->below(3u << 20);
      for (uint64_t written = 0; written < bytes;) {
        const size_t size = random->below(random->one_in(30) ? 200'000 : 400);
        write(static_cast<uint32_t>(random->below(gates_.size())), std::string(size, 'x'));
        written += size;
        if (random->one_in(200)) partition_->flush();
        if (random->one_in(300)) write_watermark("12345678");
        if (random->one_in(20)) disk_.run_one();
        if (random->one_in(100)) take(static_cast<uint32_t>(random->below(gates_.size())), 3);
      }
      EXPECT_LE(held_bytes(), bound_bytes());
      // Before the next element the task waits until it may.
      woken_ = true;
      while (!partition_->available()) {
        pay_back_if_woken();
        bool took = random->one_in(2) && disk_.run_one();
        for (uint32_t s = 0; s < gates_.size(); ++s) took = take(s, random->below(20)) || took;
        for (uint32_t s = 0; s < gates_.size() && !took; ++s) took = take(s, 1);
        if (!took) took = disk_.run_one();
        if (!took && !woken_ && !partition_->available()) partition_->flush();
        ASSERT_TRUE(took || woken_ || partition_->available() || partition_->wants_flush())
            << "seed " << seed;
      }
    }
    partition_->end_of_data();
    take_all(seed);
    close();
  }
}

TEST_P(SpillTest, ReleaseInTheMiddleRemovesTheFile) {
  for (int taken : {0, 100, 5000}) {
    connect();
    for (int i = 0; i < 10'000; ++i) write(0, std::string(500, 'b'));
    EXPECT_THAT(spill_files(), SizeIs(1));
    woken_ = true;
    for (int i = 0; i < taken; ++i) {
      pay_back_if_woken();
      ASSERT_TRUE(take(0, 1) || woken_ || disk_.run_one());
    }
    partition_->release();
    EXPECT_THAT(spill_files(), IsEmpty());
    EXPECT_EQ(std::exchange(losses_, 0), 1);
    close();
  }
}

TEST_P(SpillTest, SaysWhatIsWrongAndDropsTheRestWhenTheDiskIsFull) {
  files_.set_capacity(1u << 20);
  connect();
  uint64_t abandoned = 0;
  for (int i = 0; i < 10'000; ++i) {
    try {
      write(0, std::string(1000, 'c'));
    } catch (const WriteAbandoned&) {
      ++abandoned;  // What an operator does that catches everything.
    }
  }
  EXPECT_GT(abandoned, 5000u);
  EXPECT_EQ(partition_->status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(partition_->status().message(), HasSubstr("/state/spill/job-"));
  EXPECT_LE(held_bytes(), bound_bytes());
  EXPECT_FALSE(partition_->available());
  EXPECT_FALSE(partition_->pay_back());
  partition_->end_of_data();
  while (take(0, 1000)) {
  }
  EXPECT_FALSE(gates_[0]->ended());
  close();
}

TEST_P(SpillTest, ConsumerThatWentAwayHoldsUpNothing) {
  connect();
  for (int i = 0; i < 10'000; ++i) write(0, std::string(500, 'd'));
  gates_[0]->release();
  gates_.clear();
  woken_ = true;
  do {
    pay_back_if_woken();
  } while (disk_.run_one());
  EXPECT_TRUE(partition_->available());
  EXPECT_THAT(spill_files(), IsEmpty());
  close();
}

INSTANTIATE_TEST_SUITE_P(HashOffAndOn, SpillTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Hash" : "NoHash"; });

}  // namespace
}  // namespace freshet
