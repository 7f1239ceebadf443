#include "jobmanager/resource_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const JobId kJob{0, 1};
const JobId kOther{0, 2};

TaskManagerInfo task_manager(uint64_t id, uint32_t slots) {
  TaskManagerInfo info;
  info.id = TaskManagerId{id};
  info.slots = slots;
  return info;
}

std::vector<std::pair<uint64_t, uint32_t>> places(const ResourceManager& manager, JobId job) {
  std::vector<std::pair<uint64_t, uint32_t>> result;
  for (const Slot& slot : manager.slots_of(job).slots) {
    result.push_back({slot.task_manager.value, slot.index});
  }
  return result;
}

using Place = std::pair<uint64_t, uint32_t>;

TEST(ResourceManagerTest, GivesSlotsEvenlyInOrderOfRegistration) {
  ResourceManager manager;
  manager.add(task_manager(9, 4));
  manager.add(task_manager(3, 4));
  manager.require(kJob, 4);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_THAT(places(manager, kJob),
              ElementsAre(Place(9, 0), Place(9, 1), Place(3, 0), Place(3, 1)));
  EXPECT_EQ(manager.free_count(), 4u);
  EXPECT_EQ(manager.free_slots_of(TaskManagerId{3}), 2u);
}

TEST(ResourceManagerTest, GivesAllOrNothing) {
  ResourceManager manager;
  manager.add(task_manager(1, 2));
  manager.require(kJob, 3);
  manager.require(kOther, 2);
  manager.assign();
  EXPECT_THAT(places(manager, kJob), IsEmpty());
  EXPECT_THAT(places(manager, kOther), ElementsAre(Place(1, 0), Place(1, 1)));
  EXPECT_EQ(manager.slots_of(kJob).cluster_slots, 2u);
  EXPECT_EQ(manager.slots_of(kJob).cluster_slots_free, 0u);
}

TEST(ResourceManagerTest, GivesNothingOfATaskManagerThatIsWithheld) {
  ResourceManager manager;
  manager.add(task_manager(1, 2));
  manager.add(task_manager(2, 2));
  manager.require(kOther, 1);
  manager.assign();
  manager.withhold(TaskManagerId{1});
  EXPECT_EQ(manager.free_count(), 2u);
  EXPECT_EQ(manager.free_slots_of(TaskManagerId{1}), 0u);
  manager.require(kJob, 3);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_THAT(places(manager, kJob), IsEmpty());
  EXPECT_THAT(places(manager, kOther), ElementsAre(Place(1, 0)));
  manager.offer(TaskManagerId{1});
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_EQ(places(manager, kJob).size(), 3u);
  manager.withhold(TaskManagerId{2});
  manager.add(task_manager(2, 2));
  EXPECT_EQ(manager.free_slots_of(TaskManagerId{2}), 2u);
}

TEST(ResourceManagerTest, RequirementsAreAbsolute) {
  ResourceManager manager;
  manager.add(task_manager(1, 8));
  manager.require(kJob, 2);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  manager.require(kJob, 2);
  EXPECT_THAT(manager.assign(), IsEmpty());
  const auto before = manager.slots_of(kJob).slots;
  manager.require(kJob, 3);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 3u);
  EXPECT_EQ(manager.slots_of(kJob).slots[0], before[0]);
  manager.require(kJob, 1);
  manager.assign();
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 1u);
}

TEST(ResourceManagerTest, TellsJobsThatWaitWhenTheClusterChanges) {
  ResourceManager manager;
  manager.require(kJob, 2);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  manager.add(task_manager(1, 1));
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_EQ(manager.slots_of(kJob).cluster_slots, 1u);
  EXPECT_THAT(manager.assign(), IsEmpty());
  manager.add(task_manager(2, 1));
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_THAT(places(manager, kJob), ElementsAre(Place(1, 0), Place(2, 0)));
}

TEST(ResourceManagerTest, FillsUpWhatALostTaskManagerTook) {
  ResourceManager manager;
  manager.add(task_manager(1, 2));
  manager.add(task_manager(2, 2));
  manager.require(kJob, 4);
  manager.assign();
  manager.remove(TaskManagerId{1});
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_THAT(places(manager, kJob), ElementsAre(Place(2, 0), Place(2, 1)));
  manager.add(task_manager(5, 2));
  EXPECT_THAT(manager.assign(), ElementsAre(kJob));
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 4u);
}

TEST(ResourceManagerTest, RegistrationOfTheSameIdReplacesAndLosesItsSlots) {
  ResourceManager manager;
  manager.add(task_manager(1, 2));
  manager.require(kJob, 2);
  manager.assign();
  const auto before = manager.slots_of(kJob).slots;
  manager.add(task_manager(1, 2));
  manager.assign();
  EXPECT_EQ(manager.slot_count(), 2u);
  ASSERT_EQ(manager.slots_of(kJob).slots.size(), 2u);
  EXPECT_NE(manager.slots_of(kJob).slots[0].allocation, before[0].allocation);
}

