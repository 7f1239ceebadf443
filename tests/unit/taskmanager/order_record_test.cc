#include "taskmanager/order_record.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

constexpr JobId kJob{1, 2};

AttemptId attempt(AttemptNumber number, uint32_t subtask = 0, JobId job = kJob) {
  return {job, {VertexId{3}, subtask}, number};
}

TEST(OrderRecordTest, KnowsAttemptsThatComeAgainOrLate) {
  OrderRecord record;
  EXPECT_TRUE(record.note_deployment(attempt(1)));
  EXPECT_FALSE(record.note_deployment(attempt(1)));
  EXPECT_FALSE(record.note_deployment(attempt(0)));
  EXPECT_TRUE(record.note_deployment(attempt(0, 1)));
  EXPECT_TRUE(record.note_deployment(attempt(3)));
  EXPECT_FALSE(record.note_deployment(attempt(2)));
}

TEST(OrderRecordTest, RunsNothingOfAJobThatWasReleased) {
  OrderRecord record;
  EXPECT_TRUE(record.note_deployment(attempt(0)));
  record.note_release(kJob);
  record.note_release(kJob);
  EXPECT_TRUE(record.is_released(kJob));
  EXPECT_FALSE(record.note_deployment(attempt(0)));
  EXPECT_FALSE(record.note_deployment(attempt(1)));
  EXPECT_TRUE(record.note_deployment(attempt(0, 0, JobId{1, 3})));
}

TEST(OrderRecordTest, StartsAnewWithEachSession) {
  OrderRecord record;
  EXPECT_TRUE(record.note_deployment(attempt(1)));
  record.note_release(JobId{1, 3});
  record.clear();
  EXPECT_TRUE(record.note_deployment(attempt(0)));
  EXPECT_FALSE(record.is_released(JobId{1, 3}));
}

TEST(OrderRecordTest, ForgetsTheOldestOfManyReleasedJobs) {
  OrderRecord record;
  for (uint64_t i = 0; i <= OrderRecord::kReleasedMax; ++i) record.note_release(JobId{9, i});
  EXPECT_FALSE(record.is_released(JobId{9, 0}));
  EXPECT_TRUE(record.is_released(JobId{9, 1}));
}

}  // namespace
}  // namespace freshet
