#include "runtime/graph/task_state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace freshet {
namespace {

TEST(TaskStateTest, MovesAlongTheLifeOfAnAttempt) {
  for (int s = 0; s + 1 <= static_cast<int>(TaskState::kFinished); s++) {
    const auto from = static_cast<TaskState>(s);
    EXPECT_TRUE(can_move(from, static_cast<TaskState>(s + 1)));
    EXPECT_TRUE(can_move(from, TaskState::kCanceling));
    EXPECT_TRUE(can_move(from, TaskState::kFailed));
    EXPECT_FALSE(can_move(from, from));
    EXPECT_FALSE(can_move(from, TaskState::kCanceled));
  }
  EXPECT_FALSE(can_move(TaskState::kRunning, TaskState::kFinished));
  EXPECT_TRUE(can_move(TaskState::kCanceling, TaskState::kCanceled));
  EXPECT_TRUE(can_move(TaskState::kCanceling, TaskState::kFailed));
  EXPECT_FALSE(can_move(TaskState::kCanceling, TaskState::kRunning));
}

TEST(TaskStateTest, NeverLeavesATerminalState) {
  for (int from = 0; from <= static_cast<int>(TaskState::kFailed); from++) {
    for (int to = 0; to <= static_cast<int>(TaskState::kFailed); to++) {
      if (is_terminal(static_cast<TaskState>(from))) {
        EXPECT_FALSE(can_move(static_cast<TaskState>(from), static_cast<TaskState>(to)));
      }
    }
  }
}

TEST(JobStateTest, HasNoWayBackFromCommitting) {
  EXPECT_TRUE(can_move(JobState::kRunning, JobState::kCommitting));
  EXPECT_TRUE(can_move(JobState::kCommitting, JobState::kFinished));
  EXPECT_FALSE(can_move(JobState::kCommitting, JobState::kRestarting));
  EXPECT_FALSE(can_move(JobState::kCommitting, JobState::kRunning));
  EXPECT_FALSE(can_move(JobState::kCommitting, JobState::kCancelling));
}

TEST(JobStateTest, NeverLeavesATerminalStateAndReachesOneFromEach) {
  for (int s = 0; s <= static_cast<int>(JobState::kRestarting); s++) {
    const auto from = static_cast<JobState>(s);
    int moves = 0;
    for (int to = 0; to <= static_cast<int>(JobState::kRestarting); to++) {
      moves += can_move(from, static_cast<JobState>(to)) ? 1 : 0;
    }
    EXPECT_EQ(moves == 0, is_terminal(from)) << to_string(from);
  }
}

TEST(TaskStateTest, NamesEveryStateDifferently) {
  std::set<std::string> names;
  for (int s = 0; s <= static_cast<int>(TaskState::kFailed); s++) {
    names.emplace(to_string(static_cast<TaskState>(s)));
  }
  EXPECT_EQ(names.size(), 10u);
}

}  // namespace
}  // namespace freshet