/// Three TaskManagers, two jobs of three slots each, and one TaskManager dies for good.
TEST(ResourceManagerTest, JobsThatWaitWithAPartOfTheirSlotsDoNotWaitForEachOther) {
  ResourceManager manager;
  for (uint64_t id : {1, 2, 3}) manager.add(task_manager(id, 2));
  manager.require(kJob, 3);
  manager.require(kOther, 3);
  manager.assign();
  ASSERT_EQ(manager.slots_of(kJob).slots.size(), 3u);
  ASSERT_EQ(manager.slots_of(kOther).slots.size(), 3u);
  manager.remove(TaskManagerId{3});
  EXPECT_THAT(manager.assign(), ElementsAre(kJob, kOther));
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 2u);
  EXPECT_EQ(manager.slots_of(kOther).slots.size(), 2u);  // Its tasks may still run there.
  manager.require(kOther, 3);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob, kOther));
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 3u);
  EXPECT_THAT(places(manager, kOther), IsEmpty());
  manager.require(kJob, 3);
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 3u);
}

TEST(ResourceManagerTest, OfJobsThatWaitWithAPartTheFirstGetsAll) {
  ResourceManager manager;
  for (uint64_t id : {1, 2, 3}) manager.add(task_manager(id, 2));
  manager.require(kJob, 3);
  manager.require(kOther, 3);
  manager.assign();
  manager.remove(TaskManagerId{3});
  manager.require(kOther, 3);
  manager.require(kJob, 3);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob, kOther));
  EXPECT_EQ(manager.slots_of(kJob).slots.size(), 3u);
  EXPECT_THAT(places(manager, kOther), IsEmpty());
  EXPECT_THAT(manager.assign(), IsEmpty());
  manager.add(task_manager(4, 2));
  EXPECT_THAT(manager.assign(), ElementsAre(kOther));
  EXPECT_EQ(manager.slots_of(kOther).slots.size(), 3u);
}

TEST(ResourceManagerTest, WhatAJobGivesBackGoesToTheNextJob) {
  ResourceManager manager;
  manager.add(task_manager(1, 3));
  manager.require(kJob, 3, 1);
  manager.require(kOther, 2);
  manager.assign();
  std::vector<Slot> back = manager.slots_of(kJob).slots;
  back.erase(back.begin() + 1);
  back.push_back({AllocationId{99}, TaskManagerId{1}, 0});  // It never had that.
  manager.take_back(kJob, back);
  manager.require(kJob, 1, 1, /*idle=*/false);
  EXPECT_THAT(manager.assign(), ElementsAre(kJob, kOther));
  EXPECT_THAT(places(manager, kJob), ElementsAre(Place(1, 1)));
  EXPECT_THAT(places(manager, kOther), ElementsAre(Place(1, 0), Place(1, 2)));
  manager.take_back(JobId{0, 3}, back);  // Nobody knows it.
  EXPECT_THAT(manager.assign(), IsEmpty());
}

TEST(ResourceManagerTest, ReleasedSlotsGoToTheNextJob) {
  ResourceManager manager;
  manager.add(task_manager(1, 2));
  manager.require(kJob, 2);
  manager.require(kOther, 2);
  manager.assign();
  manager.require(kJob, 0);
  manager.release(kJob, TaskManagerId{1});
  EXPECT_THAT(manager.assign(), ElementsAre(kOther));
  EXPECT_EQ(manager.slots_of(kOther).slots.size(), 2u);
  EXPECT_THAT(manager.slots_of(kJob).slots, IsEmpty());
}

TEST(ResourceManagerTest, SlotsOfAnEndedJobStayTakenUntilTheirTaskManagerReleasedThem) {
  ResourceManager manager;
  manager.add(task_manager(1, 1));
  manager.add(task_manager(2, 1));
  manager.require(kJob, 2);
  manager.require(kOther, 1);
  manager.assign();
  manager.require(kJob, 0);
  EXPECT_THAT(manager.assign(), IsEmpty());
  EXPECT_EQ(manager.free_count(), 0u);
  manager.release(kJob, TaskManagerId{2});
  EXPECT_THAT(manager.assign(), ElementsAre(kOther));
  EXPECT_THAT(places(manager, kOther), ElementsAre(Place(2, 0)));
  EXPECT_EQ(manager.free_slots_of(TaskManagerId{1}), 0u);
  manager.release(kJob, TaskManagerId{1});
  EXPECT_EQ(manager.free_slots_of(TaskManagerId{1}), 1u);
}

TEST(ResourceManagerTest, SlotsOfAnEndedJobAreGoneWithTheirTaskManager) {
  ResourceManager manager;
  manager.add(task_manager(1, 1));
  manager.require(kJob, 1);
  manager.require(kOther, 1);
  manager.assign();
  manager.require(kJob, 0);
  manager.add(task_manager(1, 1));
  EXPECT_THAT(manager.assign(), ElementsAre(kOther));
  EXPECT_THAT(places(manager, kOther), ElementsAre(Place(1, 0)));
  manager.release(kJob, TaskManagerId{1});
  EXPECT_THAT(places(manager, kOther), ElementsAre(Place(1, 0)));
}

TEST(ResourceManagerTest, AJobThatGoesOnIsNotReleased) {
  ResourceManager manager;
  manager.add(task_manager(1, 1));
  manager.require(kJob, 1);
  manager.assign();
  manager.release(kJob, TaskManagerId{1});
  EXPECT_THAT(manager.assign(), IsEmpty());
  EXPECT_THAT(places(manager, kJob), ElementsAre(Place(1, 0)));
}

}  // namespace
}  // namespace freshet
