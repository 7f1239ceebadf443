#include "tests/sim/sim_log.h"

#include <algorithm>

namespace freshet::sim {

SimLog::SimLog(SimEventQueue& queue) : queue_(queue) {
  log_to_sink([](void* context, LogLevel level,
                 std::string_view line) { static_cast<SimLog*>(context)->take(level, line); },
              this);
}

SimLog::~SimLog() { log_to_sink(nullptr, nullptr); }

size_t SimLog::count(std::string_view event) const {
  return static_cast<size_t>(std::count(events_.begin(), events_.end(), event));
}

void SimLog::take(LogLevel level, std::string_view line) {
  const std::string_view event = line.substr(0, line.find(' '));
  const auto micros = queue_.now().time_since_epoch().count() / 1000;
  lines_.push_back(fmt::format("{} {:>12} us {}", "DIWE"[static_cast<int>(level)], micros, line));
  events_.emplace_back(event);
  queue_.note(line);
  if (level == LogLevel::kError && !expected_.contains(event)) {
    unexpected_errors_.push_back(lines_.back());
  }
}

}  // namespace freshet::sim
