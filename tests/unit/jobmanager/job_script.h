#pragma once

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "jobmanager/job_master.h"
#include "jobmanager/job_master_invariants.h"
#include "tests/unit/jobmanager/test_jobs.h"

namespace freshet {

/// Drives one JobMaster by lines of text, checks its invariants after each, and gives back what it
/// wants done:
///
///   register 1                 lose 1                     slots 1:0 2:0 (all that the job has;
///   `cluster=9` besides) state 0/1#0 RUNNING        all RUNNING                state 1/0#0
///   not_found 1/0#0 0 1 3 (dataset, producers)
///   END_OF_DATA a b (committables) fail 0/1#0 message         refuse 0/1#0 message (kUnavailable;
///   kInvalidArgument) hosted 1 0/0#0 1/0#0       channels_lost 1/0#0        commit_done 1 7
///   ok|error wait 100 (milliseconds)    cancel                     start
///
/// `state 0/1#0@2` reports from TaskManager 2 instead of where the task is; `channels_lost 1/0#0@2`
/// means channels from TaskManager 2 (otherwise from one that is gone). `channels_corrupt 1/0#0`:
/// their bytes were wrong. `END_OF_DATA made=7`: the hash of what it stored.
class JobScript {
 public:
  explicit JobScript(JobGraph graph, const Configuration& configuration = deterministic(),
                     RegionCycles = RegionCycles::kMerged);

  /// Exponential delay without jitter.
  static Configuration deterministic();

  /// Commands, and `= STATE` when the job's state changed; `! why` when a rule does not hold.
  std::vector<std::string> run(const std::string& line);
  /// The lines of several; only what the last one gave.
  std::vector<std::string> run_all(const std::vector<std::string>& lines);

  const JobMaster& job() const { return *job_; }
  TimePoint now() const { return now_; }

 private:
  JobCommands dispatch(std::istringstream& words, const std::string& verb);
  JobCommands task_state(std::istringstream& words, Status cause);
  JobCommands all(TaskState state);
  JobCommands slots(std::istringstream& words);
  JobCommands hosted(std::istringstream& words);
  JobCommands wait(Duration duration);
  AttemptId attempt(const std::string& text, std::optional<TaskManagerId>& from) const;
  TaskManagerId place_of(const AttemptId&) const;

  std::unique_ptr<Random> random_ = make_seeded_random(1);
  std::unique_ptr<JobMaster> job_;
  JobMasterInvariants invariants_;
  TimePoint now_{};
};

}  // namespace freshet
