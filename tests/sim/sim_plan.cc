#include "tests/sim/sim_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/base/check.h"

namespace freshet::sim {

namespace {

using chaos::FaultKind;
using chaos::FaultSubject;
using chaos::PlannedFault;

constexpr Duration kLookForJob = 1ms;
constexpr Duration kLookAgain = 20ms;
constexpr Duration kDelayOfMark = 1s;  // Unless it says how long.

SimFaultPlan::Rule rule_of(const chaos::Fault& fault) {
  SimFaultPlan::Rule rule{.mark = fault.mark, .passing = fault.passing};
  rule.victim = fault.process.to_string();
  if (fault.mark_action == "throw") rule.action = SimFaultPlan::Action::kThrow;
  if (fault.mark_action == "throw" || fault.mark_action == "kill") return rule;
  rule.action = SimFaultPlan::Action::kPause;
  rule.pause = fault.mark_action == "stop" ? fault.lasts : kDelayOfMark;
  const std::string prefix = "delay=";
  if (!fault.mark_action.starts_with(prefix)) return rule;
  int64_t millis = 0;
  const char* const end = fault.mark_action.data() + fault.mark_action.size();
  (void)std::from_chars(fault.mark_action.data() + prefix.size(), end, millis);
  rule.pause = std::chrono::milliseconds(millis);
  return rule;
}

/// Files of one kind on a disk, by their paths.
std::vector<std::string> files_of(SimVolume& disk, chaos::FileKind kind) {
  std::vector<std::string> paths;
  for (const auto& [path, content] : disk.files().files()) {
    const bool module = path.find("/modules/") != path.npos;
    const bool spill = path.find("/spill/") != path.npos || path.find("/partitions/") != path.npos;
    if (!content.empty() && (kind == chaos::FileKind::kModule ? module : spill))
      paths.push_back(path);
  }
  return paths;
}

}  // namespace

Status SimPlan::check(const PlannedFault& planned) {
  const chaos::Fault& fault = planned.fault;
  if (fault.kind == FaultKind::kHang)
    return invalid_argument(fmt::format("{}: a simulation has one thread, which would hang with it",
                                        planned.to_string()));
  return Status();
}

chaos::ClusterShape SimPlan::shape_of(const JobGraph& graph, uint32_t task_managers) {
  chaos::ClusterShape shape;
  shape.task_managers = task_managers;
  for (const JobVertex& vertex : graph.vertices) {
    shape.vertices.push_back({std::to_string(vertex.id.value), vertex.name(), vertex.parallelism});
  }
  return shape;
}

SimPlan::SimPlan(SimCluster& cluster, std::vector<PlannedFault> faults, size_t job)
    : cluster_(cluster), job_(job) {
  for (PlannedFault& fault : faults) {
    CHECK(check(fault).ok());
    outcomes_.push_back({.planned = std::move(fault), .fired = {}});
  }
}

template <class Function>
void SimPlan::after(Duration duration, Function function) {
  SimEventQueue& queue = cluster_.world().queue();
  queue.add(queue.now() + duration, 0, "plan",
            [weak = std::weak_ptr<bool>(alive_), function = std::move(function)]() mutable {
              if (!weak.expired()) function();
            });
}

void SimPlan::start() {
  for (Outcome& outcome : outcomes_) {
    if (!outcome.planned.at) arm(outcome);
  }
  cluster_.on_start([this, weak = std::weak_ptr<bool>(alive_)](SimProcess& process) {
    if (!weak.expired()) welcome(process);
  });
  wait_for_job();
}

void SimPlan::arm(Outcome& outcome) {
  marks_[outcome.planned.number] =
      cluster_.world().fault_plan().add(rule_of(outcome.planned.fault));
}

void SimPlan::wait_for_job() {
  if (cluster_.job_state(job_) == JobState::kCreated && !cluster_.has_ended(job_))
    return after(kLookForJob, [this] { wait_for_job(); });
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    if (outcomes_[i].planned.at) after(*outcomes_[i].planned.at, [this, i] { fire(i); });
  }
}

void SimPlan::fire(size_t number) {
  if (cluster_.has_ended(job_)) return;
  Outcome& outcome = outcomes_[number];
  if (!carry_out(outcome)) return after(kLookAgain, [this, number] { fire(number); });
  outcome.fired = cluster_.world().queue().now();
  cluster_.world().queue().note(outcome.planned.number);
}

bool SimPlan::carry_out(Outcome& outcome) {
  switch (chaos::info_of(outcome.planned.fault.kind).subject) {
    case FaultSubject::kProcess:
      return break_process(outcome);
    case FaultSubject::kTask:
      return break_task(outcome);
    case FaultSubject::kDisk:
      return break_disk(outcome);
    case FaultSubject::kFile:
      return break_file(outcome);
    case FaultSubject::kLink:
      return break_link(outcome);
    case FaultSubject::kMark:
      break;
  }
  CHECK(false);  // It waits for who passes it.
  return false;
}

