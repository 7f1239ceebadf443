#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <sstream>

#include "runtime/chaos/fault_plan.h"

namespace freshet::chaos {

namespace {

struct Entry {
  std::string key;
  std::string value;
  int line = 0;
};
using Entries = std::vector<Entry>;

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : mark.line + 1; }

/// Takes a list of flat maps below `faults`, and refuses any other shape. From events rather than
/// from a tree, which may be as deep as the file wants.
class PlanHandler final : public YAML::EventHandler {
 public:
  explicit PlanHandler(std::string path) : path_(std::move(path)) {}

  const Status& error() const { return error_; }
  const std::vector<Entries>& rules() const { return rules_; }

  void refuse(int line, const std::string& why) {
    if (error_.ok()) error_ = invalid_argument(fmt::format("{}:{}: {}", path_, line, why));
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) refuse(line_of(mark), "a second document begins");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    OnScalar(mark, "", anchor, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(line_of(mark), "has an alias ('*name'); write it out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    if (!error_.ok()) return;
    if (depth_ == 1 && !in_faults_ && value == "faults") {
      in_faults_ = true;
    } else if (depth_ == 3) {
      take(value, line_of(mark));
    } else {
      refuse_shape(mark);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
    if (error_.ok() && (depth_ != 1 || !in_faults_)) refuse_shape(mark);
    ++depth_;
  }
  void OnSequenceEnd() override { --depth_; }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    if (error_.ok() && depth_ != 0 && depth_ != 2) refuse_shape(mark);
    if (error_.ok() && depth_ == 2) {
      if (rules_.size() >= kPlanRulesMax)
        refuse(line_of(mark), fmt::format("is the fault after {}", kPlanRulesMax));
      rules_.emplace_back();
    }
    ++depth_;
  }
  void OnMapEnd() override { --depth_; }

 private:
  void refuse_shape(const YAML::Mark& mark) {
    refuse(line_of(mark),
           "a plan is 'faults:' and a list of faults, each as 'key: value' lines behind '-'");
  }

  void take(const std::string& value, int line) {
    if (!key_) {
      key_ = value;
      return;
    }
    Entries& rule = rules_.back();
    const bool twice = std::any_of(rule.begin(), rule.end(),
                                   [&](const Entry& entry) { return entry.key == *key_; });
    if (twice) refuse(line, fmt::format("'{}' is there twice", *key_));
    rule.push_back({*key_, value, line});
    key_.reset();
  }

  const std::string path_;
  Status error_;
  int documents_ = 0;
  int depth_ = 0;  // 1: the file's map, 2: the list, 3: a fault.
  bool in_faults_ = false;
  std::optional<std::string> key_;
  std::vector<Entries> rules_;
};

template <class T>
Status set(T& to, Result<T> value) {
  if (value.ok()) to = *std::move(value);
  return value.status();
}

Result<uint64_t> parse_count(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return invalid_argument(fmt::format("'{}' is not a whole number", text));
}

Result<uint32_t> parse_small_count(const std::string& text) {
  ASSIGN_OR_RETURN(const uint64_t value, parse_count(text));
  if (value > 0 && value <= kPlannedFaultsMax) return static_cast<uint32_t>(value);
  return invalid_argument(
      fmt::format("'{}' is not a whole number from 1 to {}", text, kPlannedFaultsMax));
}

Result<std::string> parse_mark_action(const std::string& text) {
  if (text == "kill" || text == "stop" || text == "throw") return text;
  if (text.starts_with("delay=") && parse_count(text.substr(6)).ok()) return text;
  return invalid_argument(fmt::format(
      "'{}' can't be done at a mark; use kill, stop, throw or delay=<milliseconds>", text));
}

Status set_chance(FaultRule& rule, const Result<uint64_t>& value) {
  if (value.ok()) rule.chance = *value;
  return value.status();
}

/// What a key sets.
using Setter = std::function<Status(FaultRule&, const std::string&)>;
const std::map<std::string, Setter>& setters() {
  using R = FaultRule&;
  using T = const std::string&;
  static const std::map<std::string, Setter> all = {
      {"at", [](R rule, T text) { return set(rule.times.at, parse_duration(text)); }},
      {"every", [](R rule, T text) { return set(rule.times.every, parse_duration(text)); }},
      {"jitter", [](R rule, T text) { return set(rule.times.jitter, parse_duration(text)); }},
      {"for", [](R rule, T text) { return set(rule.times.span, parse_duration(text)); }},
      {"chance", [](R rule, T text) { return set_chance(rule, parse_count(text)); }},
      {"random", [](R rule, T text) { return set(rule.times.count, parse_small_count(text)); }},
      {"of", [](R rule, T text) { return set(rule.fault.process, parse_process_name(text)); }},
      {"lasts", [](R rule, T text) { return set(rule.fault.lasts, parse_duration(text)); }},
      {"delay", [](R rule, T text) { return set(rule.fault.delay, parse_duration(text)); }},
      {"rate", [](R rule, T text) { return set(rule.fault.bytes_per_second, parse_count(text)); }},
      {"period", [](R rule, T text) { return set(rule.fault.period, parse_duration(text)); }},
      {"passing", [](R rule, T text) { return set(rule.fault.passing, parse_count(text)); }},
      {"do", [](R rule, T text) { return set(rule.fault.mark_action, parse_mark_action(text)); }},
  };
  return all;
}

Status set_target(Fault& fault, const std::string& target) {
  switch (info_of(fault.kind).subject) {
    case FaultSubject::kTask:
      return set(fault.task, parse_task_name(target));
    case FaultSubject::kLink:
      return set(fault.link, parse_link_name(target));
    case FaultSubject::kFile:
      return set(fault.file, parse_file_kind(target));
    case FaultSubject::kMark:
      fault.mark = target;
      return Status();
    default:
      return set(fault.process, parse_process_name(target));
  }
}

/// Keys that some kinds do not know would be ignored silently.
Status check_keys(const Fault& fault, const Entries& entries) {
  const FaultSubject subject = info_of(fault.kind).subject;
  const std::map<std::string, bool> wanted = {
      {"of", subject == FaultSubject::kFile || subject == FaultSubject::kMark},
      {"delay", fault.kind == FaultKind::kSlow || fault.kind == FaultKind::kDiskSlow},
      {"rate", fault.kind == FaultKind::kSlow},
      {"period", fault.kind == FaultKind::kFlap},
      {"passing", subject == FaultSubject::kMark},
      {"do", subject == FaultSubject::kMark}};
  for (const Entry& entry : entries) {
    const auto found = wanted.find(entry.key);
    if (found != wanted.end() && !found->second)
      return invalid_argument(
          fmt::format("'{}' means nothing to '{}'", entry.key, info_of(fault.kind).name));
  }
  if (subject == FaultSubject::kMark && fault.mark_action.empty())
    return invalid_argument("a mark needs 'do': kill, stop, throw or delay=<milliseconds>");
  return Status();
}

Status refuse_key(const std::string& key) {
  std::string names;
  for (const FaultKindInfo& info : fault_kinds()) names += " " + std::string(info.name);
  names += "; and";
  for (const auto& [name, setter] : setters()) names += " " + name;
  return invalid_argument(fmt::format("'{}' is not known; there are:{}", key, names));
}

Result<FaultRule> build_rule(const Entries& entries, int& line) {
  FaultRule rule;
  std::string kind;
  for (const Entry& entry : entries) {
    line = entry.line;
    const auto setter = setters().find(entry.key);
    if (setter != setters().end()) {
      RETURN_IF_ERROR(setter->second(rule, entry.value).with_context(entry.key));
      continue;
    }
    const auto parsed = parse_fault_kind(entry.key);
    if (!parsed.ok()) return refuse_key(entry.key);
    if (!kind.empty())
      return invalid_argument(
          fmt::format("is '{}' and '{}'; a fault is one of them", kind, entry.key));
    kind = entry.key;
    rule.fault.kind = *parsed;
    RETURN_IF_ERROR(set_target(rule.fault, entry.value).with_context(kind));
  }
  line = entries.empty() ? 1 : entries.front().line;
  if (kind.empty())
    return invalid_argument("says no fault; begin with one, as 'kill: taskmanager'");
  RETURN_IF_ERROR(check_keys(rule.fault, entries));
  RETURN_IF_ERROR(check(rule));
  return rule;
}

/// Durations without the blank that people read: YAML takes both.
void write(std::string& text, const char* key, Duration value) {
  if (value > Duration(0)) text += fmt::format("    {}: {}\n", key, format_duration(value));
}

std::string to_text(const FaultRule& rule) {
  const Fault& fault = rule.fault;
  const FaultKindInfo& info = info_of(fault.kind);
  const bool of_file = info.subject == FaultSubject::kFile;
  const bool of_mark = info.subject == FaultSubject::kMark;
  const std::string target = of_file   ? std::string(to_string(fault.file))
                             : of_mark ? fault.mark
                                       : fault.target();
  // Names of vertices may hold anything.
  std::string quoted;
  for (const char c : target) quoted += c == '\'' ? "''" : std::string(1, c);
  std::string text = fmt::format("  - {}: '{}'\n", info.name, quoted);
  if (of_file || of_mark) text += fmt::format("    of: {}\n", fault.process.to_string());
  if (of_mark)
    text += fmt::format("    passing: {}\n    do: {}\n", fault.passing, fault.mark_action);
  write(text, "at", rule.times.at);
  write(text, "every", rule.times.every);
  write(text, "jitter", rule.times.jitter);
  if (rule.times.count > 0) text += fmt::format("    random: {}\n", rule.times.count);
  write(text, "for", rule.times.span);
  if (rule.chance) text += fmt::format("    chance: {}\n", *rule.chance);
  write(text, "lasts", fault.lasts);
  write(text, "delay", fault.delay);
  if (fault.bytes_per_second > 0) text += fmt::format("    rate: {}\n", fault.bytes_per_second);
  write(text, "period", fault.period);
  return text;
}

}  // namespace

Result<FaultPlan> parse_fault_plan(const std::string& path, const std::string& text) {
  PlanHandler handler(path);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    while (handler.error().ok() && parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::Exception& error) {
    handler.refuse(line_of(error.mark), error.msg);
  }
  if (!handler.error().ok()) return handler.error();
  FaultPlan plan;
  for (const Entries& entries : handler.rules()) {
    int line = 1;
    auto rule = build_rule(entries, line);
    if (!rule.ok())
      return invalid_argument(fmt::format("{}:{}: {}", path, line, rule.status().message()));
    plan.rules.push_back(*std::move(rule));
  }
  if (plan.rules.empty())
    return invalid_argument(fmt::format("{}:1: has no faults; begin with 'faults:'", path));
  return plan;
}

std::string to_text(const FaultPlan& plan) {
  std::string text = "faults:\n";
  for (const FaultRule& rule : plan.rules) text += to_text(rule);
  return text;
}

}  // namespace freshet::chaos
