#include "runtime/chaos/mark_faults.h"

#include <gtest/gtest.h>

#include "runtime/base/memory_file_system.h"

namespace freshet::chaos {
namespace {

Fault kill_at(const std::string& process, const std::string& mark) {
  Fault fault;
  fault.kind = FaultKind::kMark;
  fault.process = *parse_process_name(process);
  fault.mark = mark;
  fault.passing = 3;
  fault.mark_action = "kill";
  return fault;
}

TEST(MarkFaultsTest, AreRulesOfProcesses) {
  const std::string rule = mark_rule(kill_at("taskmanager-2", "deploy.before_ack"));
  EXPECT_EQ(rule, "taskmanager-2/deploy.before_ack:3:kill");
  EXPECT_TRUE(parse_faults(rule).ok());
  EXPECT_EQ(mark_rule(kill_at("taskmanager", "register.before_reply")),
            "register.before_reply:3:kill");
}

TEST(MarkFaultsTest, AreReadFromTheirRecord) {
  MemoryFileSystem files;
  EXPECT_TRUE(read_fired(files, "/record").empty());
  const FiredFault one{17, "taskmanager-1", "deploy.before_ack:1:kill", "deploy.before_ack", 1};
  const FiredFault two{18, "jobmanager", "job.before_finish:1:stop", "job.before_finish", 1};
  files.put("/record", to_line(one) + to_line(two) + "19 taskmanager-1 deploy");
  EXPECT_EQ(read_fired(files, "/record"), (std::vector<FiredFault>{one, two}));
}

}  // namespace
}  // namespace freshet::chaos
