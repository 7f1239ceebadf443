#include "runtime/chaos/random_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/faults.h"

namespace freshet::chaos {

namespace {

constexpr Duration kUnit = 1ms;  // Of all times: what a plan shows.
constexpr uint32_t kRepeatsMax = 4;

class RandomPlan {
 public:
  RandomPlan(Random& random, const ClusterShape& shape, const PlanBudget& budget)
      : random_(random), shape_(shape), budget_(budget), left_(budget.faults_max) {
    CHECK(left_ > 0 && budget.span >= kUnit && budget.outage_max >= kUnit);
    for (const FaultKindInfo& info : fault_kinds()) {
      const bool wanted = budget.kinds.empty() ? info.kind != FaultKind::kHang
                                               : std::find(budget.kinds.begin(), budget.kinds.end(),
                                                           info.kind) != budget.kinds.end();
      if (wanted) kinds_.push_back(info);
    }
    CHECK(!kinds_.empty());
  }

  FaultPlan make() {
    FaultPlan plan;
    left_ = 1 + static_cast<uint32_t>(random_.below(left_));
    while (left_ > 0) {
      FaultRule& rule = plan.rules.emplace_back();
      const FaultKindInfo& info = kinds_[random_.below(kinds_.size())];
      rule.fault.kind = info.kind;
      choose_victim(info.subject, rule.fault);
      choose_measures(rule.fault, info.lasts);
      if (info.subject == FaultSubject::kMark)
        --left_;
      else
        choose_times(rule.times);
      CHECK(check(rule).ok());
    }
    return plan;
  }

 private:
  /// In [kUnit, longest], of whole units.
  Duration up_to(Duration longest) {
    const auto units = static_cast<uint64_t>(std::max<int64_t>(1, longest / kUnit));
    return kUnit * static_cast<int64_t>(1 + random_.below(units));
  }

  ProcessName task_manager() {
    if (random_.one_in(2)) return {};
    return {false, 1 + static_cast<uint32_t>(random_.below(shape_.task_managers))};
  }

  void choose_victim(FaultSubject subject, Fault& fault) {
    switch (subject) {
      case FaultSubject::kProcess:
        fault.process = task_manager();
        fault.process.job_manager =
            random_.one_in(5) && (budget_.job_manager || fault.kind == FaultKind::kPause);
        if (fault.process.job_manager) fault.process.number = 0;
        return;
      case FaultSubject::kTask:
        return choose_task(fault.task);
      case FaultSubject::kLink:
        return choose_link(fault.link);
      case FaultSubject::kMark:
        return choose_mark(fault);
      case FaultSubject::kFile:
        fault.file = random_.one_in(2) ? FileKind::kSpill : FileKind::kModule;
        fault.process = task_manager();
        return;
      case FaultSubject::kDisk:
        fault.process = task_manager();
        return;
    }
  }

  void choose_task(TaskName& task) {
    if (shape_.vertices.empty() || random_.one_in(3)) return;
    const ClusterShape::Vertex& vertex = shape_.vertices[random_.below(shape_.vertices.size())];
    task.vertex = vertex.number;
    if (random_.one_in(2)) task.subtask = static_cast<uint32_t>(random_.below(vertex.parallelism));
  }

  void choose_link(LinkName& link) {
    const bool data = shape_.task_managers > 1 && random_.one_in(2);
    link.both_ways = random_.one_in(2);
    link.from = task_manager();
    link.to.job_manager = !data;
    if (!data && random_.one_in(2)) std::swap(link.from, link.to);
  }

  void choose_mark(Fault& fault) {
    const FaultMark& mark = fault_marks()[random_.below(fault_marks().size())];
    fault.mark = mark.name;
    fault.passing = 1 + random_.below(random_.one_in(2) ? 2 : budget_.passing_max);
    fault.mark_action = "kill";
    if (mark.side == FaultSide::kTaskManager) {
      fault.process = task_manager();
    } else {
      fault.process = {true, 0};
      if (!budget_.job_manager) fault.mark_action = delay();
    }
    if (random_.one_in(2)) return;
    if (mark.throws && random_.one_in(2)) {
      fault.mark_action = "throw";
    } else if (mark.side == FaultSide::kTaskManager && random_.one_in(2)) {
      fault.mark_action = "stop";
    } else {
      fault.mark_action = delay();
    }
  }

  std::string delay() { return fmt::format("delay={}", up_to(budget_.outage_max) / kUnit); }

  void choose_measures(Fault& fault, bool lasts) {
    if (lasts || fault.mark_action == "stop") fault.lasts = up_to(budget_.outage_max);
    if (fault.kind == FaultKind::kDiskFull)
      fault.lasts = std::min(fault.lasts, budget_.disk_full_max);
    if (fault.kind == FaultKind::kDiskSlow) fault.delay = up_to(budget_.delay_max);
    if (fault.kind == FaultKind::kFlap) fault.period = up_to(fault.lasts / 2);
    if (fault.kind != FaultKind::kSlow) return;
    if (random_.one_in(2))
      fault.delay = up_to(budget_.delay_max);
    else
      fault.bytes_per_second = 1000u << random_.below(10);
  }

  void choose_times(FaultTimes& times) {
    times.at = up_to(budget_.span);
    const Duration rest = budget_.span - times.at;
    const auto count = static_cast<uint32_t>(1 + random_.below(std::min(left_, kRepeatsMax)));
    if (count == 1 || rest < kUnit * kRepeatsMax || random_.one_in(2)) {
      --left_;
      return;
    }
    left_ -= count;
    if (random_.one_in(2)) {
      times.count = count;
      times.span = rest;
      return;
    }
    times.every = up_to(rest / (count - 1));
    times.span = times.every * (count - 1);
    if (random_.one_in(2)) times.jitter = times.every / kUnit / 2 * kUnit;
  }

  Random& random_;
  const ClusterShape& shape_;
  const PlanBudget& budget_;
  std::vector<FaultKindInfo> kinds_;
  uint32_t left_;
};

}  // namespace

FaultPlan random_fault_plan(Random& random, const ClusterShape& shape, const PlanBudget& budget) {
  return RandomPlan(random, shape, budget).make();
}

}  // namespace freshet::chaos
