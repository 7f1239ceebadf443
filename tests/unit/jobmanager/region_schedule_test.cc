#include "jobmanager/region_schedule.h"

#include <gmock/gmock.h>

#include "tests/unit/graph/region_sketch.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Slot> some_slots(uint32_t count, uint32_t per_task_manager = 2) {
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < count; i++) {
    slots.push_back(
        {AllocationId{i + 1}, TaskManagerId{1 + i / per_task_manager}, i % per_task_manager});
  }
  return slots;
}

class RegionScheduleTest : public ::testing::Test {
 protected:
  void use(RegionSketch sketch, RuntimeMode mode) {
    sketch.graph.mode = mode;
    graph_ = std::make_unique<ExecutionGraph>(sketch.graph);
    schedule_ = std::make_unique<RegionSchedule>(*graph_);
  }

  /// Executions, with the allocation of their slot.
  std::vector<std::pair<uint32_t, uint64_t>> start() {
    std::vector<std::pair<uint32_t, uint64_t>> started;
    for (const auto& [index, slot] : schedule_->start_regions()) {
      started.emplace_back(index, slot.allocation.value);
      for (const TaskState state : {TaskState::kScheduled, TaskState::kDeploying,
                                    TaskState::kInitializing, TaskState::kRunning})
        graph_->move(index, state);
      graph_->assign(index, slot.allocation, slot.task_manager, slot.index);
    }
    return started;
  }

  void end(uint32_t index) {
    graph_->move(index, TaskState::kEndOfData);
    graph_->move(index, TaskState::kFinished);
    const uint32_t region = graph_->regions().region_of(index);
    if (graph_->unended(region) == 0) schedule_->stop_region(region, /*again=*/false);
  }

  std::unique_ptr<ExecutionGraph> graph_;
  std::unique_ptr<RegionSchedule> schedule_;
};

using Started = std::pair<uint32_t, uint64_t>;

TEST_F(RegionScheduleTest, AStreamingJobStartsWithAllItsSlots) {
  use(RegionSketch({2, 3}).pipelined(0, 1, Partitioning::kHash), RuntimeMode::kStreaming);
  EXPECT_EQ(schedule_->slots_needed(), 3u);
  EXPECT_EQ(schedule_->slots_wanted(), 3u);
  schedule_->slots().update(some_slots(2));
  EXPECT_TRUE(start().empty());
  EXPECT_TRUE(schedule_->any_ready());
  schedule_->slots().update(some_slots(3));
  EXPECT_THAT(start(), ElementsAre(Started{0, 1}, Started{1, 2}, Started{2, 1}, Started{3, 2},
                                   Started{4, 3}));
  EXPECT_FALSE(schedule_->any_ready());
}

TEST_F(RegionScheduleTest, ABatchJobOfManySubtasksRunsOnFewSlots) {
  use(RegionSketch({100, 100}).blocking(0, 1, Partitioning::kHash), RuntimeMode::kBatch);
  EXPECT_EQ(schedule_->slots_needed(), 1u);
  EXPECT_EQ(schedule_->slots_wanted(), 100u);
  schedule_->slots().update(some_slots(4));
  uint32_t ran = 0;
  for (auto running = start(); !running.empty(); running = start()) {
    EXPECT_LE(running.size(), 4u);
    for (const auto& [index, allocation] : running) {
      EXPECT_EQ(index >= 100, ran >= 100) << "a consumer before all producers";
      ran++;
      end(index);
    }
  }
  EXPECT_EQ(ran, 200u);
}

TEST_F(RegionScheduleTest, ARegionGetsAllItsSlotsAtOnceAndNobodyOvertakesIt) {
  RegionSketch sketch({2, 1});
  sketch.pipelined(0, 0, Partitioning::kHash);
  use(sketch, RuntimeMode::kBatch);
  EXPECT_EQ(schedule_->slots_needed(), 2u);
  schedule_->slots().update(some_slots(1));
  EXPECT_TRUE(start().empty());  // The smaller one behind could run, and would for ever.
  schedule_->slots().update(some_slots(2));
  EXPECT_THAT(start(), ElementsAre(Started{0, 1}, Started{1, 2}));
  end(0);
  EXPECT_TRUE(start().empty());
  end(1);
  EXPECT_THAT(start(), ElementsAre(Started{2, 1}));
}

