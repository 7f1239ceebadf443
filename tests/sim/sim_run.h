#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/sim/sim_chaos.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

/// Whatever must have come in some run of many; the names in SimProgram::broken.
std::vector<std::string> kinds_of_damage();

/// Of a cluster whose jobs wait until everything has healed that SimChaos breaks.
std::map<std::string, std::string> patient_configuration();

/// Jobs on one simulated cluster, from their submission to the comparison with their models. Jobs
/// are numbered as they are given.
class SimRun {
 public:
  SimRun(const SimJob& job, const SimCluster::Options& options);
  SimRun(std::vector<SimJob> jobs, const SimCluster::Options& options);

  /// Its marks and faults count for the whole program; see SimProgram.
  ~SimRun();

  SimCluster& cluster() { return cluster_; }
  SimWorld& world() { return cluster_.world(); }

  /// When all slots are there: three things go wrong at random moments, and besides up to two fault
  /// marks fire.
  void break_things();

  /// Everything that must hold at the end of any run: the jobs end well, their outputs are the
  /// models', nothing else is left, every task repeats, no invariant broke, nothing ran again that
  /// need not.
  void expect_exactly_once();

  /// The same, where the JobManager may die. Then it forgets its jobs, and one that is submitted
  /// again may be refused for what the first submission left: nothing of it is visible, or all.
  void expect_exactly_once_or_refused();

  /// All lines of a job's output, sorted; what is hidden is no output.
  std::vector<std::string> output(size_t job = 0);
  /// Every file there is below it, by path.
  std::vector<std::string> output_paths(size_t job = 0);
  /// Every path on the file server that is neither input nor output.
  std::vector<std::string> leftovers();

  /// Of all jobs.
  size_t tasks_replayed() const { return tasks_replayed_; }
  /// Tasks that ran again or were let alone, over all failures.
  size_t tasks_restarted() const { return tasks_restarted_; }
  size_t tasks_spared() const { return tasks_spared_; }
  uint64_t faults();
  std::string last_lines();

 private:
  void expect_end(bool may_be_refused);
  bool was_refused_with_the_truth(size_t job);
  void expect_replays(size_t job);
  void expect_restarts(size_t job);

  const std::vector<SimJob> jobs_;
  const bool recorded_;
  SimCluster cluster_;
  SimChaos chaos_;
  size_t tasks_replayed_ = 0;
  size_t tasks_restarted_ = 0;
  size_t tasks_spared_ = 0;
};

}  // namespace freshet::sim
