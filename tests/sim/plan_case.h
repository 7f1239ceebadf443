#pragma once

#include <string>
#include <vector>

#include "tests/sim/plan_run.h"

namespace freshet::sim {

/// One job, one seed and what breaks it: all that a run is decided by.
struct PlanCase {
  std::string job;  // One of sim_job_names().
  uint64_t seed = 1;
  Duration step_time{0};
  std::vector<chaos::PlannedFault> faults = {};

  /// The command that runs it, with its faults in `plan_file`.
  std::string repeat(const std::string& plan_file) const;
};

/// Jobs of all kinds, that take from milliseconds to minutes, and up to eight faults of all kinds.
PlanCase random_case(uint64_t seed);

PlanRun run_case(const PlanCase&);

/// The least of its faults with which it still fails.
PlanCase shrink_case(const PlanCase&, const std::function<bool(const PlanCase&)>& fails);

/// A plan file that says how to run it, and runs the same whatever the seed.
std::string plan_file_of(const PlanCase&, const std::string& path);

}  // namespace freshet::sim
