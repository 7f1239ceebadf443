#include "tests/sim/sim_faults.h"

#include <stdexcept>

#include "runtime/base/check.h"

namespace freshet::sim {

namespace {

constexpr Duration kPause = 2s;
constexpr std::string_view kAnyTaskManager = "taskmanager";

bool is_known(std::string_view mark) { return find_fault_mark(mark) != nullptr; }

}  // namespace

size_t SimFaultPlan::add(const Rule& rule) {
  CHECK(is_known(rule.mark));
  CHECK(rule.passing > 0);
  rules_.push_back(rule);
  return rules_.size() - 1;
}

void SimFaultPlan::set_chance(uint64_t one_in, uint64_t faults_max) {
  one_in_ = one_in;
  faults_left_ = faults_max;
}

bool SimFaultPlan::concerns(const Rule& rule, std::string_view who) {
  return *rule.victim == who || (*rule.victim == kAnyTaskManager && who.starts_with(*rule.victim));
}

SimFaultPlan::Decision SimFaultPlan::pass(std::string_view mark, std::string_view who,
                                          uint64_t passing_of_life) {
  CHECK(is_known(mark));
  const uint64_t passing = ++passed_[std::string(mark)];
  for (Rule& rule : rules_) {
    if (rule.fired || rule.mark != mark) continue;
    if (rule.passing != (rule.victim ? passing_of_life : passing)) continue;
    if (rule.victim && !concerns(rule, who)) continue;
    rule.fired = true;
    return fire(mark, {rule.action, rule.pause});
  }
  if (spared_ && find_fault_mark(mark)->side == *spared_) return {};
  if (one_in_ == 0 || faults_left_ == 0 || !random_->one_in(one_in_)) return {};
  --faults_left_;
  return fire(mark, {random_->one_in(4) ? Action::kPause : Action::kCrash, kPause});
}

SimFaultPlan::Decision SimFaultPlan::fire(std::string_view mark, const Decision& decision) {
  ++fired_[std::string(mark)];
  ++fired_count_;
  return decision;
}

void SimFaults::at(std::string_view mark) {
  const uint64_t passing = ++passed_[std::string(mark)];
  const SimFaultPlan::Decision decision = plan_.pass(mark, victim_.name(), passing);
  switch (decision.action) {
    case SimFaultPlan::Action::kNone:
      return;
    case SimFaultPlan::Action::kCrash:
      victim_.crash();
      return;
    case SimFaultPlan::Action::kPause:
      victim_.pause(decision.pause);
      return;
    case SimFaultPlan::Action::kThrow:
      throw std::runtime_error("fault thrown at " + std::string(mark));
  }
}

}  // namespace freshet::sim
