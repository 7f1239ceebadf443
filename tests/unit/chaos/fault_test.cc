#include "runtime/chaos/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freshet::chaos {
namespace {

using ::testing::HasSubstr;

TEST(FaultTest, KindsAreFoundByTheirNames) {
  for (const FaultKindInfo& info : fault_kinds()) {
    EXPECT_EQ(*parse_fault_kind(std::string(info.name)), info.kind);
    EXPECT_EQ(&info_of(info.kind), &info);
  }
  const Status status = parse_fault_kind("kil").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'kil'"));
  EXPECT_THAT(status.message(), HasSubstr(" kill pause "));
}

TEST(FaultTest, ProcessesHaveTheNamesOfTheCluster) {
  for (const char* name : {"jobmanager", "taskmanager", "taskmanager-1", "taskmanager-12"})
    EXPECT_EQ(parse_process_name(name)->to_string(), name);
  EXPECT_TRUE(parse_process_name("taskmanager")->is_any());
  EXPECT_FALSE(parse_process_name("taskmanager-1")->is_any());
  EXPECT_FALSE(parse_process_name("jobmanager")->is_any());
  for (const char* name : {"", "taskmanager-", "taskmanager-0", "taskmanager-1x", "supervisor"})
    EXPECT_FALSE(parse_process_name(name).ok()) << name;
}

TEST(FaultTest, TasksAreNamedByVertexAndSubtask) {
  for (const char* name : {"task", "task:2", "task:2/0", "task:split -> count", "task:a/b/3"})
    EXPECT_EQ(parse_task_name(name)->to_string(), name);
  EXPECT_EQ(parse_task_name("task:a/b/3")->vertex, "a/b");
  for (const char* name : {"", "tasks", "task:", "task:/1", "task:2/x", "task:2/"})
    EXPECT_FALSE(parse_task_name(name).ok()) << name;
}

TEST(FaultTest, LinksHaveTwoEnds) {
  for (const char* name : {"taskmanager-1 <-> jobmanager", "jobmanager -> taskmanager-1",
                           "taskmanager <-> taskmanager", "taskmanager-1 -> taskmanager-2"})
    EXPECT_EQ(parse_link_name(name)->to_string(), name);
  EXPECT_EQ(parse_link_name("taskmanager-1<->jobmanager")->to_string(),
            "taskmanager-1 <-> jobmanager");
  for (const char* name : {"", "->", "<->", "jobmanager", "a -> b", "taskmanager-1 <-",
                           "taskmanager-1 -> taskmanager-1", "jobmanager <-> jobmanager"})
    EXPECT_FALSE(parse_link_name(name).ok()) << name;
}

TEST(FaultTest, ReadsAsASentence) {
  Fault pause;
  pause.kind = FaultKind::kPause;
  pause.process = *parse_process_name("taskmanager-2");
  pause.lasts = 3s;
  EXPECT_EQ(pause.to_string(), "pause taskmanager-2 for 3 s");
  Fault slow;
  slow.kind = FaultKind::kSlow;
  slow.link = *parse_link_name("taskmanager-1 -> taskmanager-2");
  slow.delay = 50ms;
  slow.lasts = 1s;
  EXPECT_EQ(slow.to_string(), "slow taskmanager-1 -> taskmanager-2 by 50 ms for 1 s");
  Fault mark;
  mark.kind = FaultKind::kMark;
  mark.process = *parse_process_name("taskmanager");
  mark.mark = "deploy.before_ack";
  mark.passing = 2;
  mark.mark_action = "kill";
  EXPECT_EQ(mark.to_string(), "kill taskmanager at deploy.before_ack:2");
  Fault file;
  file.kind = FaultKind::kDamageFile;
  file.process = *parse_process_name("taskmanager-1");
  EXPECT_EQ(file.to_string(), "damage-file spill of taskmanager-1");
}

}  // namespace
}  // namespace freshet::chaos
