#include "jobmanager/crash_limit.h"

#include <fmt/format.h>

namespace freshet {

bool CrashLimit::on_crash(TimePoint now, const CrashReport& crash) {
  if (crash.provoked) return false;
  Code code{{}, crash.code_name};
  if (crash.attempt && crash.position)
    code.first = std::pair(crash.attempt->subtask.vertex, *crash.position);
  std::deque<TimePoint>& times = crashes_[std::move(code)];
  times.push_back(now);
  while (now - times.front() > kWindow) times.pop_front();
  return times.size() >= kCrashesMax;
}

std::string describe_crash(const CrashReport& crash, const JobId& job, const std::string& task,
                           const std::string& task_manager) {
  if (!crash.job) {
    return fmt::format("{} was lost: it crashed{}: {}", task_manager,
                       crash.thread.empty() ? "" : " in its thread " + crash.thread,
                       crash.summary());
  }
  if (*crash.job != job) {
    return fmt::format("{} was lost: '{}' of job {} brought it down: {}", task_manager,
                       crash.code_name, crash.job->to_string(), crash.summary());
  }
  const std::string what = crash.attempt ? fmt::format("operator '{}' in {}", crash.code_name, task)
                                         : fmt::format("'{}'", crash.code_name);
  return fmt::format("{} brought down {}: {}{}", what, task_manager, crash.summary(),
                     crash.provoked ? " (asked for by 'freshet fail')" : "");
}

std::string crash_frames_text(const CrashReport& crash) {
  std::string text;
  for (const std::string& frame : crash.frames) text += "\n\tat " + frame;
  return text;
}

}  // namespace freshet
