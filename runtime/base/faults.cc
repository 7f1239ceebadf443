#include "runtime/base/faults.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "runtime/base/log.h"

namespace freshet {

namespace {

class NoFaults final : public Faults {
 public:
  void at(std::string_view) override {}
};

enum class Action { kKill, kStop, kThrow, kDelay };

struct Rule {
  std::string mark;
  uint64_t passing = 1;
  Action action = Action::kKill;
  int delay_ms = 1000;
  uint64_t passed = 0;
};

class ScriptedFaults final : public Faults {
 public:
  explicit ScriptedFaults(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  ~ScriptedFaults() override {
    for (const Rule& rule : rules_) {
      if (rule.passed >= rule.passing) continue;
      LOG_WARN("fault_never_fired",
               {{"mark", rule.mark}, {"passings", rule.passed}, {"wanted", rule.passing}});
    }
  }

  void at(std::string_view mark) override {
    std::vector<Rule> due;
    {
      std::lock_guard lock(mutex_);
      for (Rule& rule : rules_) {
        if (rule.mark == mark && ++rule.passed == rule.passing) due.push_back(rule);
      }
    }
    for (const Rule& rule : due) perform(rule);
  }

 private:
  static void perform(const Rule& rule) {
    switch (rule.action) {
      case Action::kKill:
        ::kill(::getpid(), SIGKILL);
        return;
      case Action::kStop:
        ::kill(::getpid(), SIGSTOP);
        return;
      case Action::kThrow:
        throw std::runtime_error("fault thrown at " + rule.mark);
      case Action::kDelay:
        std::this_thread::sleep_for(std::chrono::milliseconds(rule.delay_ms));
        return;
    }
  }

  std::mutex mutex_;
  std::vector<Rule> rules_;
};

Result<Action> parse_action(const std::string& text, Rule& rule) {
  if (text == "kill") return Action::kKill;
  if (text == "stop") return Action::kStop;
  if (text == "throw") return Action::kThrow;
  if (text == "delay") return Action::kDelay;
  if (text.starts_with("delay=")) {
    const auto [end, error] =
        std::from_chars(text.data() + 6, text.data() + text.size(), rule.delay_ms);
    if (error == std::errc() && end == text.data() + text.size()) return Action::kDelay;
  }
  return invalid_argument("'" + text +
                          "' is no fault; use kill, stop, throw or delay=<milliseconds>");
}

Result<Rule> parse_rule(const std::string& text) {
  const size_t first = text.find(':');
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (second == text.npos) return invalid_argument("'" + text + "' is not <mark>:<n>:<action>");
  Rule rule;
  rule.mark = text.substr(0, first);
  bool known = false;
  std::string names;
  for (const FaultMark& mark : fault_marks()) {
    known = known || mark.name == rule.mark;
    names += " " + std::string(mark.name);
  }
  if (!known)
    return invalid_argument("no fault mark is called '" + rule.mark + "'; there are:" + names);
  const auto [end, error] =
      std::from_chars(text.data() + first + 1, text.data() + second, rule.passing);
  if (error != std::errc() || end != text.data() + second || rule.passing == 0) {
    return invalid_argument("'" + text + "': the middle part counts passings from 1");
  }
  ASSIGN_OR_RETURN(rule.action, parse_action(text.substr(second + 1), rule));
  return rule;
}

}  // namespace

// One line per mark, in the order in which a job meets them.
const std::vector<FaultMark>& fault_marks() {
  static const std::vector<FaultMark> marks = {
      {"register.before_reply", "JobManager: a TaskManager registered, the answer is not sent yet"},
      {"blob.before_store", "TaskManager: a module was fetched and is about to be written"},
      {"deploy.before_ack", "TaskManager: a task was created, its state is not reported yet"},
      {"task.before_element",
       "TaskManager: the choice of an element is logged, the element is not processed yet"},
      {"task.after_element", "TaskManager: an element was processed"},
      {"task.before_end_of_data",
       "TaskManager: a task reached the end of its data and has not said so yet"},
      {"commit.before_rename",
       "TaskManager: a file of a finished attempt is about to be published"},
      {"commit.after_rename", "TaskManager: a file was published, nothing is acknowledged yet"},
      {"cancel.before_ack", "TaskManager: a task was cancelled, its state is not reported yet"},
  };
  return marks;
}

std::unique_ptr<Faults> make_no_faults() { return std::make_unique<NoFaults>(); }

Result<std::unique_ptr<Faults>> make_scripted_faults(const std::string& script) {
  std::vector<Rule> rules;
  std::stringstream parts(script);
  for (std::string part; std::getline(parts, part, ',');) {
    ASSIGN_OR_RETURN(Rule rule, parse_rule(part));
    rules.push_back(std::move(rule));
  }
  return std::unique_ptr<Faults>(std::make_unique<ScriptedFaults>(std::move(rules)));
}

}  // namespace freshet