bool SimPlan::break_process(Outcome& outcome) {
  const Fault& fault = outcome.planned.fault;
  outcome.victim = fault.process.to_string();
  SimProcess* const victim = cluster_.process_named(outcome.victim);
  if (victim == nullptr) return false;
  if (fault.kind == FaultKind::kPause)
    victim->pause(fault.lasts);
  else
    victim->crash();
  return true;
}

bool SimPlan::break_task(Outcome& outcome) {
  const Fault& fault = outcome.planned.fault;
  std::vector<SimCluster::RunningTask> running = cluster_.running_tasks(job_);
  std::erase_if(running, [&](const SimCluster::RunningTask& one) {
    const bool vertex =
        fault.task.vertex.empty() || fault.task.vertex == std::to_string(one.task.vertex.value);
    return !vertex || fault.task.subtask.value_or(one.task.index) != one.task.index;
  });
  if (running.empty()) return false;
  const SimCluster::RunningTask& chosen = running[outcome.planned.chance % running.size()];
  outcome.victim = chosen.task_manager;
  outcome.task = chosen.task;
  if (fault.kind == FaultKind::kException) {
    cluster_.fail_task(job_, chosen.task);
    return true;
  }
  SimProcess* const victim = cluster_.process_named(chosen.task_manager);
  if (victim != nullptr) victim->crash();
  return victim != nullptr;
}

bool SimPlan::break_disk(Outcome& outcome) {
  const Fault& fault = outcome.planned.fault;
  outcome.victim = fault.process.to_string();
  SimProcess* const victim = cluster_.process_named(outcome.victim);
  if (victim == nullptr) return false;
  if (fault.kind == FaultKind::kDiskFull) {
    victim->host().disk.fill(fault.lasts);
    return true;
  }
  slow_disks_[outcome.victim] = {fault.delay, cluster_.world().queue().now() + fault.lasts};
  cluster_.slow_spilling(*victim, fault.delay, fault.lasts);
  return true;
}

/// A disk stays slow when its process is another one, and so do links.
void SimPlan::welcome(SimProcess& process) {
  set_ways();
  const auto slow = slow_disks_.find(process.name());
  const TimePoint now = cluster_.world().queue().now();
  if (slow == slow_disks_.end() || slow->second.until <= now) return;
  cluster_.slow_spilling(process, slow->second.each, slow->second.until - now);
}

bool SimPlan::break_link(Outcome& outcome) {
  const Fault& fault = outcome.planned.fault;
  outcome.victim = fault.link.to_string();
  for (const chaos::ProcessName& name : {fault.link.from, fault.link.to}) {
    if (cluster_.process_named(name.to_string()) == nullptr) return false;
  }
  const uint64_t number = links_.add(fault, cluster_.world().queue().now());
  set_ways();
  after(fault.lasts, [this, number] {
    links_.remove(number);
    set_ways();
  });
  return true;
}

/// Between all that are alive; and again when it has to be otherwise.
void SimPlan::set_ways() {
  const TimePoint now = cluster_.world().queue().now();
  std::vector<SimProcess*> processes = cluster_.task_managers();
  if (cluster_.job_manager() != nullptr) processes.push_back(cluster_.job_manager());
  for (const SimProcess* from : processes) {
    for (const SimProcess* to : processes) {
      if (from == to) continue;
      const chaos::LinkEffect effect = links_.effect(from->name(), to->name(), now);
      cluster_.world().network().set_way(
          from->id(), to->id(), {effect.cut, effect.held, effect.delay, effect.bytes_per_second});
    }
  }
  const auto change = links_.next_change(now);
  if (!change || change == next_change_) return;
  next_change_ = change;
  after(*change - now, [this] { set_ways(); });
}

bool SimPlan::break_file(Outcome& outcome) {
  const Fault& fault = outcome.planned.fault;
  SimProcess* const victim = cluster_.process_named(fault.process.to_string());
  if (victim == nullptr) return false;
  SimVolume& disk = victim->host().disk;
  const std::vector<std::string> paths = files_of(disk, fault.file);
  if (paths.empty()) return false;
  const uint64_t chance = outcome.planned.chance;
  outcome.victim = paths[chance % paths.size()];
  if (fault.kind == FaultKind::kDeleteFile) return disk.files().remove(outcome.victim).ok();
  auto content = disk.files().read_all(outcome.victim);
  if (!content.ok() || content->empty()) return false;
  const uint64_t bit = chance / paths.size() % (content->size() * 8);
  char& byte = (*content)[bit / 8];
  byte = static_cast<char>(byte ^ (1 << bit % 8));
  disk.files().put(outcome.victim, *content);
  return true;
}

const std::vector<SimPlan::Outcome>& SimPlan::outcomes() {
  for (Outcome& outcome : outcomes_) {
    const auto rule = marks_.find(outcome.planned.number);
    if (rule == marks_.end() || outcome.fired) continue;
    if (cluster_.world().fault_plan().rules()[rule->second].fired)
      outcome.fired = cluster_.world().queue().now();
  }
  return outcomes_;
}

size_t SimPlan::fired_count() {
  const std::vector<Outcome>& all = outcomes();
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [](const Outcome& outcome) { return outcome.fired.has_value(); }));
}

}  // namespace freshet::sim
