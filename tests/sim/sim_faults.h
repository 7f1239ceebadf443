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

  explicit SimFaultPlan(std::unique_ptr<Random> random) : random_(std::move(random)) {}

  /// At the `passing`-th time (from 1, over all processes) that `mark` is passed. Only marks of
  /// fault_marks().
  void add(const std::string& mark, uint64_t passing, Action action);

  /// Besides: a crash or a pause at each passing of any mark with a chance of one in `one_in`, at
  /// most `faults_max` in all. Zero: none.
  void set_chance(uint64_t one_in, uint64_t faults_max);
  /// Chance leaves these processes alone.
  void spare(FaultSide side) { spared_ = side; }

  /// Decides for one passing.
  Action pass(std::string_view mark);

  /// How often each known mark was passed, and how often something happened there.
  const std::map<std::string, uint64_t, std::less<>>& passed() const { return passed_; }
  const std::map<std::string, uint64_t, std::less<>>& fired() const { return fired_; }
  uint64_t fired_count() const { return fired_count_; }

 private:
  struct Rule {
    std::string mark;
    uint64_t passing;
    Action action;
  };

  Action fire(std::string_view mark, Action action);

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
};

}  // namespace freshet::sim
