#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "network/local_transport.h"
#include "runtime/base/manual_executor.h"
#include "shuffle/pipelined_environment.h"

namespace freshet {
namespace {

constexpr JobId kJob{1, 1};
constexpr uint64_t kPool = 8 * kLargeBlockBytes;

/// What one TaskManager's part of a deployment needs, and an environment with a pool of some size.
class MemoryReservationTest : public ::testing::Test {
 protected:
  MemoryReservationTest() {
    for (uint32_t i = 0; i < 12; ++i) {
      ResultPartition::Options partition;
      partition.job = kJob;
      partition.producer = i;
      partition.subpartitions = 20 + i;
      partitions_.push_back(partition);
      InputGate::Options gate;
      gate.job = kJob;
      gate.dataset = DatasetId{1};
      gate.subpartition = i;
      gate.consumer = AttemptId{kJob, SubtaskId{VertexId{7}, i}, 0};
      gate.locations = {{TaskManagerId{1}, {}}, {TaskManagerId{2}, Address{"127.0.0.1", 9}}};
      gate.producers = {{0, 50, 0, 0}, {50, 100, 1, 0}};
      gates_.push_back(gate);
    }
    make(kPool);
  }
  ~MemoryReservationTest() override { clear(); }

  void make(uint64_t pool_bytes) {
    ShuffleEnvironment::Options options;
    options.task_manager = TaskManagerId{1};
    options.bind = Address{"127.0.0.1", 0};
    options.pool_bytes = pool_bytes;
    environment_ = *ShuffleEnvironment::create(options, transport_);
  }

  void clear() {
    for (const auto& partition : made_partitions_) partition->release();
    for (const auto& gate : made_gates_) gate->release();
    made_partitions_.clear();
    made_gates_.clear();
    environment_->shut_down();
    executor_.run_ready();
    environment_ = nullptr;
  }

  BufferNeed need() const {
    BufferNeed need;
    for (const auto& options : partitions_) need += environment_->need_of(options);
    for (const auto& options : gates_) need += environment_->need_of(options);
    return need;
  }

  static BufferNeed same(uint64_t bytes) { return {bytes, bytes}; }

  /// One after the other, as tasks are made.
  Status create_all() {
    for (size_t i = 0; i < gates_.size(); ++i) {
      ASSIGN_OR_RETURN(auto gate, environment_->create_gate(gates_[i]));
      made_gates_.push_back(std::move(gate));
      ASSIGN_OR_RETURN(auto partition, environment_->create_partition(partitions_[i]));
      made_partitions_.push_back(std::move(partition));
    }
    return Status();
  }

  /// The size that a refusal asks for.
  static uint64_t needed_in(const Status& status) {
    const std::string before = "memory for buffers: ";
    const size_t at = status.message().find(before);
    return at == std::string::npos ? 0 : std::stoull(status.message().substr(at + before.size()));
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  LocalTransport transport_{executor_};
  std::vector<ResultPartition::Options> partitions_;
  std::vector<InputGate::Options> gates_;
  std::unique_ptr<ShuffleEnvironment> environment_;
  std::vector<std::shared_ptr<ResultPartition>> made_partitions_;
  std::vector<std::shared_ptr<InputGate>> made_gates_;
};

TEST_F(MemoryReservationTest, SaysHowMuchIsEnoughForAll) {
  const Status refused = environment_->reserve(kJob, need()).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  const uint64_t needed = needed_in(refused);
  EXPECT_GT(needed, kPool);
  EXPECT_EQ(needed % (1u << 20),
            0u);  // Somewhat more, so that it does for other TaskManagers, too.
  const uint64_t least = (need().least_bytes + kLargeBlockBytes - 1) / kLargeBlockBytes;
  clear();
  make((least - 1) * kLargeBlockBytes);
  EXPECT_EQ(needed_in(environment_->reserve(kJob, need()).status()), needed);
  clear();
  make(needed);
  const auto kept = environment_->reserve(kJob, need());
  ASSERT_TRUE(kept.ok()) << kept.status().to_string();
  const Status made = create_all();
  EXPECT_TRUE(made.ok()) << made.to_string();
}

TEST_F(MemoryReservationTest, KeepsItFromOtherJobsUntilItGoes) {
  ResultPartition::Options other;
  other.job = JobId{2, 2};
  other.subpartitions = 1000;
  auto kept = environment_->reserve(kJob, same(kPool - kLargeBlockBytes + 1));
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(environment_->create_partition(other).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(environment_->reserve(other.job, same(kLargeBlockBytes)).status().code(),
            StatusCode::kResourceExhausted);
  kept->reset();
  auto partition = environment_->create_partition(other);
  ASSERT_TRUE(partition.ok());
  made_partitions_.push_back(*partition);
}

TEST_F(MemoryReservationTest, TakesPartOfItForWhatTheJobCreates) {
  const auto kept = environment_->reserve(kJob, environment_->need_of(partitions_[0]));
  ASSERT_TRUE(kept.ok());
  made_partitions_.push_back(*environment_->create_partition(partitions_[0]));
  ResultPartition::Options other;
  other.job = JobId{2, 2};
  other.subpartitions = 1000;
  for (uint32_t i = 0; i < 7; ++i) {
    other.producer = i;
    auto partition = environment_->create_partition(other);
    ASSERT_TRUE(partition.ok()) << i;
    made_partitions_.push_back(*partition);
  }
}

}  // namespace
}  // namespace freshet
