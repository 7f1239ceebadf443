#include "runtime/chaos/job_log.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

namespace freshet::chaos {

namespace {

constexpr int64_t kDayMillis = 86'400'000;
constexpr int64_t kBackMax = 3'600'000;  // Threads are not in order, and clocks are set.
constexpr size_t kTimeAt = 2;            // `I 12:00:03.120 thread event key=value`
constexpr size_t kTimeLength = 12;

std::optional<int64_t> number_at(std::string_view line, size_t at, size_t digits) {
  int64_t number = 0;
  for (size_t i = at; i < at + digits; i++) {
    if (i >= line.size() || line[i] < '0' || line[i] > '9') return std::nullopt;
    number = number * 10 + (line[i] - '0');
  }
  return number;
}

std::optional<int64_t> time_of_day(std::string_view line) {
  const auto hours = number_at(line, kTimeAt, 2), minutes = number_at(line, kTimeAt + 3, 2);
  const auto seconds = number_at(line, kTimeAt + 6, 2), millis = number_at(line, kTimeAt + 9, 3);
  if (!hours || !minutes || !seconds || !millis) return std::nullopt;
  return ((*hours * 60 + *minutes) * 60 + *seconds) * 1000 + *millis;
}

/// The name of the event: behind that of the thread, which may be empty.
std::string_view event_of(std::string_view line) {
  const size_t thread_end = line.find(' ', kTimeAt + kTimeLength + 1);
  if (thread_end == line.npos) return "";
  const std::string_view rest = line.substr(thread_end + 1);
  return rest.substr(0, rest.find(' '));
}

/// The value of ` key=`, without its quotes; empty without one.
std::string value_of(std::string_view line, std::string_view key) {
  const std::string before = fmt::format(" {}=", key);
  bool quoted = false;
  for (size_t at = 0; at + before.size() <= line.size(); at++) {
    if (line[at] == '"') quoted = !quoted;
    if (quoted || line.substr(at, before.size()) != before) continue;
    const std::string_view rest = line.substr(at + before.size());
    if (!rest.starts_with('"')) return std::string(rest.substr(0, rest.find(' ')));
    return std::string(rest.substr(1, rest.find('"', 1) - 1));
  }
  return "";
}

bool read_attempt(const std::string& text, JobEvent* event) {
  return std::sscanf(text.c_str(), "%u/%u#%u", &event->subtask.vertex.value, &event->subtask.index,
                     &event->attempt) == 3;
}

}  // namespace

int64_t millis_of_day(EpochMillis time) {
  const auto seconds = static_cast<time_t>(time / 1000);
  tm local{};
  localtime_r(&seconds, &local);
  return ((local.tm_hour * 60 + local.tm_min) * 60 + local.tm_sec) * int64_t{1000} + time % 1000;
}

JobLog::JobLog(std::string job, EpochMillis start, int64_t start_of_day)
    : job_(std::move(job)), last_(start), last_of_day_(start_of_day) {}

void JobLog::read(std::string_view line) {
  const auto of_day = time_of_day(line);
  if (!of_day) return;
  int64_t passed = (*of_day - last_of_day_) % kDayMillis;
  if (passed < -kBackMax) passed += kDayMillis;
  if (passed >= kDayMillis - kBackMax) passed -= kDayMillis;
  last_ += passed;
  last_of_day_ = *of_day;
  JobEvent event;
  event.at = last_;
  const std::string_view name = event_of(line);
  if (name == "task_manager_registered") {
    names_[value_of(line, "task_manager")] = value_of(line, "name");
  } else if (name == "task_manager_lost" || name == "task_manager_unregistered") {
    event.kind = JobEvent::Kind::kTaskManagerLost;
    event.text = value_of(line, "name");
    events_.push_back(std::move(event));
  } else if (name == "jobmanager_started") {
    event.kind = JobEvent::Kind::kJobManagerStarted;
    names_.clear();
    places_.clear();
    events_.push_back(std::move(event));
  } else if (value_of(line, "job") == job_) {
    read_task(std::move(event), name, line);
  }
}

void JobLog::read_task(JobEvent event, std::string_view name, std::string_view line) {
  using Kind = JobEvent::Kind;
  struct Known {
    std::string_view name;
    Kind kind;
    std::string_view text;  // Key of JobEvent::text.
    bool attempt;
  };
  static constexpr std::array kKnown = {
      Known{"execution_state", Kind::kTaskState, "state", true},
      Known{"execution_deployed", Kind::kTaskDeployed, "task_manager", true},
      Known{"execution_failed", Kind::kTaskFailed, "", true},
      Known{"output_lost", Kind::kOutputLost, "", true},
      Known{"execution_restarts", Kind::kTaskRestarts, "", true},
      Known{"tasks_failed", Kind::kTasksFailed, "cause", false},
      Known{"output_differs", Kind::kTasksFailed, "task", false},
      Known{"job_restarts", Kind::kJobRestarts, "", false},
      Known{"job_state_changed", Kind::kJobState, "to", false},
  };
  for (const Known& known : kKnown) {
    if (known.name != name) continue;
    event.kind = known.kind;
    if (known.attempt && !read_attempt(value_of(line, "attempt"), &event)) return;
    if (!known.text.empty()) event.text = value_of(line, known.text);
    if (known.kind == Kind::kTaskDeployed) {
      event.text = name_of(event.text);
      places_[event.subtask] = event.text;
    } else if (known.kind == Kind::kTaskFailed || known.kind == Kind::kOutputLost) {
      event.text = process_of(event.subtask);
    }
    events_.push_back(std::move(event));
    return;
  }
}

std::string JobLog::process_of(SubtaskId subtask) const {
  const auto found = places_.find(subtask);
  return found == places_.end() ? "" : found->second;
}

std::string JobLog::name_of(const std::string& task_manager) const {
  const auto found = names_.find(task_manager);
  return found == names_.end() ? task_manager : found->second;
}

}  // namespace freshet::chaos
