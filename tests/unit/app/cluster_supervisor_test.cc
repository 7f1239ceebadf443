#include "runtime/app/cluster_supervisor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/memory_file_system.h"

namespace freshet {
namespace {

/// Processes that only exist here: each opens its port as soon as it is told to.
class FakeProcessHost final : public ProcessHost {
 public:
  Result<ProcessIdentity> spawn(const Command& command) override {
    spawns++;
    if (refuses) return unavailable("no process left");
    const ProcessIdentity identity{next_pid_++, 7};
    running[identity.pid] = command;
    return identity;
  }
  std::vector<ProcessExit> reap() override { return std::exchange(exits_, {}); }
  bool alive(const ProcessIdentity& process) const override {
    return running.contains(process.pid);
  }
  void send_signal(const ProcessIdentity& process, ProcessSignal signal) override {
    if (!running.contains(process.pid)) return;
    if (signal == ProcessSignal::kContinue) continued.insert(process.pid);
    if (signal == ProcessSignal::kContinue) return;
    if (signal == ProcessSignal::kKill || !stubborn) end(process.pid, "signal");
  }

  void end(pid_t pid, const std::string& how) {
    running.erase(pid);
    exits_.push_back({ProcessIdentity{pid, 7}, false, how, how.starts_with("exit code")});
  }

  std::map<pid_t, Command> running;
  std::set<pid_t> continued;
  bool stubborn = false;  // Does not end when asked.
  bool refuses = false;   // Starts nothing.
  int spawns = 0;         // Tried.

 private:
  pid_t next_pid_ = 100;
  std::vector<ProcessExit> exits_;
};

std::string option(const ProcessHost::Command& command, const std::string& name) {
  const auto at = std::find(command.arguments.begin(), command.arguments.end(), name);
  return at == command.arguments.end() ? "" : *(at + 1);
}

class ClusterSupervisorTest : public ::testing::Test {
 protected:
  ClusterSupervisorTest() {
    options_.task_managers = 2;
    EXPECT_TRUE(files_.create_directories(directory_.path()).ok());
  }

  void make() {
    options_.program = "/bin/freshet";
    options_.control = Address{"127.0.0.1", 0};
    supervisor_ =
        std::make_unique<ClusterSupervisor>(options_, directory_, "boot", host_, files_, clock_);
  }

  /// Every process that runs writes its port file.
  void open_ports() {
    for (const auto& [pid, command] : host_.running) {
      files_.put(option(command, "--port-file"), fmt::format("127.0.0.1:{}\n", 5000 + pid));
    }
  }

  void start_all() {
    make();
    for (int i = 0; i < 4; i++) {
      ASSERT_TRUE(supervisor_->step().ok());
      open_ports();
    }
    ASSERT_TRUE(supervisor_->ready());
  }

  ClusterState written() { return *read_cluster_state(directory_, files_); }

  pid_t pid_of(const std::string& name) { return written().find(name)->process.pid; }

