#include "runtime/base/log.h"

#include <pthread.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <mutex>

#include "runtime/base/limited_log.h"
#include "runtime/base/line_limit.h"

namespace freshet {

namespace {

constexpr size_t kLogFileBytes = 64u << 20;
constexpr size_t kLogFiles = 5;
constexpr Duration kReopenPause = 1s;

struct Target {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<LogLevel> minimum{LogLevel::kWarn};
  LogSink sink = nullptr;
  void* sink_context = nullptr;
  std::string path;     // Empty: no file.
  uint64_t lost = 0;    // Lines of this log that were not written.
  bool failed = false;  // To be opened anew.
  std::chrono::steady_clock::time_point reopened{};
  std::map<std::string_view, LineLimit> limits;  // By event.
};

Target& target() {
  static Target* const instance =
      new Target;  // Never destroyed: threads may log while the process ends.
  return *instance;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> make_logger(std::shared_ptr<spdlog::sinks::sink> sink);

std::shared_ptr<spdlog::sinks::sink> open_file(const std::string& path) {
  return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kLogFileBytes, kLogFiles);
}

/// A file that could not be opened when the last one was full is not tried again by itself.
void reopen_after_failure(Target& to) {
  if (!to.failed || to.path.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - to.reopened < kReopenPause) return;
  to.reopened = now;
  try {
    to.logger = make_logger(open_file(to.path));
    to.failed = false;
  } catch (const spdlog::spdlog_ex&) {
  }
}

/// The process goes on; lines are lost until the disk has space again. Under the lock.
void on_lost_line(const std::string& why) {
  target().failed = true;
  const uint64_t count = ++target().lost;
  if ((count & (count - 1)) != 0) return;
  std::fprintf(stderr, "freshet: the log cannot be written (%llu times so far): %s\n",
               static_cast<unsigned long long>(count), why.c_str());
}

std::shared_ptr<spdlog::logger> make_logger(std::shared_ptr<spdlog::sinks::sink> sink) {
  auto logger = std::make_shared<spdlog::logger>("freshet", std::move(sink));
  logger->set_pattern("%L %H:%M:%S.%e %v");
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  logger->set_error_handler(on_lost_line);
  return logger;
}

void install(std::shared_ptr<spdlog::sinks::sink> sink, LogLevel minimum,
             const std::string& path = {}) {
  auto logger = make_logger(std::move(sink));
  Target& to = target();
  std::lock_guard lock(to.mutex);
  to.logger = std::move(logger);
  to.minimum = minimum;
  to.path = path;
  to.lost = 0;
  to.failed = false;
  to.reopened = {};
  to.limits.clear();
}

/// A terminal may obey them.
bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool needs_quotes(std::string_view value) {
  return value.empty() || std::any_of(value.begin(), value.end(),
                                      [](char c) { return c == ' ' || c == '"' || is_control(c); });
}

std::string line_of(std::string_view event, std::initializer_list<LogField> fields) {
  std::string line(event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (!needs_quotes(field.value)) {
      line += field.value;
      continue;
    }
    line += '"';
    for (const char c : field.value) {
      if (c == '"')
        line += '\'';
      else if (c == '\n')
        line += "\\n";
      else if (is_control(c))
        fmt::format_to(std::back_inserter(line), "\\x{:02x}", static_cast<unsigned char>(c));
      else
        line += c;
    }
    line += '"';
  }
  return line;
}

/// Under the lock.
void write_line(Target& to, LogLevel level, const std::string& line) {
  if (to.sink != nullptr) {
    to.sink(to.sink_context, level, line);
    return;
  }
  char thread[16] = "";
  pthread_getname_np(pthread_self(), thread, sizeof(thread));
  if (to.logger == nullptr) {
    to.logger = std::make_shared<spdlog::logger>("freshet",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    to.logger->set_pattern("%L %H:%M:%S.%e %v");
    to.logger->set_level(spdlog::level::debug);
  }
  reopen_after_failure(to);
  to.logger->log(level_of(level), "{} {}", thread, line);
}

}  // namespace

bool is_logged(LogLevel level) { return level >= target().minimum.load(std::memory_order_relaxed); }

Result<LogLevel> parse_log_level(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  return invalid_argument(
      fmt::format("'{}' is no level of a log: one of debug, info, warn, error", name));
}

void log_event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!is_logged(level)) return;
  Target& to = target();
  const std::string line = line_of(event, fields);
  std::lock_guard lock(to.mutex);
  write_line(to, level, line);
}

void log_limited_warning(std::string_view event, std::initializer_list<LogField> fields) {
  if (!is_logged(LogLevel::kWarn)) return;
  Target& to = target();
  std::string line = line_of(event, fields);
  std::lock_guard lock(to.mutex);
  if (to.sink == nullptr) {  // Those of a simulation are in another time.
    const TimePoint now(std::chrono::steady_clock::now().time_since_epoch());
    const auto left_out = to.limits[event].admit(now);
    if (!left_out) return;
    if (*left_out != 0) line += fmt::format(" left_out={}", *left_out);
  }
  write_line(to, LogLevel::kWarn, line);
}

void log_to_stderr(LogLevel minimum) {
  install(std::make_shared<spdlog::sinks::stderr_sink_mt>(), minimum);
}

Status log_to_file(const std::string& path, LogLevel minimum) {
  try {
    install(open_file(path), minimum, path);
  } catch (const spdlog::spdlog_ex& error) {
    return unavailable("cannot write the log file " + path + ": " + error.what());
  }
  return Status();
}

void log_to_sink(LogSink sink, void* context) {
  Target& to = target();
  std::lock_guard lock(to.mutex);
  to.sink = sink;
  to.sink_context = context;
  to.minimum = sink != nullptr ? LogLevel::kDebug : LogLevel::kWarn;
}

}  // namespace freshet
