#include "jobmanager/commit_ledger.h"

#include <gtest/gtest.h>

#include <string>

namespace freshet {
namespace {

TEST(CommitLedgerTest, AsksForNoMoreAtOnceThanAMessageHolds) {
  constexpr size_t kCount = 100;
  std::vector<JobCommittable> left;
  for (size_t i = 0; i < kCount; i++) {
    left.push_back({OperatorId{i}, std::string(i == 50 ? 20 << 20 : 1 << 20, 'x')});
  }
  CommitLedger ledger;
  ledger.add(TaskManagerId{1}, std::move(left));
  const std::vector<TaskManagerId> available = {TaskManagerId{1}};
  uint64_t next = 0;
  for (const JobCommand& command : ledger.dispatch(TimePoint{}, available)) {
    const auto& commit = std::get<job_commands::Commit>(command);
    uint64_t bytes = 0;
    for (const JobCommittable& one : commit.committables) {
      EXPECT_EQ(one.operator_id, OperatorId{next++});
      bytes += one.payload.size();
    }
    EXPECT_TRUE(bytes <= CommitLedger::kRequestBytesMax || commit.committables.size() == 1);
    EXPECT_FALSE(ledger.empty());
    ledger.on_done(TimePoint{}, TaskManagerId{1}, commit.commit_id, Status());
  }
  EXPECT_EQ(next, kCount);
  EXPECT_TRUE(ledger.empty());
}

}  // namespace
}  // namespace freshet
