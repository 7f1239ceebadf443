#include "runtime/base/scripted_faults.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "runtime/base/log.h"

namespace freshet {

namespace {

using Action = FaultAtMark::Action;

constexpr Duration kUsualDelay = 1s;
constexpr std::string_view kEvery = "every=";

template <class T>
bool parse_all(std::string_view text, T& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

Status parse_action(const std::string& text, FaultAtMark& rule) {
  int64_t millis = to_millis(kUsualDelay);
  if (text == "kill") {
    rule.action = Action::kKill;
  } else if (text == "stop") {
    rule.action = Action::kStop;
  } else if (text == "throw") {
    rule.action = Action::kThrow;
  } else if (text == "delay" ||
             (text.starts_with("delay=") && parse_all(text.substr(6), millis) && millis >= 0)) {
    rule.action = Action::kDelay;
    rule.delay = std::chrono::milliseconds(millis);
  } else {
    return invalid_argument("'" + text +
                            "' is no fault; use kill, stop, throw or delay=<milliseconds>");
  }
  return Status();
}

/// Whether it makes sense: who passes the mark, and what an exception there would do.
Status check_mark(const FaultAtMark& rule) {
  const FaultMark* const mark = find_fault_mark(rule.mark);
  if (mark == nullptr) {
    std::string names;
    for (const FaultMark& known : fault_marks()) names += " " + std::string(known.name);
    return invalid_argument("no fault mark is called '" + rule.mark + "'; there are:" + names);
  }
  const bool of_job_manager = mark->side == FaultSide::kJobManager;
  const bool wrong =
      of_job_manager ? rule.process.starts_with("taskmanager") : rule.process == "jobmanager";
  if (wrong) {
    return invalid_argument(fmt::format("'{}': only a {} passes {}", rule.text,
                                        of_job_manager ? "JobManager" : "TaskManager", rule.mark));
  }
  if (rule.action == Action::kThrow && !mark->throws) {
    return invalid_argument(
        fmt::format("'{}': nothing of a job runs at {} that could throw; use kill, stop or delay",
                    rule.text, rule.mark));
  }
  return Status();
}

Result<FaultAtMark> parse_rule(const std::string& text) {
  const size_t slash = text.find('/');
  const size_t begin = slash == text.npos ? 0 : slash + 1;
  const size_t first = text.find(':', begin);
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (second == text.npos || begin == 1 || text.find_first_of(" \t\n") != text.npos)
    return invalid_argument("'" + text + "' is not [<process>/]<mark>:<n>:<action>");
  FaultAtMark rule;
  rule.text = text;
  if (slash != text.npos) rule.process = text.substr(0, slash);
  rule.mark = text.substr(begin, first - begin);
  std::string_view passing = std::string_view(text).substr(first + 1, second - first - 1);
  rule.every = passing.starts_with(kEvery);
  if (rule.every) passing.remove_prefix(kEvery.size());
  if (!parse_all(passing, rule.passing) || rule.passing == 0) {
    return invalid_argument("'" + text +
                            "': the middle part counts passings from 1, or is every=<passings>");
  }
  RETURN_IF_ERROR(parse_action(text.substr(second + 1), rule));
  RETURN_IF_ERROR(check_mark(rule));
  return rule;
}

Status record_error(const std::string& path) {
  return unavailable(path + ": " + std::strerror(errno));
}

/// Who fired what, for all lives of all processes.
class FaultRecord {
 public:
  ~FaultRecord() {
    if (fd_ >= 0) ::close(fd_);
  }

  Status open(const std::string& path) {
    if (path.empty()) return Status();
    path_ = path;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return fd_ < 0 ? record_error(path) : Status();
  }

  bool has_fired(size_t rule) const {
    return fd_ >= 0 && ::access(claim_of(rule).c_str(), F_OK) == 0;
  }

  /// False when somebody else did, or it cannot be told.
  bool claim(size_t rule) const {
    if (fd_ < 0) return true;
    const int fd = ::open(claim_of(rule).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
      LOG_WARN("fault_not_recorded", {{"cause", record_error(claim_of(rule))}});
    if (fd >= 0) ::close(fd);
    return fd >= 0;
  }

  void add(const FiredFault& fired) const {
    if (fd_ < 0) return;
    const std::string line = to_line(fired);
    if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      LOG_WARN("fault_not_recorded", {{"cause", record_error(path_)}});
  }

 private:
  std::string claim_of(size_t rule) const { return fmt::format("{}.{}", path_, rule + 1); }

  std::string path_;
  int fd_ = -1;
};

EpochMillis epoch_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class ScriptedFaults final : public Faults {
 public:
  explicit ScriptedFaults(ScriptedFaultsOptions options) : options_(std::move(options)) {}

  Status start(std::vector<FaultAtMark> rules) {
    RETURN_IF_ERROR(record_.open(options_.record));
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!concerns(rules[i]) || (!rules[i].every && record_.has_fired(i))) continue;
      rules_.push_back({std::move(rules[i]), i});
    }
    return Status();
  }

  ~ScriptedFaults() override {
    for (const Entry& entry : rules_) {
      if (entry.passed >= entry.rule.passing || record_.has_fired(entry.position)) continue;
      LOG_WARN(
          "fault_never_fired",
          {{"mark", entry.rule.mark}, {"passings", entry.passed}, {"wanted", entry.rule.passing}});
    }
  }

  void at(std::string_view mark) override {
    std::vector<Due> due;
    {
      std::lock_guard lock(mutex_);
      for (Entry& entry : rules_) {
        if (entry.rule.mark != mark) continue;
        const uint64_t passed = ++entry.passed;
        const bool now =
            entry.rule.every ? passed % entry.rule.passing == 0 : passed == entry.rule.passing;
        if (now) due.push_back({&entry, passed});
      }
    }
    for (const auto& [entry, passing] : due) {
      const FaultAtMark& rule = entry->rule;
      if (!rule.every && !record_.claim(entry->position)) continue;
      record_.add({epoch_now(), options_.process, rule.text, rule.mark, passing});
      perform(rule);
    }
  }

 private:
  struct Entry {
    FaultAtMark rule;
    size_t position = 0;  // In the script.
    uint64_t passed = 0;
  };
  struct Due {
    const Entry* entry;
    uint64_t passing;
  };

  bool concerns(const FaultAtMark& rule) const {
    const bool mine = rule.process.empty() || rule.process == "taskmanager" ||
                      rule.process == "jobmanager" || rule.process == options_.process;
    return mine && (!options_.side || find_fault_mark(rule.mark)->side == *options_.side);
  }

  static void perform(const FaultAtMark& rule) {
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
        std::this_thread::sleep_for(rule.delay);
        return;
    }
  }

