#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobmanager/job_dispatcher.h"
#include "network/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/configuration.h"
#include "runtime/base/executor.h"
#include "runtime/base/faults.h"
#include "runtime/base/file_system.h"
#include "runtime/base/random.h"
#include "runtime/base/unique_function.h"
#include "runtime/metrics/numbers.h"

namespace freshet {

/// The JobManager of a cluster: its control port, its TaskManagers, its jobs, its blobs. A shell:
/// JobMaster and ResourceManager decide, this translates messages to events and commands to
/// messages, and keeps timers.
///
/// All work happens on `main`. start() and stop() may be called on any thread; everything handed in
/// outlives the executors.
class JobManager {
 public:
  struct Options {
    Address bind;
    std::string state_dir;  // Blobs lie below it.
    Configuration configuration;
    /// How long a TaskManager whose connection has ended is waited for to be explained, by its own
    /// last words or by who started it.
    Duration explanation_patience{};
    bool share_groups = true;  // See JobDispatcher.
  };

  /// Refuses settings that make no sense, alone or together. start() does it, too.
  static Status check(const Configuration&);

  JobManager(Options options, Transport& transport, Executor& main, Executor& io, Clock& clock,
             Random& random, FileSystem& files, Faults& faults);
  /// Only after stop().
  ~JobManager();

  /// Opens the control port and returns where it is; a setting that makes no sense is
  /// kInvalidArgument. Once.
  Result<Address> start();

  /// Closes all connections and removes what was stored; `stopped` runs on `main` after that.
  /// Further calls do nothing.
  void stop(UniqueFunction<void()> stopped = {});

  /// On the main thread: what the JobManager knows now.
  const JobDispatcher& jobs() const;
  /// On the main thread; as a client's request. kNotFound, or kFailedPrecondition when it is too
  /// late.
  Status cancel(JobId);
  /// What a registered TaskManager has said of itself.
  struct LastWord {
    TimePoint heard;
    TaskManagerNumbers numbers;  // All 0 before its first heartbeat.
  };
  /// On the main thread.
  std::optional<LastWord> last_word(TaskManagerId) const;
  /// Calls `observer` on the main thread after each event of each job. Before start().
  void observe(UniqueFunction<void(const JobMaster&)> observer);

 private:
  class Shell;
  const std::shared_ptr<Shell> shell_;
  bool started_ = false;
  bool stopped_ = false;
};

}  // namespace freshet
