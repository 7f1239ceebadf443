#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/app/cluster_state.h"
#include "tests/integration/freshet_process.h"

namespace freshet::testing {

/// One job as `freshet list` shows it.
struct JobLine {
  std::string id;
  std::string state;
  std::string tasks;
  uint32_t restarts = 0;
  uint64_t records = 0;
  std::string name;
};

/// A cluster of real processes with a state directory of its own, on free ports of loopback. The
/// destructor ends every process that it ever started, by id, also after a failed test.
class TestCluster {
 public:
  struct Options {
    uint32_t task_managers = 2;
    uint32_t slots = 2;                       // 0: `cluster start` is not told.
    std::vector<std::string> arguments = {};  // More for `cluster start`.
    std::string name = "test";
    std::string state_directory = "";  // Empty: one of its own.
    bool supervised_here = false;      // Somebody in this process starts and ends it.
  };

  TestCluster() : TestCluster(Options()) {}
  explicit TestCluster(const Options&);
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  /// What `cluster start` did.
  const Outcome& started() const { return started_; }
  bool ok() const { return started_.exit_code == 0; }

  /// As the supervisor wrote it, with `running` as it is now.
  ClusterState state();
  ClusterProcess process(const std::string& name);
  bool alive(const std::string& name) { return process(name).running; }
  Address job_manager() { return process("jobmanager").address.value_or(Address{}); }
  /// As `cluster status` shows it; 0 when it does not.
  int rest_port() const;
  void kill(const std::string& name);
  /// Any signal, also to a process that is paused.
  void signal(const std::string& name, int signal);

  /// `freshet COMMAND --cluster ... ARGUMENTS`.
  std::vector<std::string> command(const std::string& command,
                                   std::vector<std::string> arguments) const;
  Outcome run(std::vector<std::string> arguments, Duration timeout = 60s) const;
  Outcome list() const;
  std::vector<JobLine> jobs() const;

  Outcome stop();
  const std::string& state_directory() const { return base_; }
  const std::string& name() const { return options_.name; }
  std::string log(const std::string& process) const;
  /// How often `text` is in that log.
  size_t count_in_log(const std::string& process, const std::string& text) const;
  /// What jobs printed there.
  std::string output(const std::string& process) const;

 private:
  void remember(const ClusterState&);

  const Options options_;
  TemporaryDirectory directory_;
  const std::string base_;
  const std::unique_ptr<ProcessHost> processes_;
  std::map<pid_t, ProcessIdentity> seen_;
  Outcome started_;
};

/// Modules of the examples, and those built for the tests.
std::string job_module(const std::string& name);
std::string test_job(const std::string& name);

}  // namespace freshet::testing
