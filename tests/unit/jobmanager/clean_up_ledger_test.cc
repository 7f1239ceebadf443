#include "jobmanager/clean_up_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/log.h"

namespace freshet {
namespace {

const JobId kJob{0, 1};
const JobId kOther{0, 2};
const auto kInformation = std::make_shared<const std::string>("job");

std::vector<TaskManagerInfo> registered(std::initializer_list<uint64_t> ids) {
  std::vector<TaskManagerInfo> all;
  for (const uint64_t id : ids) all.emplace_back().id = TaskManagerId{id};
  return all;
}

TEST(CleanUpLedgerTest, WaitsForATaskManagerAndGivesEachJobToOne) {
  CleanUpLedger ledger;
  ledger.add(kJob, kInformation);
  ledger.add(kJob, kInformation);
  ledger.add(kOther, kInformation);
  EXPECT_TRUE(ledger.assign(registered({})).empty());
  EXPECT_FALSE(ledger.is_given_away(kJob));
  const auto orders = ledger.assign(registered({7, 8}));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].job, kJob);
  EXPECT_EQ(orders[0].to, TaskManagerId{7});
  EXPECT_EQ(orders[0].information, kInformation);
  EXPECT_EQ(orders[1].job, kOther);
  EXPECT_TRUE(ledger.is_given_away(kJob));
  EXPECT_TRUE(ledger.assign(registered({7, 8})).empty());
  ledger.on_done(kJob, TaskManagerId{8});  // It was not told to.
  EXPECT_EQ(ledger.size(), 2u);
  ledger.on_done(kJob, TaskManagerId{7});
  EXPECT_TRUE(ledger.has_work(TaskManagerId{7}));
  ledger.on_done(kOther, TaskManagerId{7});
  EXPECT_FALSE(ledger.has_work(TaskManagerId{7}));
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(CleanUpLedgerTest, GivesToAnotherOneWhatALostOneHad) {
  CleanUpLedger ledger;
  ledger.add(kJob, kInformation);
  EXPECT_EQ(ledger.assign(registered({7})).size(), 1u);
  ledger.on_task_manager_lost(TaskManagerId{7});
  const auto orders = ledger.assign(registered({8}));
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].to, TaskManagerId{8});
}

TEST(CleanUpLedgerTest, ForgetsWhatGoesWithOneTaskManagerAfterTheOtherAndNothingElse) {
  const JobId third{0, 3};
  CleanUpLedger ledger;
  ledger.add(kOther, kInformation);
  ledger.add(kJob, kInformation);
  EXPECT_EQ(ledger.assign(registered({1})).size(), 2u);
  ledger.on_task_manager_lost(TaskManagerId{1});
  // Each by itself now.
  ASSERT_EQ(ledger.assign(registered({2})).size(), 1u);
  EXPECT_TRUE(ledger.is_given_away(kOther));
  ledger.on_done(kOther, TaskManagerId{2});
  ASSERT_EQ(ledger.assign(registered({2})).size(), 1u);
  EXPECT_TRUE(ledger.is_given_away(kJob));
  // What is new does not go to the same.
  ledger.add(third, kInformation);
  EXPECT_TRUE(ledger.assign(registered({2})).empty());
  const auto orders = ledger.assign(registered({2, 3}));
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].job, third);
  EXPECT_EQ(orders[0].to, TaskManagerId{3});
  ledger.on_task_manager_lost(TaskManagerId{2});
  ASSERT_EQ(ledger.assign(registered({4})).size(), 1u);
  log_to_sink([](void*, LogLevel, std::string_view) {}, nullptr);
  ledger.on_task_manager_lost(TaskManagerId{4});
  log_to_sink(nullptr, nullptr);
  EXPECT_FALSE(ledger.has_work(TaskManagerId{4}));
  EXPECT_TRUE(ledger.assign(registered({5})).empty());
  ledger.on_done(third, TaskManagerId{3});
  EXPECT_EQ(ledger.size(), 0u);
}

TEST(CleanUpLedgerTest, ForgetsTheOldestWhenThereAreTooMany) {
  CleanUpLedger ledger;
  log_to_sink([](void*, LogLevel, std::string_view) {}, nullptr);
  for (uint64_t i = 0; i <= CleanUpLedger::kJobsMax; i++) ledger.add(JobId{1, i}, kInformation);
  log_to_sink(nullptr, nullptr);
  EXPECT_EQ(ledger.size(), CleanUpLedger::kJobsMax);
  EXPECT_EQ(ledger.assign(registered({7})).front().job, (JobId{1, 1}));
}

}  // namespace
}  // namespace freshet
