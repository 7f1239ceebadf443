#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/cluster_supervisor.h"
#include "runtime/app/exit_reporter.h"
#include "runtime/app/signal_waiter.h"

namespace freshet::chaos {

/// A cluster that lives and dies with this process: its supervisor is here, and the kernel kills
/// its processes when this one ends. For one thread, which calls step() again and again.
class ChaosCluster {
 public:
  struct Options {
    std::string program;    // The binary `freshet`.
    std::string directory;  // Must not be there; removed in the end unless keep_files().
    uint32_t task_managers = 1;
    uint32_t slots = 1;
    std::vector<std::string> settings;  // Of every process: `-D`, `key=value`, ...
    std::map<std::string, std::string> environment;
    std::string secret;
    Duration start_patience = 30s;
    /// Changes what the supervisor is told, last.
    std::function<void(ClusterSupervisor::Options&)> install;
  };

  /// When a process lived.
  struct Life {
    std::string name;
    ProcessIdentity process;
    uint32_t number = 1;
    TimePoint started;
    std::optional<TimePoint> ended;
    std::string how;  // It ended.
  };

  /// Returns when every process has opened its port; kAborted after a signal to stop. After an
  /// error nothing runs; the message has the ends of the logs.
  static Result<std::unique_ptr<ChaosCluster>> start(const Options&, ProcessHost&, FileSystem&,
                                                     const Clock&, SignalWaiter&);

  /// Ends all processes, within seconds, also those that were stopped.
  ~ChaosCluster();

  /// Looks after the processes: what ended is started again, at once.
  void step();

  /// Of `jobmanager`, `taskmanager-1`; nullptr: it does not run.
  const Life* life_of(const std::string& name) const;
  /// All, in the order of their starts.
  const std::vector<Life>& lives() const { return lives_; }
  /// False when it does not run.
  bool signal(const std::string& name, ProcessSignal);

  /// Where the JobManager really is; it keeps its port when it is started again.
  const Address& job_manager() const { return job_manager_; }
  const ClusterDirectory& directory() const { return directory_; }
  std::vector<std::string> names() const;

  /// For whoever wants to know what happened.
  void keep_files() { keep_files_ = true; }

 private:
  ChaosCluster(const Options&, ClusterDirectory, ProcessHost&, FileSystem&, const Clock&,
               SignalWaiter&);
  ClusterSupervisor::Options supervisor_options(const Options&);
  Status wait_until_ready(const Options&);
  Status read_job_manager();
  std::string log_tails() const;
  void end_processes();

  const ClusterDirectory directory_;
  const uint32_t task_managers_;
  ProcessHost& processes_;
  FileSystem& files_;
  const Clock& clock_;
  SignalWaiter& signals_;
  ExitReporter reporter_;
  std::vector<Life> lives_;
  Address job_manager_;
  bool keep_files_ = false;
  std::unique_ptr<ClusterSupervisor> supervisor_;
};

}  // namespace freshet::chaos
