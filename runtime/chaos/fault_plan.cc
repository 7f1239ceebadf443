#include "runtime/chaos/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/faults.h"
#include "runtime/chaos/mark_faults.h"

namespace freshet::chaos {

namespace {

/// Decides what the rules leave open.
class Expansion {
 public:
  Expansion(const ClusterShape& shape, uint64_t seed)
      : shape_(shape), rules_(make_seeded_random(seed)) {}

  Status add(const FaultRule& rule) {
    random_ = rules_->fork();  // So that how much chance one takes does not change the others.
    if (info_of(rule.fault.kind).subject == FaultSubject::kMark) {
      PlannedFault planned;
      ASSIGN_OR_RETURN(planned.fault, complete(rule.fault, true));
      const FaultMark* const mark = find_fault_mark(planned.fault.mark);
      if (planned.fault.process.is_any() && mark->side == FaultSide::kJobManager)
        planned.fault.process.job_manager = true;
      planned_.push_back(std::move(planned));
      return Status();
    }
    for (const Duration at : times_of(rule.times)) {
      if (planned_.size() >= kPlannedFaultsMax)
        return invalid_argument(
            fmt::format("the plan has more than {} faults; make it shorter", kPlannedFaultsMax));
      PlannedFault planned;
      planned.at = at;
      planned.chance = rule.chance.value_or(random_->next());
      ASSIGN_OR_RETURN(planned.fault, complete(rule.fault, false));
      planned_.push_back(std::move(planned));
    }
    return Status();
  }

  std::vector<PlannedFault> take() {
    std::stable_sort(planned_.begin(), planned_.end(),
                     [](const PlannedFault& a, const PlannedFault& b) { return a.at < b.at; });
    for (size_t i = 0; i < planned_.size(); i++) planned_[i].number = static_cast<uint32_t>(i + 1);
    return std::move(planned_);
  }

 private:
  /// In [0, bound), of whole microseconds: what a text shows.
  Duration below(Duration bound) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(bound).count();
    if (micros <= 0) return Duration(0);
    return std::chrono::microseconds(random_->below(static_cast<uint64_t>(micros)));
  }

  std::vector<Duration> times_of(const FaultTimes& times) {
    std::vector<Duration> result;
    for (uint32_t i = 0; i < times.count; i++) result.push_back(times.at + below(times.span));
    if (times.count > 0) return result;
    Duration at = times.at;
    do {
      const Duration moved = at + below(2 * times.jitter) - times.jitter;
      result.push_back(std::max(Duration(0), moved));
      at += times.every;
    } while (times.every > Duration(0) && at <= times.at + times.span &&
             result.size() <= kPlannedFaultsMax);
    return result;
  }

  /// `may_be_any`: whoever passes a mark first is its victim.
  Result<Fault> complete(Fault fault, bool may_be_any) {
    switch (info_of(fault.kind).subject) {
      case FaultSubject::kTask:
        RETURN_IF_ERROR(complete(fault.task));
        break;
      case FaultSubject::kLink:
        RETURN_IF_ERROR(complete(fault.link));
        break;
      default:
        RETURN_IF_ERROR(check_there(fault.process));
        if (!may_be_any) choose(fault.process);
    }
    return fault;
  }

  Status check_there(const ProcessName& process) const {
    if (process.job_manager || process.number <= shape_.task_managers) return Status();
    return invalid_argument(fmt::format("there is no {}: the cluster has {} TaskManager{}",
                                        process.to_string(), shape_.task_managers,
                                        shape_.task_managers == 1 ? "" : "s"));
  }

  void choose(ProcessName& process) {
    if (process.is_any())
      process.number = 1 + static_cast<uint32_t>(random_->below(shape_.task_managers));
  }

  Status complete(LinkName& link) {
    RETURN_IF_ERROR(check_there(link.from));
    RETURN_IF_ERROR(check_there(link.to));
    const bool data = !link.from.job_manager && !link.to.job_manager;
    if (data && shape_.task_managers < 2)
      return invalid_argument(
          fmt::format("'{}' needs two TaskManagers, and the cluster has one: see --taskmanagers",
                      link.to_string()));
    if (link.from.is_any()) choose_other(link.from, link.to);
    if (link.to.is_any()) choose_other(link.to, link.from);
    return Status();
  }

  /// One that is not `taken`.
  void choose_other(ProcessName& process, const ProcessName& taken) {
    const bool excludes = !taken.job_manager && taken.number > 0;
    const uint32_t count = shape_.task_managers - (excludes ? 1 : 0);
    process.number = 1 + static_cast<uint32_t>(random_->below(count));
    if (excludes && process.number >= taken.number) process.number++;
  }

  /// What is left open is chosen among the tasks that run at that time.
  Status complete(TaskName& task) const {
    if (task.vertex.empty()) return Status();
    for (const ClusterShape::Vertex& vertex : shape_.vertices) {
      if (task.vertex != vertex.number && task.vertex != vertex.name) continue;
      task.vertex = vertex.number;
      if (task.subtask.value_or(0) < vertex.parallelism) return Status();
      return invalid_argument(fmt::format("there is no {}: '{}' has the subtasks 0 to {}",
                                          task.to_string(), vertex.name, vertex.parallelism - 1));
    }
    std::string names;
    for (const ClusterShape::Vertex& vertex : shape_.vertices)
      names += fmt::format("\n  {}  {}", vertex.number, vertex.name);
    return invalid_argument(
        fmt::format("the job has no vertex '{}'; it has:{}", task.vertex, names));
  }

