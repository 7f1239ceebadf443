#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/chaos/fault_plan.h"
#include "runtime/chaos/link_faults.h"
#include "tests/sim/sim_cluster.h"

namespace freshet::sim {

/// Carries out planned faults in a simulated cluster, as `freshet chaos` does with real processes.
/// Whoever is to be broken and is not there is waited for, until the job has ended.
///
/// - A crash of a task is that of its TaskManager.
/// - `stop` at a mark lasts longer than a heartbeat timeout; `stop` and `delay` are of the whole
///   process.
/// - A file is damaged for whoever opens it from then on.
/// - A full disk is all of a TaskManager's; a slow one delays what is spilled.
class SimPlan {
 public:
  struct Outcome {
    chaos::PlannedFault planned;
    std::optional<TimePoint> fired;
    std::string victim = {};             // `taskmanager-1`, a path; of a mark empty.
    std::optional<SubtaskId> task = {};  // Of faults of tasks.
  };

  /// Ok, or why a simulation cannot do that.
  static Status check(const chaos::PlannedFault&);

  /// What plans of this job can name.
  static chaos::ClusterShape shape_of(const JobGraph&, uint32_t task_managers);

  /// Only faults that pass check().
  SimPlan(SimCluster&, std::vector<chaos::PlannedFault>, size_t job = 0);
  SimPlan(const SimPlan&) = delete;

  /// From now on marks break who passes them; other times count from when the job runs.
  void start();

  /// As many as there are planned faults, in their order.
  const std::vector<Outcome>& outcomes();
  size_t fired_count();

 private:
  struct SlowDisk {
    Duration each;
    TimePoint until;
  };
  using Fault = chaos::Fault;

  template <class Function>
  void after(Duration, Function);
  void arm(Outcome&);
  void wait_for_job();
  void fire(size_t number);
  bool carry_out(Outcome&);
  bool break_process(Outcome&);
  bool break_task(Outcome&);
  bool break_disk(Outcome&);
  bool break_file(Outcome&);
  bool break_link(Outcome&);
  void set_ways();
  void welcome(SimProcess&);

  SimCluster& cluster_;
  const size_t job_;
  std::vector<Outcome> outcomes_;
  std::map<uint32_t, size_t> marks_;  // Rules of the world's plan, by number of the fault.
  chaos::LinkFaults links_;
  std::optional<TimePoint> next_change_;        // Of links_, which is waited for.
  std::map<std::string, SlowDisk> slow_disks_;  // By TaskManager.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // Events may outlive this.
};

}  // namespace freshet::sim
