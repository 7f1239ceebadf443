#include "runtime/base/log.h"

#include <pthread.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <mutex>

namespace freshet {

namespace {

constexpr size_t kLogFileBytes = 64u << 20;
constexpr size_t kLogFiles = 5;

struct Target {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<LogLevel> minimum{LogLevel::kWarn};
  LogSink sink = nullptr;
  void* sink_context = nullptr;
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

void install(std::shared_ptr<spdlog::sinks::sink> sink, LogLevel minimum) {
  auto logger = std::make_shared<spdlog::logger>("freshet", std::move(sink));
  logger->set_pattern("%L %H:%M:%S.%e %v");
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::info);
  Target& to = target();
  std::lock_guard lock(to.mutex);
  to.logger = std::move(logger);
  to.minimum = minimum;
}

bool needs_quotes(std::string_view value) {
  return value.empty() || value.find_first_of(" \n\"") != value.npos;
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
      else
        line += c;
    }
    line += '"';
  }
  return line;
}

}  // namespace

void log_event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  Target& to = target();
  if (level < to.minimum.load(std::memory_order_relaxed)) return;
  const std::string line = line_of(event, fields);
  std::lock_guard lock(to.mutex);
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
  to.logger->log(level_of(level), "{} {}", thread, line);
}

void log_to_stderr(LogLevel minimum) {
  install(std::make_shared<spdlog::sinks::stderr_sink_mt>(), minimum);
}

Status log_to_file(const std::string& path, LogLevel minimum) {
  try {
    install(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kLogFileBytes, kLogFiles),
            minimum);
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
