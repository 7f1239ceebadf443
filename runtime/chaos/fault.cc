#include "runtime/chaos/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "runtime/base/check.h"

namespace freshet::chaos {

namespace {

constexpr std::string_view kJobManager = "jobmanager";
constexpr std::string_view kTaskManager = "taskmanager";
constexpr std::string_view kTask = "task";

std::optional<uint32_t> parse_u32(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::string details_of(const Fault& fault) {
  std::string text;
  if (fault.delay > Duration(0)) text += fmt::format(" by {}", format_duration(fault.delay));
  if (fault.bytes_per_second > 0) text += fmt::format(" to {} B/s", fault.bytes_per_second);
  if (fault.period > Duration(0)) text += fmt::format(" every {}", format_duration(fault.period));
  if (fault.lasts > Duration(0)) text += fmt::format(" for {}", format_duration(fault.lasts));
  return text;
}

}  // namespace

const std::vector<FaultKindInfo>& fault_kinds() {
  using Subject = FaultSubject;
  static const std::vector<FaultKindInfo> kinds = {
      {FaultKind::kKill, "kill", Subject::kProcess, false, "a process gets SIGKILL"},
      {FaultKind::kPause, "pause", Subject::kProcess, true,
       "a process stands still (SIGSTOP), and goes on (SIGCONT)"},
      {FaultKind::kException, "exception", Subject::kTask, false,
       "a task fails as if its operator had thrown"},
      {FaultKind::kCrash, "crash", Subject::kTask, false,
       "the operator of a task brings its TaskManager down"},
      {FaultKind::kHang, "hang", Subject::kTask, false,
       "a task does not return from its operator, until its watchdog ends its TaskManager"},
      {FaultKind::kCut, "cut", Subject::kLink, true, "connections are reset, and new ones refused"},
      {FaultKind::kHalfOpen, "half-open", Subject::kLink, true,
       "connections stay, but nothing comes through"},
      {FaultKind::kSlow, "slow", Subject::kLink, true,
       "what is sent comes late, or at a bounded rate"},
      {FaultKind::kFlap, "flap", Subject::kLink, true, "connections are cut again and again"},
      {FaultKind::kDiskFull, "disk-full", Subject::kDisk, true,
       "temporary files of a TaskManager take nothing more"},
      {FaultKind::kDiskSlow, "disk-slow", Subject::kDisk, true,
       "temporary files of a TaskManager take their time"},
      {FaultKind::kDamageFile, "damage-file", Subject::kFile, false,
       "one bit of a file is turned over"},
      {FaultKind::kDeleteFile, "delete-file", Subject::kFile, false, "a file is gone"},
      {FaultKind::kMark, "mark", Subject::kMark, false,
       "a process breaks where it passes a named point"},
  };
  return kinds;
}

const FaultKindInfo& info_of(FaultKind kind) {
  const auto& kinds = fault_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const FaultKindInfo& info) { return info.kind == kind; });
  CHECK(found != kinds.end());
  return *found;
}

Result<FaultKind> parse_fault_kind(const std::string& text) {
  std::string names;
  for (const FaultKindInfo& info : fault_kinds()) {
    if (info.name == text) return info.kind;
    names += " " + std::string(info.name);
  }
  return invalid_argument(fmt::format("no fault is called '{}'; there are:{}", text, names));
}

std::string ProcessName::to_string() const {
  if (job_manager) return std::string(kJobManager);
  return number == 0 ? std::string(kTaskManager) : fmt::format("{}-{}", kTaskManager, number);
}

Result<ProcessName> parse_process_name(const std::string& text) {
  if (text == kJobManager) return ProcessName{true, 0};
  if (text == kTaskManager) return ProcessName{};
  const std::string prefix = std::string(kTaskManager) + "-";
  if (text.starts_with(prefix)) {
    const auto number = parse_u32(std::string_view(text).substr(prefix.size()));
    if (number && *number > 0) return ProcessName{false, *number};
  }
  return invalid_argument(fmt::format(
      "no process is called '{}'; there are jobmanager, taskmanager-1 and so on, and taskmanager "
      "for any of them",
      text));
}

std::string TaskName::to_string() const {
  if (vertex.empty()) return std::string(kTask);
  if (!subtask) return fmt::format("{}:{}", kTask, vertex);
  return fmt::format("{}:{}/{}", kTask, vertex, *subtask);
}

Result<TaskName> parse_task_name(const std::string& text) {
  if (text == kTask) return TaskName{};
  TaskName name;
  if (text.starts_with("task:")) {
    const std::string rest = text.substr(5);
    const size_t slash = rest.rfind('/');
    name.vertex = rest.substr(0, slash);
    if (slash != rest.npos) name.subtask = parse_u32(std::string_view(rest).substr(slash + 1));
    if (!name.vertex.empty() && (slash == rest.npos || name.subtask)) return name;
  }
  return invalid_argument(fmt::format(
      "'{}' names no task; task:2/0 is subtask 0 of vertex 2, task:2 any of it, task any", text));
}

std::string LinkName::to_string() const {
  return fmt::format("{} {} {}", from.to_string(), both_ways ? "<->" : "->", to.to_string());
}

Result<LinkName> parse_link_name(const std::string& text) {
  LinkName link;
  const size_t arrow = text.find("->");
  if (arrow == text.npos || arrow == 0)
    return invalid_argument(
        fmt::format("'{}' names no link; it is 'taskmanager-1 <-> jobmanager' or 'taskmanager-1 -> "
                    "taskmanager-2'",
                    text));
  link.both_ways = text[arrow - 1] == '<';
  const std::string_view view = text;
  const std::string from(without_blanks(view.substr(0, arrow - (link.both_ways ? 1 : 0))));
  const std::string to(without_blanks(view.substr(arrow + 2)));
  ASSIGN_OR_RETURN(link.from, parse_process_name(from));
  ASSIGN_OR_RETURN(link.to, parse_process_name(to));
  if (link.from == link.to && !link.from.is_any())
    return invalid_argument(fmt::format("'{}' is a link of a process with itself", text));
  return link;
}

std::string_view to_string(FileKind kind) { return kind == FileKind::kSpill ? "spill" : "module"; }

Result<FileKind> parse_file_kind(const std::string& text) {
  if (text == "spill") return FileKind::kSpill;
  if (text == "module") return FileKind::kModule;
  return invalid_argument(
      fmt::format("no kind of file is called '{}'; there are: spill module", text));
}

std::string Fault::target() const {
  switch (info_of(kind).subject) {
    case FaultSubject::kTask:
      return task.to_string();
    case FaultSubject::kLink:
      return link.to_string();
    default:
      return process.to_string();
  }
}

std::string Fault::to_string() const {
  const FaultKindInfo& info = info_of(kind);
  if (info.subject == FaultSubject::kMark)
    return fmt::format("{} {} at {}:{}", mark_action, target(), mark, passing);
  if (info.subject == FaultSubject::kFile)
    return fmt::format("{} {} of {}", info.name, chaos::to_string(file), target());
  return fmt::format("{} {}{}", info.name, target(), details_of(*this));
}

}  // namespace freshet::chaos
