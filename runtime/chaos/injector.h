#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/chaos/chaos_cluster.h"
#include "runtime/chaos/fault_plan.h"
#include "runtime/chaos/fault_tools.h"
#include "runtime/chaos/job_watch.h"

namespace freshet::chaos {

/// What became of one planned fault.
struct InjectedFault {
  PlannedFault planned;
  std::optional<TimePoint> fired;
  std::optional<TimePoint> healed;     // When what lasts was taken back.
  std::string victim;                  // Who it met: a process with its id, a task, a file.
  std::optional<SubtaskId> task;       // Likewise, of faults of tasks.
  std::optional<ProcessName> process;  // Of marks and files: whose.
  std::string job_state;               // When it fired.
  std::string why_not;                 // It has not fired, or not yet.
};

/// Has planned faults happen, each when its time has come and who it is for is there. For the
/// thread of the cluster.
class Injector {
 public:
  Injector(std::vector<PlannedFault>, FaultTools&, ChaosCluster&, JobWatch&, FileSystem&,
           const Clock&);

  /// The job runs: times of the plan count from now.
  void start(TimePoint now);
  /// What is due happens, what is over is taken back. Never waits.
  void step(TimePoint now);
  /// No more faults; what lasts is taken back now. `why` is said of those that did not fire.
  void finish(TimePoint now, const std::string& why);

  /// All have fired and been taken back.
  bool done() const;
  const std::vector<InjectedFault>& outcomes() const { return outcomes_; }

 private:
  /// Taken up, not yet answered by the JobManager.
  struct Request {
    uint64_t number = 0;
    SubtaskId task;
    TimePoint asked;
  };

  bool is_due(const InjectedFault&, TimePoint now) const;
  void fire(InjectedFault&, TimePoint now);
  void fire_at_process(InjectedFault&, TimePoint now);
  void fire_at_task(InjectedFault&, TimePoint now);
  void fire_at_link(InjectedFault&, TimePoint now);
  void fire_at_disk(InjectedFault&, TimePoint now);
  void fire_at_file(InjectedFault&, TimePoint now);
  /// Faults at marks happen by themselves; what happened is read.
  void look_at_marks(TimePoint now);
  void note_fired(const FiredFault&, TimePoint now);
  void heal(InjectedFault&, TimePoint now);
  void go_on(const ProcessName&);
  void mend(InjectedFault&);
  static void mark_fired(InjectedFault&, TimePoint at, std::string victim);
  /// One that runs, of those that the fault may meet.
  std::optional<SubtaskId> running_task(const PlannedFault&) const;
  /// The JobManager knows it: otherwise its loss would meet nobody.
  bool is_registered(const std::string& name, pid_t pid) const;

  FaultTools& tools_;
  ChaosCluster& cluster_;
  JobWatch& watch_;
  FileSystem& files_;
  const Clock& clock_;
  std::optional<TimePoint> started_;
  TimePoint look_at_marks_at_{};
  size_t marks_seen_ = 0;  // Lines of the record.
  std::vector<InjectedFault> outcomes_;
  std::map<uint32_t, Request> requests_;       // By the number of the fault.
  std::map<uint32_t, uint64_t> broken_links_;  // Likewise: their numbers as the proxies count.
  std::map<uint32_t, uint64_t> met_before_;    // Likewise: what disks had met.
  std::map<std::string, ProcessIdentity> paused_;
};

}  // namespace freshet::chaos
