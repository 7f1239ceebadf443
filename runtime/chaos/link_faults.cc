#include "runtime/chaos/link_faults.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace freshet::chaos {

namespace {

bool is_named(const ProcessName& pattern, const std::string& name) {
  if (!pattern.is_any()) return pattern.to_string() == name;
  const auto process = parse_process_name(name);
  return process.ok() && !process->job_manager;
}

/// How many half periods have passed.
int64_t half_periods(const Fault& fault, TimePoint since, TimePoint now) {
  return (now - since) / fault.period;
}

}  // namespace

bool LinkFaults::concerns(const LinkName& link, const std::string& from, const std::string& to) {
  if (is_named(link.from, from) && is_named(link.to, to)) return true;
  return link.both_ways && is_named(link.from, to) && is_named(link.to, from);
}

uint64_t LinkFaults::add(const Fault& fault, TimePoint now) {
  CHECK(info_of(fault.kind).subject == FaultSubject::kLink);
  CHECK(fault.kind != FaultKind::kFlap || fault.period > Duration(0));
  active_.emplace(next_number_, Active{fault, now});
  return next_number_++;
}

LinkEffect LinkFaults::effect(const std::string& from, const std::string& to, TimePoint now) const {
  LinkEffect effect;
  for (const auto& [number, active] : active_) {
    const Fault& fault = active.fault;
    if (!concerns(fault.link, from, to)) continue;
    if (fault.kind == FaultKind::kCut) effect.cut = true;
    if (fault.kind == FaultKind::kHalfOpen) effect.held = true;
    if (fault.kind == FaultKind::kFlap && half_periods(fault, active.since, now) % 2 == 0)
      effect.cut = true;
    if (fault.kind != FaultKind::kSlow) continue;
    effect.delay = std::max(effect.delay, fault.delay);
    const uint64_t rate = fault.bytes_per_second;
    if (rate > 0 && (effect.bytes_per_second == 0 || rate < effect.bytes_per_second))
      effect.bytes_per_second = rate;
  }
  return effect;
}

std::optional<TimePoint> LinkFaults::next_change(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [number, active] : active_) {
    if (active.fault.kind != FaultKind::kFlap) continue;
    const TimePoint change =
        active.since + active.fault.period * (half_periods(active.fault, active.since, now) + 1);
    if (!next || change < *next) next = change;
  }
  return next;
}

}  // namespace freshet::chaos
