#include "runtime/app/process_host.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace freshet {
namespace {

std::vector<ProcessExit> reap_one(ProcessHost& host) {
  for (int tries = 0; tries < 1000; tries++) {
    auto exits = host.reap();
    if (!exits.empty()) return exits;
    poll(nullptr, 0, 5);
  }
  return {};
}

ProcessHost::Command shell(const std::string& script) {
  return {"/bin/sh", {"-c", script}, "", false};
}

TEST(ProcessHostTest, TellsHowAChildEnded) {
  const auto host = make_system_process_host();
  const auto child = host->spawn(shell("exit 3"));
  ASSERT_TRUE(child.ok());
  const auto exits = reap_one(*host);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].process, *child);
  EXPECT_FALSE(exits[0].success);
  EXPECT_EQ(exits[0].how, "exit code 3");
  EXPECT_TRUE(exits[0].by_itself);
  EXPECT_FALSE(host->alive(*child));
}

TEST(ProcessHostTest, AddsToTheEnvironmentOfAChildAndReplacesInIt) {
  const auto host = make_system_process_host();
  ProcessHost::Command command =
      shell("test \"$FRESHET_TEST $HOME\" = 'a=b home' && test -n \"$PATH\"");
  command.environment = {{"FRESHET_TEST", "a=b"}, {"HOME", "home"}};
  ASSERT_TRUE(host->spawn(command).ok());
  const auto exits = reap_one(*host);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_TRUE(exits[0].success) << exits[0].how;
}

TEST(ProcessHostTest, EndsAChildBySignal) {
  const auto host = make_system_process_host();
  const auto child = host->spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(host->alive(*child));
  host->send_signal(*child, ProcessSignal::kKill);
  const auto exits = reap_one(*host);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].how, "signal 9 (Killed)");
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string id, name;
  char state = '?';
  file >> id >> name >> state;
  return state;
}

TEST(ProcessHostTest, StopsAChildUntilItIsContinued) {
  const auto host = make_system_process_host();
  const auto child = host->spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(child.ok());
  host->send_signal(*child, ProcessSignal::kStop);
  while (state_of(child->pid) != 'T') poll(nullptr, 0, 1);
  EXPECT_TRUE(host->alive(*child));
  host->send_signal(*child, ProcessSignal::kTerminate);
  EXPECT_EQ(state_of(child->pid), 'T');
  EXPECT_TRUE(host->reap().empty());
  host->send_signal(*child, ProcessSignal::kContinue);
  const auto exits = reap_one(*host);
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].how, "signal 15 (Terminated)");
}

TEST(ProcessHostTest, NeverSignalsAnotherProcessThatHasTheIdNow) {
  const auto host = make_system_process_host();
  const auto child = host->spawn(shell("exec sleep 1000"));
  ASSERT_TRUE(child.ok());
  const ProcessIdentity earlier{child->pid, child->start_ticks - 1};
  EXPECT_FALSE(host->alive(earlier));
  host->send_signal(earlier, ProcessSignal::kKill);
  EXPECT_TRUE(host->reap().empty());
  EXPECT_TRUE(host->alive(*child));
  host->send_signal(*child, ProcessSignal::kKill);
  EXPECT_EQ(reap_one(*host).size(), 1u);
}

TEST(ProcessHostTest, SaysWhatCannotBeStarted) {
  const auto host = make_system_process_host();
  const auto child = host->spawn({"/no/such/program", {}, "", false});
  ASSERT_FALSE(child.ok());
  EXPECT_NE(child.status().message().find("/no/such/program"), std::string::npos);
}

TEST(ProcessHostTest, KnowsItsOwnProcess) {
  const auto host = make_system_process_host();
  EXPECT_EQ(own_process().pid, getpid());
  EXPECT_GT(own_process().start_ticks, 0u);
  EXPECT_TRUE(host->alive(own_process()));
}

}  // namespace
}  // namespace freshet
