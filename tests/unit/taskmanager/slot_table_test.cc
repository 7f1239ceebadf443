#include "taskmanager/slot_table.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

AttemptId attempt(uint64_t job, uint32_t vertex) {
  return {JobId{job, 0}, SubtaskId{VertexId{vertex}, 0}, 0};
}

TEST(SlotTableTest, TasksOfOneAllocationShareASlotUntilTheLastEnds) {
  SlotTable slots(2);
  EXPECT_TRUE(slots.claim(0, AllocationId{7}, attempt(1, 0)).ok());
  EXPECT_TRUE(slots.claim(0, AllocationId{7}, attempt(1, 1)).ok());
  EXPECT_EQ(slots.free(), 1u);
  slots.release(0, attempt(1, 0));
  EXPECT_EQ(slots.free(), 1u);
  slots.release(0, attempt(1, 1));
  EXPECT_EQ(slots.free(), 2u);
}

TEST(SlotTableTest, RefusesAnotherAllocationWhileTheSlotIsHeld) {
  SlotTable slots(1);
  EXPECT_TRUE(slots.claim(0, AllocationId{7}, attempt(1, 0)).ok());
  EXPECT_EQ(slots.claim(0, AllocationId{8}, attempt(1, 1)).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(slots.claim(0, AllocationId{7}, attempt(2, 0)).code(), StatusCode::kFailedPrecondition);
  slots.release(0, attempt(1, 1));
  EXPECT_EQ(slots.free(), 0u);
  slots.release(0, attempt(1, 0));
  EXPECT_TRUE(slots.claim(0, AllocationId{8}, attempt(1, 1)).ok());
}

}  // namespace
}  // namespace freshet
