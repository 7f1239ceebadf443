#include "tests/sim/sim_faults.h"

#include <stdexcept>

#include "runtime/base/check.h"

namespace freshet::sim {

namespace {

constexpr Duration kPause = 2s;

bool is_known(std::string_view mark) { return find_fault_mark(mark) != nullptr; }

}  // namespace

void SimFaultPlan::add(const std::string& mark, uint64_t passing, Action action) {
  CHECK(is_known(mark));
  CHECK(passing > 0);
  rules_.push_back(Rule{mark, passing, action});
}

void SimFaultPlan::set_chance(uint64_t one_in, uint64_t faults_max) {
  one_in_ = one_in;
  faults_left_ = faults_max;
}

SimFaultPlan::Action SimFaultPlan::pass(std::string_view mark) {
  CHECK(is_known(mark));
  const uint64_t passing = ++passed_[std::string(mark)];
  for (const Rule& rule : rules_) {
    if (rule.mark == mark && rule.passing == passing) return fire(mark, rule.action);
  }
  if (spared_ && find_fault_mark(mark)->side == *spared_) return Action::kNone;
  if (one_in_ == 0 || faults_left_ == 0 || !random_->one_in(one_in_)) return Action::kNone;
  --faults_left_;
  return fire(mark, random_->one_in(4) ? Action::kPause : Action::kCrash);
}

SimFaultPlan::Action SimFaultPlan::fire(std::string_view mark, Action action) {
  ++fired_[std::string(mark)];
  ++fired_count_;
  return action;
}

void SimFaults::at(std::string_view mark) {
  switch (plan_.pass(mark)) {
    case SimFaultPlan::Action::kNone:
      return;
    case SimFaultPlan::Action::kCrash:
      victim_.crash();
      return;
    case SimFaultPlan::Action::kPause:
      victim_.pause(kPause);
      return;
    case SimFaultPlan::Action::kThrow:
      throw std::runtime_error("fault thrown at " + std::string(mark));
  }
}

}  // namespace freshet::sim
