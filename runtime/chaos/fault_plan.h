#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/chaos/fault.h"

namespace freshet::chaos {

/// When a fault happens, counted from when the job runs. Of a mark: when it is passed.
struct FaultTimes {
  Duration at{0};      // First, or begin of what `span` bounds.
  Duration every{0};   // Again and again until `span` is over; 0: once.
  Duration jitter{0};  // Each time is moved by up to so much, either way.
  Duration span{0};    // Of `every` and `count`.
  uint32_t count = 0;  // At as many random moments of `span`.
  bool operator==(const FaultTimes&) const = default;
};

/// One line of a plan.
struct FaultRule {
  Fault fault;
  FaultTimes times;
  std::optional<uint64_t> chance = {};  // PlannedFault::chance, of one fault.
  bool operator==(const FaultRule&) const = default;
};

/// What is broken, by rules that may leave open whom it meets and when: a seed decides.
struct FaultPlan {
  std::vector<FaultRule> rules;
  bool operator==(const FaultPlan&) const = default;
};

inline constexpr size_t kPlanRulesMax = 1000;
inline constexpr size_t kPlannedFaultsMax = 100'000;
inline constexpr Duration kPlanSpanMax = 24h;

/// What a plan can name.
struct ClusterShape {
  struct Vertex {
    std::string number;  // As in `task:NUMBER/SUBTASK`.
    std::string name;
    uint32_t parallelism = 1;
  };
  uint32_t task_managers = 1;
  std::vector<Vertex> vertices;
};

/// One fault of a run. Open is only what the run itself must say: which tasks there are at that
/// time, which files, and who passes a mark.
struct PlannedFault {
  uint32_t number = 0;         // From 1, in the order of their times; those at marks come first.
  std::optional<Duration> at;  // None: when its mark is passed.
  Fault fault;
  uint64_t chance = 0;  // Chooses among tasks or files that are there, and a place in a file.
  std::string to_string() const;  // `+2.5s kill taskmanager-1`
  bool operator==(const PlannedFault&) const = default;
};

/// Everything that goes wrong in a run: the same for the same plan, shape and seed on every
/// machine. A rule decides its own chance, whatever other rules there are. kInvalidArgument names
/// who or what is not there and what is.
Result<std::vector<PlannedFault>> expand(const FaultPlan&, const ClusterShape&, uint64_t seed);

/// A plan without anything open that becomes these faults with every seed, as long as their tasks
/// and files are there at their times.
FaultPlan as_plan(const std::vector<PlannedFault>&);

/// Whether a rule says all that its kind needs, and nothing else.
Status check(const FaultRule&);

/// `--kill KIND --every T --for T` as a plan: processes are killed, tasks get an exception.
Result<FaultPlan> kill_plan(const std::string& victim, Duration every, Duration span);

/// Plans by lines. One list `faults` of maps: the kind of a fault with its target, and its times.
///
///     faults:
///       - kill: taskmanager
///         every: 2s
///         jitter: 500ms
///         for: 60s
///       - cut: taskmanager-1 <-> jobmanager
///         at: 5s
///         lasts: 2s
///       - mark: deploy.before_ack
///         of: taskmanager-2
///         passing: 3
///         do: kill
///
/// Errors are kInvalidArgument and begin with `path:line`.
Result<FaultPlan> parse_fault_plan(const std::string& path, const std::string& text);

/// What parse_fault_plan reads as the same plan.
std::string to_text(const FaultPlan&);

}  // namespace freshet::chaos
