#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/chaos/chaos_cluster.h"
#include "runtime/chaos/injector.h"
#include "runtime/chaos/job_watch.h"
#include "runtime/chaos/sampler.h"

namespace freshet::chaos {

/// One run of a job on a cluster of its own, from the start of the processes to the end of the job,
/// broken by a plan or left alone. For one thread.
class JobRun {
 public:
  struct Options {
    ChaosCluster::Options cluster;
    Submission submission;
    std::string module_bytes;
    std::vector<PlannedFault> plan;  // Empty: undisturbed.
    /// Longest time from the last fault, or the start, to the end of the job.
    Duration patience = 10min;
    std::function<void(const InjectedFault&)> on_fired;  // Once for each.
  };

  struct Ending {
    std::optional<JobReport> job;  // As it was seen last.
    Status status;                 // Ok: it FINISHED.
    bool interrupted = false;      // By a signal.
    TimePoint submitted;
    EpochMillis submitted_epoch = 0;   // The same for lines of logs.
    std::optional<TimePoint> running;  // Faults are counted from here.
    TimePoint ended;
    JobId id;
    Samples samples;
    std::vector<InjectedFault> faults;
    std::vector<ChaosCluster::Life> lives;
    std::string job_manager_log;
  };

  /// The files of the cluster stay. An error: there was no run at all, since the cluster did not
  /// come up or refused the job.
  static Result<Ending> run(const Options&, ProcessHost&, FileSystem&, const Clock&, SignalWaiter&);
};

}  // namespace freshet::chaos