  const ScriptedFaultsOptions options_;
  FaultRecord record_;
  std::mutex mutex_;
  std::vector<Entry> rules_;  // Afterwards only their counts change.
};

}  // namespace

Result<std::vector<FaultAtMark>> parse_faults(const std::string& script) {
  std::vector<FaultAtMark> rules;
  std::stringstream parts(script);
  for (std::string part; std::getline(parts, part, ',');) {
    ASSIGN_OR_RETURN(FaultAtMark rule, parse_rule(part));
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string to_line(const FiredFault& fired) {
  return fmt::format("{} {} {} {} {}\n", fired.time, fired.process, fired.rule, fired.mark,
                     fired.passing);
}

std::optional<FiredFault> parse_fired_fault(const std::string& line) {
  std::istringstream words(line);
  FiredFault fired;
  std::string rest;
  words >> fired.time >> fired.process >> fired.rule >> fired.mark >> fired.passing;
  if (words.fail() || words >> rest) return std::nullopt;
  return fired;
}

Result<std::unique_ptr<Faults>> make_scripted_faults(const std::string& script,
                                                     const ScriptedFaultsOptions& options) {
  ASSIGN_OR_RETURN(std::vector<FaultAtMark> rules, parse_faults(script));
  auto faults = std::make_unique<ScriptedFaults>(options);
  RETURN_IF_ERROR(faults->start(std::move(rules)));
  return std::unique_ptr<Faults>(std::move(faults));
}

}  // namespace freshet
