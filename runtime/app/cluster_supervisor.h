#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/cluster_state.h"
#include "runtime/app/process_host.h"
#include "runtime/app/process_restart_backoff.h"
#include "runtime/base/clock.h"
#include "runtime/base/file_system.h"

namespace freshet {

/// Keeps the processes of one cluster alive: starts the JobManager, then the TaskManagers, starts
/// again what has ended, and on stop() ends exactly what it started.
///
/// A JobManager that ended is started again on the same port, so that TaskManagers find it; the
/// jobs it knew are gone. One that never came up ends the cluster, and so does a TaskManager that
/// gave up by itself before it ever came up: a port in use does not mend itself. A cluster that
/// came up once outlives what it cannot do for a while (start a process, write the state file): it
/// tries again, later and later. TaskManagers that are wished for later join; one of them that does
/// not come up is forgotten when its wish is taken back, and the cluster goes on. A state file that
/// somebody has damaged is written again; when the directory is gone, or that of another cluster,
/// nobody can reach this one any more, and it ends. Never waits: step() is called again and again.
class ClusterSupervisor {
 public:
  /// What one process gets that others do not.
  struct MemberOverrides {
    std::vector<std::string> arguments;  // After all others.
    std::optional<Address> job_manager;  // Where a TaskManager finds it, instead of where it is.
  };
  /// One process from its start to its end.
  struct MemberLife {
    std::string name;  // `jobmanager`, `taskmanager-1`.
    ProcessIdentity process;
    uint32_t number = 1;  // 2 after the first restart.
    TimePoint started;
  };
  struct Options {
    std::string program;  // This binary.
    uint32_t task_managers = 1;
    uint32_t slots = 1;                              // Of each TaskManager.
    Address control;                                 // Port 0: any.
    bool restart = true;                             // Otherwise what has ended stays so.
    std::vector<std::string> arguments;              // For every process: settings.
    std::vector<std::string> first_arguments;        // Besides, at its first start only.
    std::map<std::string, std::string> environment;  // Likewise: what is no business of others.
    /// Called when a TaskManager has ended that was not asked to, with where the JobManager is.
    /// Returns at once.
    std::function<void(const Address& job_manager, const ProcessExit&)> on_task_manager_ended;
    Duration restart_wait_max = ProcessRestartBackoff::kLongest;  // 0: always at once.
    /// Asked each time that a process is about to be started; the address, where the JobManager is,
    /// is known for TaskManagers only.
    std::function<MemberOverrides(const std::string& name, const std::optional<Address>&)>
        overrides;
    /// Of every process, also while stopping. They return at once.
    std::function<void(const MemberLife&)> on_started;
    std::function<void(const MemberLife&, const Address&)> on_ready;  // Its port is open.
    std::function<void(const MemberLife&, const ProcessExit&)> on_ended;
  };
  static constexpr Duration kStopPatience = 5s;  // From asking a process to end until it is killed.

  ClusterSupervisor(const Options&, const ClusterDirectory&, std::string boot, ProcessHost&,
                    FileSystem&, const Clock&);

  /// Looks what has ended, starts what is due, and writes the state file if something changed. An
  /// error, only before the cluster came up, ends it: everything is asked to stop, and the caller
  /// goes on until ended().
  Status step();

  /// Asks all processes to end, stopped ones (ProcessSignal::kStop) too.
  void stop();

  /// After stop(), when nothing runs any more.
  bool ended() const;

  /// True when every process has opened its port.
  bool ready() const;

 private:
  struct Member {
    MemberLife life() const { return {state.name, state.process, lives, started}; }

    ClusterProcess state;
    TimePoint started;
    uint32_t lives = 0;
    std::optional<TimePoint>
        start_at;          // When it is to be started; nullopt: it runs, or stays dead.
    bool came_up = false;  // Once at least.
    bool wished = false;   // It came later: the cluster does without it.
    ProcessRestartBackoff backoff;
  };

  bool is_job_manager(const Member& member) const { return &member == &members_.front(); }
  /// TaskManagers that were wished for, one after the other; see ClusterDirectory::wish_for().
  std::optional<std::string> first_wish();
  void add_wished();
  /// Those that did not come up, once whoever wished for them knows it and takes the wish back.
  void forget_unwished();
  /// A name that no process had before.
  Member& add_member(const std::string& name);
  Status on_exit(Member&, const ProcessExit&);
  Status start_or_retry(Member&);
  Status start(Member&);
  std::vector<std::string> arguments_of(const Member&) const;
  std::vector<std::string> role_of(const Member&, const MemberOverrides&) const;
  void read_address(Member&);
  void kill_overdue();
  /// Now and then.
  void look_after_directory();
  Status write_state_or_retry();
  Status write_state();

  const Options options_;
  const ClusterDirectory directory_;
  ProcessHost& processes_;
  FileSystem& files_;
  const Clock& clock_;
  ClusterState written_;  // What the state file says.
  TimePoint write_at_{};  // Not before, after a failure.
  ProcessRestartBackoff write_backoff_;
  TimePoint look_at_{};   // At the directory.
  bool rewrite_ = false;  // Though nothing has changed.
  bool has_directory_ = true;
  bool came_up_ = false;               // All processes at once, and the state file said so.
  std::vector<Member> members_;        // The JobManager is first.
  std::optional<TimePoint> stopping_;  // Since when.
};

}  // namespace freshet
