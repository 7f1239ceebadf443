#include "jobmanager/job_slots.h"

#include <gmock/gmock.h>

namespace freshet {
namespace {

using ::testing::ElementsAre;

Slot slot(uint64_t task_manager, uint32_t index) {
  return {AllocationId{task_manager * 100 + index}, TaskManagerId{task_manager}, index};
}

TEST(JobSlotsTest, PlacesStayWhileOneIsTaken) {
  JobSlots slots;
  slots.update({slot(1, 0), slot(2, 0), slot(3, 0)});
  slots.take_place(2);
  slots.lose(TaskManagerId{1});
  slots.update({slot(2, 0), slot(3, 0), slot(4, 0)});
  EXPECT_EQ(slots.at(0), slot(4, 0));
  EXPECT_EQ(slots.at(1), slot(2, 0));
  EXPECT_EQ(slots.at(2), slot(3, 0));
  slots.give_back(2);
  slots.update({slot(2, 0), slot(3, 0), slot(4, 0)});
  EXPECT_EQ(slots.at(0), slot(2, 0));  // Neighbours are neighbours again.
}

TEST(JobSlotsTest, TakesThoseOfPreferredTaskManagersFirst) {
  JobSlots slots;
  slots.update({slot(1, 0), slot(1, 1), slot(2, 0), slot(2, 1)});
  EXPECT_THAT(slots.take(1, {TaskManagerId{2}}), ElementsAre(2));
  EXPECT_THAT(slots.take(2, {TaskManagerId{2}, TaskManagerId{7}}), ElementsAre(3, 0));
  EXPECT_EQ(slots.free_count(), 1u);
  slots.give_back(2);
  EXPECT_THAT(slots.take(2, {}), ElementsAre(1, 2));
}

TEST(JobSlotsTest, LetsGoTheLastThatAreFree) {
  JobSlots slots;
  slots.update({slot(1, 0), slot(1, 1), slot(2, 0), slot(2, 1)});
  slots.take_place(2);
  EXPECT_THAT(slots.let_go(2), ElementsAre(slot(2, 1), slot(1, 1)));
  EXPECT_THAT(slots.held(), ElementsAre(slot(1, 0), slot(2, 0)));
  EXPECT_EQ(slots.free_count(), 1u);
  EXPECT_THAT(slots.take(1, {TaskManagerId{2}}), ElementsAre(0));
}

TEST(JobSlotsTest, APlaceThatSeveralTookIsFreeWhenAllHaveGivenItBack) {
  JobSlots slots;
  slots.update({slot(1, 0)});
  slots.take_place(0);
  slots.take_place(0);
  slots.give_back(0);
  EXPECT_EQ(slots.free_count(), 0u);
  slots.give_back(0);
  EXPECT_EQ(slots.free_count(), 1u);
}

TEST(JobSlotsTest, WhatWasLostIsNotFreeWhenItIsGivenBack) {
  JobSlots slots;
  slots.update({slot(1, 0), slot(2, 0)});
  slots.take_place(0);
  slots.lose(TaskManagerId{1});
  slots.give_back(0);
  EXPECT_EQ(slots.free_count(), 1u);
  EXPECT_THAT(slots.held(), ElementsAre(slot(2, 0)));
}

}  // namespace
}  // namespace freshet