TEST_F(RegionScheduleTest, GivesBackWhatItCannotUseAnyMore) {
  use(RegionSketch({4, 1, 2}).blocking(0, 1).blocking(1, 2), RuntimeMode::kBatch);
  schedule_->slots().update(some_slots(4));
  EXPECT_EQ(start().size(), 4u);
  for (uint32_t i = 0; i < 3; i++) end(i);
  EXPECT_EQ(schedule_->slots_wanted(), 4u);  // One runs, three are to come.
  EXPECT_TRUE(schedule_->take_surplus().empty());
  end(3);
  EXPECT_EQ(start().size(), 1u);
  EXPECT_EQ(schedule_->slots_wanted(), 3u);
  EXPECT_EQ(schedule_->take_surplus().size(), 1u);
  EXPECT_EQ(schedule_->slots().held_count(), 3u);
  schedule_->stop_region(0, /*again=*/true);  // It can use more again.
  EXPECT_EQ(schedule_->slots_wanted(), 4u);
  EXPECT_TRUE(schedule_->take_surplus().empty());
}

TEST_F(RegionScheduleTest, GivesBackManyInFewSteps) {
  use(RegionSketch({1000, 1}).blocking(0, 1), RuntimeMode::kBatch);
  schedule_->slots().update(some_slots(1000));
  EXPECT_EQ(start().size(), 1000u);
  uint32_t steps = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    end(i);
    steps += !schedule_->take_surplus().empty();
  }
  EXPECT_EQ(schedule_->slots().held_count(), 1u);
  EXPECT_LT(steps, 60u);
}

/// Two regions; the second reads what both make: b1 and b2.
TEST_F(RegionScheduleTest, ARegionWaitsOnlyForWhatOthersMakeOfItsInputs) {
  use(RegionSketch({2, 3, 2}).pipelined(0, 1).pipelined(0, 2).blocking(1, 2), RuntimeMode::kBatch);
  schedule_->slots().update(some_slots(8));
  const auto indices = [&] {
    std::vector<uint32_t> started;
    for (const auto& [index, allocation] : start()) started.push_back(index);
    return started;
  };
  EXPECT_THAT(indices(), ElementsAre(0, 2, 3, 5));
  end(0);
  end(2);
  EXPECT_THAT(indices(), IsEmpty());
  end(3);
  EXPECT_THAT(indices(), ElementsAre(1, 4, 6));
}

TEST_F(RegionScheduleTest, AStreamingJobKeepsItsSlots) {
  use(RegionSketch({4, 1}).blocking(0, 1), RuntimeMode::kStreaming);
  schedule_->slots().update(some_slots(4));
  EXPECT_EQ(start().size(), 4u);
  for (uint32_t i = 0; i < 4; i++) end(i);
  EXPECT_TRUE(schedule_->take_surplus().empty());
}

TEST_F(RegionScheduleTest, VerticesOfOneRegionShareSlotsWithinTheirGroup) {
  RegionSketch sketch({2, 3, 1});
  sketch.pipelined(0, 1, Partitioning::kHash).pipelined(1, 2, Partitioning::kHash);
  sketch.graph.vertices[2].slot_sharing_group = "other";
  use(sketch, RuntimeMode::kBatch);
  EXPECT_EQ(schedule_->slots_needed(), 4u);
  EXPECT_EQ(schedule_->slots_text(), "4 slots (3 for slot sharing group 'default', 1 for 'other')");
  schedule_->slots().update(some_slots(4));
  EXPECT_THAT(start(), ElementsAre(Started{0, 1}, Started{1, 2}, Started{2, 1}, Started{3, 2},
                                   Started{4, 3}, Started{5, 4}));
}

TEST_F(RegionScheduleTest, TasksPreferThePlaceOfTheirInputs) {
  use(RegionSketch({4, 4}).blocking(0, 1, Partitioning::kForward), RuntimeMode::kBatch);
  schedule_->slots().update(some_slots(4));
  start();
  end(3);
  end(0);
  end(2);
  end(1);
  const auto started = schedule_->start_regions();
  ASSERT_EQ(started.size(), 4u);
  for (const auto& [index, slot] : started)
    EXPECT_EQ(slot.task_manager, graph_->at(index - 4).task_manager);
}

/// Both regions wait for all of their own producers and those of the other.
TEST_F(RegionScheduleTest, WithoutMergingCyclesNothingStarts) {
  RegionSketch sketch({2, 2, 2});
  sketch.pipelined(0, 1).blocking(0, 2, Partitioning::kHash).blocking(2, 1, Partitioning::kHash);
  sketch.graph.mode = RuntimeMode::kBatch;
  ExecutionGraph split(sketch.graph, RegionCycles::kLeft);
  RegionSchedule stuck(split);
  stuck.slots().update(some_slots(8));
  EXPECT_TRUE(stuck.start_regions().empty());
  use(sketch, RuntimeMode::kBatch);
  schedule_->slots().update(some_slots(8));
  EXPECT_EQ(start().size(), 6u);
}

}  // namespace
}  // namespace freshet
