#include "runtime/chaos/injector.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/chaos/file_faults.h"

namespace freshet::chaos {

namespace {

constexpr Duration kBetweenLooksAtMarks = 20ms;

ProvokedFailure failure_of(FaultKind kind) {
  if (kind == FaultKind::kHang) return ProvokedFailure::kHang;
  return kind == FaultKind::kCrash ? ProvokedFailure::kCrash : ProvokedFailure::kException;
}

bool has_ended(const JobWatch::Brief& brief) {
  return brief.forgotten || (brief.job && is_terminal(brief.job->state));
}

}  // namespace

Injector::Injector(std::vector<PlannedFault> plan, FaultTools& tools, ChaosCluster& cluster,
                   JobWatch& watch, FileSystem& files, const Clock& clock)
    : tools_(tools), cluster_(cluster), watch_(watch), files_(files), clock_(clock) {
  for (PlannedFault& planned : plan) {
    InjectedFault& outcome = outcomes_.emplace_back();
    outcome.planned = std::move(planned);
    outcome.why_not =
        outcome.planned.at ? "its time did not come" : "nobody passed the mark so often";
  }
}

void Injector::start(TimePoint now) { started_ = now; }

bool Injector::is_due(const InjectedFault& outcome, TimePoint now) const {
  return started_ && !outcome.fired && outcome.planned.at && *started_ + *outcome.planned.at <= now;
}

void Injector::step(TimePoint now) {
  if (now >= look_at_marks_at_) look_at_marks(now);
  for (InjectedFault& outcome : outcomes_) {
    const Duration lasts = outcome.planned.fault.lasts;
    if (outcome.fired && !outcome.healed && *outcome.fired + lasts <= now) heal(outcome, now);
    if (is_due(outcome, now)) fire(outcome, now);
  }
}

void Injector::finish(TimePoint now, const std::string& why) {
  look_at_marks(now);
  for (InjectedFault& outcome : outcomes_) {
    if (outcome.fired && !outcome.healed) heal(outcome, now);
    if (outcome.fired) continue;
    const bool says_more = is_due(outcome, now) || !outcome.planned.at;
    outcome.why_not = says_more ? fmt::format("{}; {}", why, outcome.why_not) : why;
  }
  started_.reset();
}

bool Injector::done() const {
  return std::all_of(outcomes_.begin(), outcomes_.end(),
                     [](const InjectedFault& outcome) { return outcome.fired && outcome.healed; });
}

void Injector::fire(InjectedFault& outcome, TimePoint now) {
  const JobWatch::Brief brief = watch_.brief();
  if (has_ended(brief)) {
    outcome.why_not = "the job had ended";
    return;
  }
  if (brief.job) outcome.job_state = to_string(brief.job->state);
  switch (info_of(outcome.planned.fault.kind).subject) {
    case FaultSubject::kProcess:
      return fire_at_process(outcome, now);
    case FaultSubject::kTask:
      return fire_at_task(outcome, now);
    case FaultSubject::kLink:
      return fire_at_link(outcome, now);
    case FaultSubject::kDisk:
      return fire_at_disk(outcome, now);
    case FaultSubject::kFile:
      return fire_at_file(outcome, now);
    case FaultSubject::kMark:
      return;
  }
}

void Injector::mark_fired(InjectedFault& outcome, TimePoint at, std::string victim) {
  outcome.fired = at;
  outcome.victim = std::move(victim);
  outcome.why_not.clear();
  if (outcome.planned.fault.lasts == Duration(0)) outcome.healed = at;
}

bool Injector::is_registered(const std::string& name, pid_t pid) const {
  const JobWatch::View view = watch_.view();
  return std::any_of(view.task_managers.begin(), view.task_managers.end(),
                     [&](const TaskManagerReport& report) {
                       return report.name == name && report.pid == static_cast<uint32_t>(pid);
                     });
}

void Injector::fire_at_process(InjectedFault& outcome, TimePoint now) {
  const Fault& fault = outcome.planned.fault;
  const std::string name = fault.process.to_string();
  const ChaosCluster::Life* const life = cluster_.life_of(name);
  if (life == nullptr || paused_.contains(name)) {
    outcome.why_not = fmt::format("{} {}", name, life == nullptr ? "does not run" : "is paused");
    return;
  }
  if (!fault.process.job_manager && !is_registered(name, life->process.pid)) {
    outcome.why_not = fmt::format("{} has not registered with the JobManager", name);
    return;
  }
  const bool pause = fault.kind == FaultKind::kPause;
  const ProcessIdentity victim = life->process;
  if (!cluster_.signal(name, pause ? ProcessSignal::kStop : ProcessSignal::kKill)) {
    outcome.why_not = fmt::format("{} has just ended", name);
    return;
  }
  if (pause) paused_[name] = victim;
  mark_fired(outcome, now, fmt::format("{}, process {}", name, victim.pid));
}

std::optional<SubtaskId> Injector::running_task(const PlannedFault& planned) const {
  const JobWatch::View view = watch_.view();
  const TaskName& wanted = planned.fault.task;
  std::vector<SubtaskId> found;
  for (const TaskReport& task : view.tasks) {
    const SubtaskId& id = task.attempt.subtask;
    if (task.state != TaskState::kRunning) continue;
    if (!wanted.vertex.empty() && wanted.vertex != std::to_string(id.vertex.value)) continue;
    if (wanted.subtask && *wanted.subtask != id.index) continue;
    found.push_back(id);
  }
  if (found.empty()) return std::nullopt;
  return found[planned.chance % found.size()];
}

void Injector::fire_at_task(InjectedFault& outcome, TimePoint now) {
  const PlannedFault& planned = outcome.planned;
  const auto asked = requests_.find(planned.number);
  if (asked == requests_.end()) {
    const auto task = running_task(planned);
    outcome.why_not = fmt::format("{} was not running", planned.fault.target());
    if (!task) return;
    const uint64_t number = watch_.fail_task(std::to_string(task->vertex.value), task->index,
                                             failure_of(planned.fault.kind));
    requests_.emplace(planned.number, Request{number, *task, now});
    return;
  }
  const auto answer = watch_.outcome_of(asked->second.number);
  if (!answer) return;
  const Request request = asked->second;
  requests_.erase(asked);
  if (answer->ok()) {
    outcome.task = request.task;
    return mark_fired(outcome, request.asked, **answer);
  }
  outcome.why_not = answer->status().message();  // It may have ended meanwhile: another one then.
}

void Injector::fire_at_link(InjectedFault& outcome, TimePoint now) {
  const Fault& fault = outcome.planned.fault;
  const auto broken = tools_.links().break_link(fault);
  broken_links_[outcome.planned.number] = broken.number;
  mark_fired(outcome, now,
             fmt::format("{}, {} connection{}", fault.target(), broken.connections,
                         broken.connections == 1 ? "" : "s"));
}

void Injector::fire_at_disk(InjectedFault& outcome, TimePoint now) {
  const Fault& fault = outcome.planned.fault;
  DiskSwitch& disk = tools_.disk_of(fault.process.to_string());
  met_before_[outcome.planned.number] = disk.met(DiskFiles::kTemporary);
  if (fault.kind == FaultKind::kDiskFull) {
    disk.fill(DiskFiles::kTemporary);
  } else {
    disk.slow_down(DiskFiles::kTemporary, fault.delay);
  }
  mark_fired(outcome, now, fault.process.to_string());
}

void Injector::mend(InjectedFault& outcome) {
  const std::string name = outcome.planned.fault.process.to_string();
  DiskSwitch& disk = tools_.disk_of(name);
  disk.mend(DiskFiles::kTemporary);
  outcome.victim =
      fmt::format("{}, {} operations", name,
                  disk.met(DiskFiles::kTemporary) - met_before_[outcome.planned.number]);
}

void Injector::fire_at_file(InjectedFault& outcome, TimePoint now) {
  const Fault& fault = outcome.planned.fault;
  const auto kind =
      fault.kind == FaultKind::kDeleteFile ? FileDamage::Kind::kDelete : FileDamage::Kind::kFlip;
  const auto damage =
      damage_file(files_, {cluster_.directory().files_of(fault.process.to_string())}, fault.file,
                  kind, outcome.planned.chance);
  if (damage.ok()) return mark_fired(outcome, now, damage->to_string());
  outcome.why_not = damage.status().message();  // There may be one later.
}

void Injector::look_at_marks(TimePoint now) {
  look_at_marks_at_ = now + kBetweenLooksAtMarks;
  const std::vector<FiredFault> fired = tools_.fired_at_marks();
  for (; marks_seen_ < fired.size(); marks_seen_++) note_fired(fired[marks_seen_], now);
}

void Injector::note_fired(const FiredFault& fired, TimePoint now) {
  const auto ago = std::chrono::milliseconds(clock_.epoch_millis() - fired.time);
  for (InjectedFault& outcome : outcomes_) {
    const Fault& fault = outcome.planned.fault;
    if (outcome.fired || fault.kind != FaultKind::kMark || mark_rule(fault) != fired.rule) continue;
    const auto process = parse_process_name(fired.process);
    if (process.ok()) outcome.process = *process;
    const JobWatch::Brief brief = watch_.brief();
    if (!brief.submission_began || now - ago < *brief.submission_began) {
      outcome.why_not = "it happened before there was a job";
      return;
    }
    if (brief.job) outcome.job_state = to_string(brief.job->state);
    return mark_fired(outcome, now - ago,
                      fmt::format("{}, passing {}", fired.process, fired.passing));
  }
}

void Injector::heal(InjectedFault& outcome, TimePoint now) {
  outcome.healed = now;
  const Fault& fault = outcome.planned.fault;
  switch (info_of(fault.kind).subject) {
    case FaultSubject::kProcess:
      return go_on(fault.process);
    case FaultSubject::kLink:
      return tools_.links().heal(broken_links_.at(outcome.planned.number));
    case FaultSubject::kDisk:
      return mend(outcome);
    case FaultSubject::kMark:  // It stopped itself.
      if (outcome.process) cluster_.signal(outcome.process->to_string(), ProcessSignal::kContinue);
      return;
    default:
      return;
  }
}

/// It may have been ended meanwhile, and the one of its name is another one.
void Injector::go_on(const ProcessName& process) {
  const std::string name = process.to_string();
  const auto paused = paused_.find(name);
  if (paused == paused_.end()) return;
  const ChaosCluster::Life* const life = cluster_.life_of(name);
  if (life != nullptr && life->process == paused->second)
    cluster_.signal(name, ProcessSignal::kContinue);
  paused_.erase(paused);
}

}  // namespace freshet::chaos