  ClusterSupervisor::Options options_;
  const ClusterDirectory directory_ = *ClusterDirectory::of("/state", "test");
  FakeProcessHost host_;
  MemoryFileSystem files_;
  ManualClock clock_;
  std::unique_ptr<ClusterSupervisor> supervisor_;
};

TEST_F(ClusterSupervisorTest, GivesItsEnvironmentToEveryProcess) {
  options_.environment = {{"FRESHET_SECRET", "rain"}};
  start_all();
  ASSERT_EQ(host_.running.size(), 3u);
  for (const auto& [pid, command] : host_.running) {
    EXPECT_EQ(command.environment, options_.environment);
  }
}

TEST_F(ClusterSupervisorTest, TellsTheJobManagerHowATaskManagerEnded) {
  std::vector<std::string> told;
  options_.on_task_manager_ended = [&](const Address& job_manager, const ProcessExit& exit) {
    told.push_back(fmt::format("{}: {} {}", job_manager.to_string(), exit.process.pid, exit.how));
  };
  start_all();
  const pid_t job_manager = pid_of("jobmanager");
  const pid_t task_manager = pid_of("taskmanager-2");
  host_.end(task_manager, "exit code 3");
  ASSERT_TRUE(supervisor_->step().ok());
  const std::vector<std::string> once = {
      fmt::format("127.0.0.1:{}: {} exit code 3", 5000 + job_manager, task_manager)};
  EXPECT_EQ(told, once);
  host_.end(job_manager, "signal 9");  // Nobody is there to hear of the other one.
  host_.end(pid_of("taskmanager-1"), "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  supervisor_->stop();
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(told, once);
}

TEST_F(ClusterSupervisorTest, GivesFirstArgumentsToTheFirstStartOfEachProcessOnly) {
  options_.arguments = {"-D", "always=1"};
  options_.first_arguments = {"-D", "once=1"};
  start_all();
  const auto has = [&](pid_t pid, const std::string& argument) {
    const auto& arguments = host_.running.at(pid).arguments;
    return std::count(arguments.begin(), arguments.end(), argument) == 1;
  };
  for (const auto& [pid, command] : host_.running) {
    EXPECT_TRUE(has(pid, "always=1"));
    EXPECT_TRUE(has(pid, "once=1"));
  }
  host_.end(pid_of("taskmanager-1"), "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  const pid_t second = pid_of("taskmanager-1");
  EXPECT_TRUE(has(second, "always=1"));
  EXPECT_FALSE(has(second, "once=1"));
}

TEST_F(ClusterSupervisorTest, GivesEachProcessArgumentsOfItsOwnAtEachStart) {
  options_.arguments = {"-D", "of.all=1"};
  std::map<std::string, int> asked;
  options_.overrides = [&](const std::string& name, const std::optional<Address>& job_manager) {
    ClusterSupervisor::MemberOverrides result;
    result.arguments = {"-D", fmt::format("of={}/{}", name, ++asked[name])};
    if (name == "taskmanager-2") {
      result.job_manager = Address{"127.0.0.1", static_cast<uint16_t>(job_manager->port + 1000)};
    }
    EXPECT_EQ(job_manager.has_value(), name != "jobmanager");
    return result;
  };
  start_all();
  EXPECT_EQ(host_.running.at(pid_of("jobmanager")).arguments.back(), "of=jobmanager/1");
  const auto& first = host_.running.at(pid_of("taskmanager-1"));
  EXPECT_EQ(first.arguments.back(), "of=taskmanager-1/1");
  EXPECT_EQ(*(first.arguments.end() - 3), "of.all=1");
  EXPECT_EQ(option(first, "--jobmanager"), "127.0.0.1:5100");
  EXPECT_EQ(option(host_.running.at(pid_of("taskmanager-2")), "--jobmanager"), "127.0.0.1:6100");
  host_.end(pid_of("taskmanager-1"), "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.at(pid_of("taskmanager-1")).arguments.back(), "of=taskmanager-1/2");
}

TEST_F(ClusterSupervisorTest, TellsOfEachStartAndEnd) {
  std::vector<std::string> told;
  using Life = ClusterSupervisor::MemberLife;
  const auto tell = [&](const Life& life, const std::string& what) {
    told.push_back(fmt::format("{} {} {} {}", life.name, life.number, life.process.pid, what));
  };
  options_.on_started = [&](const Life& life) {
    EXPECT_EQ(life.started, clock_.now());
    tell(life, "started");
  };
  options_.on_ready = [&](const Life& life, const Address& address) {
    tell(life, fmt::format("at {}", address.port));
  };
  options_.on_ended = [&](const Life& life, const ProcessExit& exit) { tell(life, exit.how); };
  start_all();
  clock_.advance(1min);
  host_.end(101, "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(told, (std::vector<std::string>{
                      "jobmanager 1 100 started", "jobmanager 1 100 at 5100",
                      "taskmanager-1 1 101 started", "taskmanager-2 1 102 started",
                      "taskmanager-1 1 101 at 5101", "taskmanager-2 1 102 at 5102",
                      "taskmanager-1 1 101 signal 9", "taskmanager-1 2 103 started"}));
  supervisor_->stop();
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(told.size(), 11u);
  EXPECT_EQ(told.back(), "taskmanager-2 1 102 signal");
}

TEST_F(ClusterSupervisorTest, StartsAgainAtOnceHoweverOftenWhenToldSo) {
  options_.restart_wait_max = Duration(0);
  start_all();
  for (int i = 0; i < 20; i++) {
    host_.end(pid_of("taskmanager-1"), "signal 9");
    ASSERT_TRUE(supervisor_->step().ok());
    open_ports();
    ASSERT_TRUE(supervisor_->step().ok());
    ASSERT_EQ(host_.running.size(), 3u);
  }
  EXPECT_EQ(written().find("taskmanager-1")->restarts, 20u);
}

TEST_F(ClusterSupervisorTest, StartsTaskManagersOnceTheJobManagerHasAPort) {
  make();
  ASSERT_TRUE(supervisor_->step().ok());
  ASSERT_EQ(host_.running.size(), 1u);
  EXPECT_EQ(host_.running.begin()->second.arguments[0], "jobmanager");
  open_ports();
  ASSERT_TRUE(supervisor_->step().ok());
  ASSERT_EQ(host_.running.size(), 3u);
  EXPECT_EQ(option(host_.running.rbegin()->second, "--jobmanager"), "127.0.0.1:5100");
}

TEST_F(ClusterSupervisorTest, WritesWhatRunsAndWhere) {
  start_all();
  const ClusterState state = written();
  EXPECT_EQ(state.boot, "boot");
  ASSERT_EQ(state.processes.size(), 3u);
  EXPECT_TRUE(state.processes[0].running);
  EXPECT_EQ(state.processes[0].address->port, 5100);
  EXPECT_EQ(state.processes[2].name, "taskmanager-2");
}

TEST_F(ClusterSupervisorTest, RestartsATaskManagerAtOnceAndThenWithDelay) {
  start_all();
  host_.end(pid_of("taskmanager-1"), "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
  EXPECT_EQ(written().find("taskmanager-1")->restarts, 1u);
  open_ports();
  ASSERT_TRUE(supervisor_->step().ok());

  host_.end(pid_of("taskmanager-1"), "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 2u);
  EXPECT_FALSE(written().find("taskmanager-1")->running);
  clock_.advance(ProcessRestartBackoff::kFirst);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
}

TEST_F(ClusterSupervisorTest, LeavesATaskManagerDeadWhenTold) {
  options_.restart = false;
  start_all();
  host_.end(pid_of("taskmanager-2"), "signal 9");
  clock_.advance(1h);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 2u);
  EXPECT_FALSE(written().find("taskmanager-2")->running);
}

TEST_F(ClusterSupervisorTest, RestartsTheJobManagerOnItsPort) {
  start_all();
  host_.end(pid_of("jobmanager"), "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  const auto& command = host_.running.at(pid_of("jobmanager"));
  EXPECT_EQ(option(command, "--port"), "5100");
}

TEST_F(ClusterSupervisorTest, EndsTheClusterWhenTheJobManagerNeverCameUp) {
  make();
  ASSERT_TRUE(supervisor_->step().ok());
  host_.end(host_.running.begin()->first, "exit code 1");
  const Status failed = supervisor_->step();
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(failed.message().find("jobmanager"), std::string::npos);
  EXPECT_TRUE(supervisor_->ended());
}

TEST_F(ClusterSupervisorTest, EndsTheClusterWhenATaskManagerGivesUpBeforeItCameUp) {
  make();
  ASSERT_TRUE(supervisor_->step().ok());
  open_ports();
  ASSERT_TRUE(supervisor_->step().ok());
  const int before = host_.spawns;
  host_.end(host_.running.rbegin()->first, "exit code 1");
  const Status failed = supervisor_->step();
  EXPECT_EQ(failed.message(), "taskmanager-2 did not start: exit code 1");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(supervisor_->ended());
  EXPECT_EQ(host_.spawns, before);
}

TEST_F(ClusterSupervisorTest, RestartsATaskManagerThatASignalEndedBeforeItCameUp) {
  make();
  ASSERT_TRUE(supervisor_->step().ok());
  open_ports();
  ASSERT_TRUE(supervisor_->step().ok());
  host_.end(host_.running.rbegin()->first, "signal 9");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
}

TEST_F(ClusterSupervisorTest, RestartsATaskManagerThatGivesUpAfterItCameUp) {
  start_all();
  host_.end(pid_of("taskmanager-1"), "exit code 1");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
  host_.end(pid_of("taskmanager-1"), "exit code 1");  // Its port was taken meanwhile.
  ASSERT_TRUE(supervisor_->step().ok());
  clock_.advance(ProcessRestartBackoff::kFirst);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
}

TEST_F(ClusterSupervisorTest, EndsTheClusterWhenAProcessCannotBeStartedBeforeItCameUp) {
  make();
  ASSERT_TRUE(supervisor_->step().ok());
  open_ports();
  host_.refuses = true;
  EXPECT_EQ(supervisor_->step().message(), "no process left");
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(supervisor_->ended());
}

TEST_F(ClusterSupervisorTest, EndsTheClusterWhenTheStateCannotBeWrittenBeforeItCameUp) {
  make();
  files_.set_capacity(0);
  EXPECT_EQ(supervisor_->step().code(), StatusCode::kResourceExhausted);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(supervisor_->ended());
}

TEST_F(ClusterSupervisorTest, TriesAgainWithDelayWhenAProcessCannotBeStartedAgain) {
  start_all();
  const int before = host_.spawns;
  host_.refuses = true;
  host_.end(pid_of("taskmanager-1"), "signal 9");
  for (int i = 0; i < 5; i++) ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.spawns, before + 1);
  EXPECT_EQ(host_.running.size(), 2u);
  clock_.advance(ProcessRestartBackoff::kFirst);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.spawns, before + 2);

  host_.refuses = false;
  clock_.advance(2 * ProcessRestartBackoff::kFirst);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
  EXPECT_EQ(written().find("taskmanager-1")->restarts, 1u);
  EXPECT_TRUE(written().find("taskmanager-1")->running);
}

TEST_F(ClusterSupervisorTest, WritesTheStateLaterWhenTheDiskWasFull) {
  start_all();
  const pid_t before = pid_of("taskmanager-1");
  files_.set_capacity(0);
  host_.end(before, "signal 9");
  for (int i = 0; i < 5; i++) ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
  EXPECT_EQ(pid_of("taskmanager-1"), before);

  files_.set_capacity(1 << 20);
  clock_.advance(ProcessRestartBackoff::kLongest);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_NE(pid_of("taskmanager-1"), before);
  EXPECT_EQ(written().find("taskmanager-1")->restarts, 1u);
}

TEST_F(ClusterSupervisorTest, EndsWhatItStartedAndKillsWhatDoesNotEnd) {
  start_all();
  host_.stubborn = true;
  supervisor_->stop();
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 3u);
  EXPECT_EQ(host_.continued.size(), 3u);  // A stopped process could not end.
  EXPECT_FALSE(supervisor_->ended());
  clock_.advance(ClusterSupervisor::kStopPatience);
  ASSERT_TRUE(supervisor_->step().ok());
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(host_.running.empty());
  EXPECT_TRUE(supervisor_->ended());
}

TEST_F(ClusterSupervisorTest, StartsNothingWhileStopping) {
  start_all();
  supervisor_->stop();
  ASSERT_TRUE(supervisor_->step().ok());
  clock_.advance(1min);
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(host_.running.empty());
}

TEST_F(ClusterSupervisorTest, EndsWhenItsDirectoryIsGone) {
  start_all();
  EXPECT_EQ(host_.running.size(), 3u);
  ASSERT_TRUE(files_.remove_all(directory_.path()).ok());
  clock_.advance(2s);
  EXPECT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(supervisor_->ended());
  EXPECT_TRUE(host_.running.empty());
  EXPECT_FALSE(files_.info(directory_.path()).ok());
}

TEST_F(ClusterSupervisorTest, LeavesADirectoryThatAnotherClusterHasTaken) {
  start_all();
  ClusterState other = written();
  other.supervisor.pid += 1;
  files_.put(directory_.state_file(), to_text(other));
  clock_.advance(2s);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(supervisor_->ended());
  EXPECT_EQ(written(), other);
}

TEST_F(ClusterSupervisorTest, WritesAStateAgainThatSomebodyHasDamaged) {
  start_all();
  const ClusterState before = written();
  for (const std::string& damage :
       {std::string("freshet"), std::string(), std::string(9000, 'x')}) {
    files_.put(directory_.state_file(), damage);
    clock_.advance(2s);
    EXPECT_TRUE(supervisor_->step().ok());
    EXPECT_EQ(written(), before);
  }
  ASSERT_TRUE(files_.remove(directory_.state_file()).ok());
  clock_.advance(2s);
  EXPECT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(written(), before);
  EXPECT_EQ(host_.running.size(), 3u);
}

TEST_F(ClusterSupervisorTest, StartsTaskManagersThatAreWishedForOnce) {
  start_all();
  ASSERT_TRUE(files_.create_directories(directory_.wish_for("taskmanager-3")).ok());
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(supervisor_->step().ok());
    open_ports();
  }
  EXPECT_EQ(host_.running.size(), 4u);
  EXPECT_TRUE(supervisor_->ready());
  ASSERT_NE(written().find("taskmanager-3"), nullptr);
  EXPECT_TRUE(written().find("taskmanager-3")->running);
  host_.end(pid_of("taskmanager-3"), "signal 9");  // It is kept alive like the others.
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(written().find("taskmanager-3")->restarts, 1u);
}

TEST_F(ClusterSupervisorTest, OutlivesAWishedTaskManagerThatDoesNotComeUp) {
  start_all();
  ASSERT_TRUE(files_.create_directories(directory_.wish_for("taskmanager-3")).ok());
  ASSERT_TRUE(supervisor_->step().ok());
  host_.end(pid_of("taskmanager-3"), "exit code 1");
  clock_.advance(1min);
  for (int i = 0; i < 3; i++) ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_FALSE(written().find("taskmanager-3")->running);
  EXPECT_EQ(host_.running.size(), 3u);
  ASSERT_TRUE(files_.create_directories(directory_.wish_for("taskmanager-4")).ok());
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(host_.running.size(), 4u);
  open_ports();
  // Whoever wished for it knows, and the next one has its name.
  ASSERT_TRUE(files_.remove_all(directory_.wish_for("taskmanager-3")).ok());
  ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_EQ(written().find("taskmanager-3"), nullptr);
  EXPECT_TRUE(written().find("taskmanager-4")->running);
  ASSERT_TRUE(files_.create_directories(directory_.wish_for("taskmanager-5")).ok());
  ASSERT_TRUE(files_.create_directories(directory_.wish_for("taskmanager-3")).ok());
  for (int i = 0; i < 3; i++) ASSERT_TRUE(supervisor_->step().ok());
  EXPECT_TRUE(written().find("taskmanager-3")->running);
  EXPECT_TRUE(written().find("taskmanager-5")->running);
  EXPECT_EQ(host_.running.size(), 6u);
}

}  // namespace
}  // namespace freshet
