#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/faults.h"
#include "runtime/base/random.h"
#include "runtime/base/time.h"

namespace freshet::sim {

/// What goes wrong at the marks of product code in one simulated world, and what was passed. Pure
/// but for the randomness handed in.
class SimFaultPlan {
 public:
  enum class Action { kNone, kCrash, kPause, kThrow };

  struct Rule {
    std::string mark;
    uint64_t passing = 1;  // From 1.
    Action action = Action::kCrash;
    /// `taskmanager-2`, or `taskmanager` for any: the first of them that in one life passes the
    /// mark for that time. Otherwise passings of all processes count together.
    std::optional<std::string> victim = {};
    Duration pause = 2s;  // Of kPause.
    bool fired = false;
  };
  struct Decision {
    Action action = Action::kNone;
    Duration pause{0};
  };

  explicit SimFaultPlan(std::unique_ptr<Random> random) : random_(std::move(random)) {}

  /// At the `passing`-th time (from 1, over all processes) that `mark` is passed. Only marks of
  /// fault_marks().
  void add(const std::string& mark, uint64_t passing, Action action) {
    add(Rule{.mark = mark, .passing = passing, .action = action});
  }
  /// Each fires once. Returns its place in rules().
  size_t add(const Rule& rule);

  /// Besides: a crash or a pause at each passing of any mark with a chance of one in `one_in`, at
  /// most `faults_max` in all. Zero: none.
  void set_chance(uint64_t one_in, uint64_t faults_max);
  /// Chance leaves these processes alone.
  void spare(FaultSide side) { spared_ = side; }

  /// Decides for one passing: the `passing_of_life`-th of this mark by the process `who`.
  Decision pass(std::string_view mark, std::string_view who, uint64_t passing_of_life);

  const std::vector<Rule>& rules() const { return rules_; }

  /// How often each known mark was passed, and how often something happened there.
  const std::map<std::string, uint64_t, std::less<>>& passed() const { return passed_; }
  const std::map<std::string, uint64_t, std::less<>>& fired() const { return fired_; }
  uint64_t fired_count() const { return fired_count_; }

 private:
  static bool concerns(const Rule& rule, std::string_view who);
  Decision fire(std::string_view mark, const Decision& decision);

  const std::unique_ptr<Random> random_;
  std::vector<Rule> rules_;
  std::map<std::string, uint64_t, std::less<>> passed_;
  std::map<std::string, uint64_t, std::less<>> fired_;
  uint64_t one_in_ = 0;
  uint64_t faults_left_ = 0;
  std::optional<FaultSide> spared_;
  uint64_t fired_count_ = 0;
};

/// Who suffers from a fault.
class FaultVictim {
 public:
  virtual ~FaultVictim() = default;
  virtual const std::string& name() const = 0;
  virtual void crash() = 0;
  virtual void pause(Duration) = 0;
};

/// The marks of one process, decided by the plan of its world.
class SimFaults final : public Faults {
 public:
  SimFaults(SimFaultPlan& plan, FaultVictim& victim) : plan_(plan), victim_(victim) {}

  void at(std::string_view mark) override;

 private:
  SimFaultPlan& plan_;
  FaultVictim& victim_;
  std::map<std::string, uint64_t, std::less<>> passed_;  // In this life.
};

}  // namespace freshet::sim