  const ClusterShape& shape_;
  const std::unique_ptr<Random> rules_;
  std::unique_ptr<Random> random_;
  std::vector<PlannedFault> planned_;
};

Status check_times(const FaultTimes& times) {
  const bool repeats = times.every > Duration(0) || times.count > 0;
  if (times.every > Duration(0) && times.count > 0)
    return invalid_argument("has both 'every' and 'random'; leave one out");
  if (repeats && times.span <= Duration(0))
    return invalid_argument("'every' and 'random' need 'for': how long");
  if (!repeats && times.span > Duration(0))
    return invalid_argument("'for' needs 'every' or 'random'; how long a fault lasts is 'lasts'");
  if (times.every > Duration(0) && 2 * times.jitter > times.every)
    return invalid_argument("'jitter' is more than half of 'every'");
  if (times.at + times.span > kPlanSpanMax)
    return invalid_argument(fmt::format("is longer than {}", format_duration(kPlanSpanMax)));
  return Status();
}

Status check_mark(const Fault& fault) {
  if (find_fault_mark(fault.mark) != nullptr) {
    return fault.mark_action.empty() ? Status() : parse_faults(mark_rule(fault)).status();
  }
  std::string names;
  for (const FaultMark& mark : fault_marks()) names += " " + std::string(mark.name);
  return invalid_argument(fmt::format("no mark is called '{}'; there are:{}", fault.mark, names));
}

}  // namespace

std::string PlannedFault::to_string() const {
  if (!at) return fault.to_string();
  return fmt::format("+{:.3f}s {}", std::chrono::duration<double>(*at).count(), fault.to_string());
}

Status check(const FaultRule& rule) {
  const Fault& fault = rule.fault;
  const FaultKindInfo& info = info_of(fault.kind);
  RETURN_IF_ERROR(check_times(rule.times));
  const bool lasts = info.lasts || fault.mark_action == "stop";
  if (lasts != (fault.lasts > Duration(0)))
    return invalid_argument(lasts ? fmt::format("'{}' needs 'lasts': how long", info.name)
                                  : fmt::format("'{}' does not last", info.name));
  if (fault.lasts > kPlanSpanMax)
    return invalid_argument(
        fmt::format("'lasts' is longer than {}", format_duration(kPlanSpanMax)));
  if (fault.kind == FaultKind::kFlap && fault.period <= Duration(0))
    return invalid_argument("'flap' needs 'period': how long it is up, and how long down");
  if (fault.kind == FaultKind::kSlow && fault.delay <= Duration(0) && fault.bytes_per_second == 0)
    return invalid_argument("'slow' needs 'delay', or 'rate' in bytes per second");
  if (fault.kind == FaultKind::kDiskSlow && fault.delay <= Duration(0))
    return invalid_argument("'disk-slow' needs 'delay': how long each operation takes");
  const bool of_task_manager =
      info.subject == FaultSubject::kDisk || info.subject == FaultSubject::kFile;
  if (of_task_manager && fault.process.job_manager)
    return invalid_argument(fmt::format("'{}' is for TaskManagers", info.name));
  if (rule.chance && (rule.times.every > Duration(0) || rule.times.count > 0))
    return invalid_argument("'chance' is for one fault, and this one comes again");
  if (info.subject != FaultSubject::kMark) return Status();
  if (rule.chance) return invalid_argument("'chance' means nothing to a mark");
  if (rule.times != FaultTimes()) return invalid_argument("a mark has no time: it is passed");
  if (fault.passing == 0) return invalid_argument("'passing' counts from 1");
  return check_mark(fault);
}

Result<std::vector<PlannedFault>> expand(const FaultPlan& plan, const ClusterShape& shape,
                                         uint64_t seed) {
  Expansion expansion(shape, seed);
  for (size_t i = 0; i < plan.rules.size(); i++) {
    RETURN_IF_ERROR(
        expansion.add(plan.rules[i]).with_context(fmt::format("fault {} of the plan", i + 1)));
  }
  return expansion.take();
}

FaultPlan as_plan(const std::vector<PlannedFault>& faults) {
  FaultPlan plan;
  for (const PlannedFault& planned : faults) {
    FaultRule& rule = plan.rules.emplace_back();
    rule.fault = planned.fault;
    if (!planned.at) continue;
    rule.times.at = *planned.at;
    const FaultSubject subject = info_of(planned.fault.kind).subject;
    const bool open = subject == FaultSubject::kTask && planned.fault.task.is_any();
    if (open || subject == FaultSubject::kFile) rule.chance = planned.chance;
  }
  return plan;
}

Result<FaultPlan> kill_plan(const std::string& victim, Duration every, Duration span) {
  FaultRule rule;
  if (victim.starts_with("task:") || victim == "task") {
    rule.fault.kind = FaultKind::kException;
    ASSIGN_OR_RETURN(rule.fault.task, parse_task_name(victim));
  } else {
    rule.fault.kind = FaultKind::kKill;
    ASSIGN_OR_RETURN(rule.fault.process, parse_process_name(victim));
  }
  rule.times = {.at = every, .every = every, .jitter = every / 4, .span = span - every};
  if (every <= Duration(0) || span < every)
    return invalid_argument("--for must be at least as long as --every, and both more than 0");
  if (rule.times.span == Duration(0)) rule.times = {.at = every};
  RETURN_IF_ERROR(check(rule));
  return FaultPlan{{rule}};
}

}  // namespace freshet::chaos
