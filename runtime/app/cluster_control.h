#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/app/cluster_state.h"
#include "runtime/app/process_host.h"
#include "runtime/app/signal_waiter.h"
#include "runtime/base/clock.h"
#include "runtime/base/file_system.h"

namespace freshet {

/// Starts, stops and shows one cluster of this machine from the outside. Waits, bounded.
class ClusterControl {
 public:
  static constexpr Duration kStartPatience = 30s;  // Processes start in less than a second.

  struct StartOptions {
    std::string program;                 // This binary.
    std::vector<std::string> arguments;  // Of its supervisor subcommand.
    std::map<std::string, std::string> environment;
    size_t processes = 0;  // JobManager and TaskManagers.
    /// Asks the JobManager: ok once all TaskManagers have registered. Called again until then.
    std::function<Status(const Address&)> check_registered;
    Duration patience = kStartPatience;
  };
  static constexpr Duration kStopPatience = 10s;  // Longer than the supervisor's own.

  ClusterControl(const ClusterDirectory&, ProcessHost&, FileSystem&, const Clock&, SignalWaiter&);

  /// Leaves a supervisor behind and returns when the whole cluster answers. kAlreadyExists when the
  /// name is in use. After any other error nothing runs; the message has the ends of the logs.
  /// kDeadlineExceeded when something did not come up in time: the message says what, and the logs
  /// are kept.
  Result<ClusterState> start(const StartOptions&);

  /// Ends this cluster and removes its files. kNotFound when there is none.
  Status stop();

  /// As the supervisor left it, with what has died since.
  Result<ClusterState> status();

  /// Has the supervisor start one TaskManager more, and waits until `check_registered` is ok:
  /// kFailedPrecondition while somebody has not registered; after any other error nothing is added.
  /// Returns its name. After an error it does not run, or the message says that it still may come.
  Result<std::string> add(const std::function<Status(const ClusterState&)>& check_registered,
                          Duration patience);

  /// Kills one process, as a crash would: no word to anybody. kNotFound names those that there are.
  Result<ClusterProcess> kill(const std::string& process);

 private:
  Result<ClusterState> running_state();
  Result<std::string> wish();
  /// Not ok when its directory takes nothing more.
  Status check_writable() const;
  Status not_added(const std::string& name, Duration patience, const Status& registered);
  Status claim();
  Status take_over(const std::string& prepared);
  Status check_dead();
  Result<ClusterState> wait_until_ready(const StartOptions&, const ProcessIdentity& supervisor);
  std::string missing(const Status& registered) const;
  Status end_processes(const ClusterState&);
  bool any_alive(const ClusterState&) const;
  void update_liveness(ClusterState&) const;
  std::string log_tails() const;

  const ClusterDirectory directory_;
  ProcessHost& processes_;
  FileSystem& files_;
  const Clock& clock_;
  SignalWaiter& signals_;
};

}  // namespace freshet
