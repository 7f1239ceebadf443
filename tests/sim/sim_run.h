#pragma once

#include <string>
#include <vector>

#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_job.h"

namespace freshet::sim {

/// One job on one simulated cluster, from its submission to the comparison with its model.
class SimRun {
 public:
  SimRun(const SimJob& job, const SimCluster::Options& options);

  /// Its marks count for the whole program; see SimProgram.
  ~SimRun();

  SimCluster& cluster() { return cluster_; }
  SimWorld& world() { return cluster_.world(); }

  /// When all slots are there: three things go wrong at random moments, and besides up to two fault
  /// marks fire.
  void break_things();

  /// Everything that must hold at the end of any run: the job ends well, its output is the model's,
  /// nothing else is left, every task repeats, no invariant broke.
  void expect_exactly_once();

  /// All lines of the job's output, sorted; what is hidden is no output.
  std::vector<std::string> output();
  /// Everything there is below it, by path.
  std::vector<std::string> output_paths();

  size_t tasks_replayed() const { return tasks_replayed_; }
  uint64_t faults();
  std::string last_lines();

 private:
  const SimJob job_;
  SimCluster cluster_;
  size_t tasks_replayed_ = 0;
};

}  // namespace freshet::sim
