#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/chaos/job_run.h"
#include "runtime/chaos/provable.h"
#include "runtime/chaos/run_record.h"
#include "runtime/chaos/verdict.h"

namespace freshet::chaos {

/// Runs a job undisturbed, then broken by a plan, once for each strategy, and compares the results;
/// with a checker of the job's own only the latter. For one thread.
class Experiment {
 public:
  struct Options {
    JobRun::Options run;                       // Its cluster's directory is made below `directory`.
    std::vector<std::string> broken_settings;  // Of the broken runs only: `-D`, `key=value`, ...
    std::vector<SinkOutput> outputs;
    /// Judges the outputs as they are; none: they are compared with those of an undisturbed run. An
    /// error: it cannot say.
    std::function<Result<Verdict>()> checker = {};
    std::vector<std::string> strategies;          // Failover strategies, `region` or `full`.
    std::string directory;                        // Of this experiment; must not be there.
    bool keep = false;                            // The directory with all logs.
    ChaosRecord record;                           // What is known before.
    std::function<void(const std::string&)> say;  // Lines for people: what happens now.
  };

  /// What a report shows, whatever happened. An error: there is nothing to show, since the job
  /// could not be run even undisturbed.
  static Result<ChaosRecord> run(Options, ProcessHost&, FileSystem&, const Clock&, SignalWaiter&);
};

/// 0: exact, each fault fired, and what it cost came back. 1: the result is wrong, or the job did
/// not come back. 2: nothing is proven: a fault did not fire, or the run was broken off.
int exit_code_of(const RunRecord&, bool interrupted);

}  // namespace freshet::chaos
