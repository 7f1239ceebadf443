#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "runtime/base/ids.h"
#include "runtime/base/status.h"
#include "runtime/base/time.h"

namespace freshet {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

/// One ` key=value` of a log line. Values with spaces are quoted.
struct LogField {
  template <class T>
  LogField(std::string_view name, const T& v) : key(name), value(show(v)) {}

  std::string_view key;
  std::string value;

 private:
  static std::string show(const JobId& id) { return id.to_string(); }
  static std::string show(const SubtaskId& id) { return to_string(id); }
  static std::string show(const AttemptId& id) { return to_string(id); }
  static std::string show(TaskManagerId id) { return to_string(id); }
  static std::string show(OperatorId id) { return to_string(id); }
  static std::string show(const Status& status) { return status.to_string(); }
  template <class T>
  static std::string show(const T& v) {
    return fmt::format("{}", v);
  }
};

/// Writes `I 12:00:03.120 jm-main checkpoint_completed job=3 checkpoint=17 duration_ms=84`: an
/// event's name, then ids (job, vertex, subtask, attempt, checkpoint), then values with units.
/// Never per record; per task or message only with LOG_DEBUG. Thread-safe.
void log_event(LogLevel, std::string_view event, std::initializer_list<LogField> fields = {});
/// True when events of the level are written. Thread-safe.
bool is_logged(LogLevel);

/// What is not written is not evaluated.
#define FRESHET_LOG(level, ...) \
  (::freshet::is_logged(level) ? ::freshet::log_event(level, __VA_ARGS__) : void())
#define LOG_DEBUG(...) FRESHET_LOG(::freshet::LogLevel::kDebug, __VA_ARGS__)
#define LOG_INFO(...) FRESHET_LOG(::freshet::LogLevel::kInfo, __VA_ARGS__)
#define LOG_WARN(...) FRESHET_LOG(::freshet::LogLevel::kWarn, __VA_ARGS__)
#define LOG_ERROR(...) FRESHET_LOG(::freshet::LogLevel::kError, __VA_ARGS__)

/// One of debug, info, warn and error.
Result<LogLevel> parse_log_level(std::string_view name);

/// Where lines go. Before any other thread runs; the default is standard error from kWarn up.
void log_to_stderr(LogLevel minimum);
Status log_to_file(const std::string& path, LogLevel minimum);

/// Hands every line to `sink` instead (simulation: virtual time, trace, errors counted); an empty
/// one restores.
using LogSink = void (*)(void* context, LogLevel, std::string_view line);
void log_to_sink(LogSink sink, void* context);

}  // namespace freshet
